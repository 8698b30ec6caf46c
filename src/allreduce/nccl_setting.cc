#include "allreduce/nccl_setting.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>

namespace assay::allreduce {
namespace {

constexpr std::string_view kOwnChoice = "NCCL";

// Returns the upper-case word of a name as the plugin's file has it, "" if it is none of `words`.
template <class Words>
std::string plugin_word(const Words& words, std::string_view name) {
  std::string word(name);
  for (char& c : word) {
    if (c >= 'a' && c <= 'z') return {};
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(words.begin(), words.end(), word) == words.end() ? std::string() : word;
}

std::string upper(std::string word) {
  for (char& c : word)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

std::string_view take_word(std::string_view& name) {
  const std::size_t end = std::min(name.find('_'), name.size());
  const std::string_view word = name.substr(0, end);
  name.remove_prefix(std::min(end + 1, name.size()));
  return word;
}

}  // namespace

std::string_view name_of(NcclCollective collective) {
  return kNcclCollectiveNames.at(static_cast<std::size_t>(collective));
}

bool adds(NcclCollective collective) {
  return collective == NcclCollective::kAllReduce || collective == NcclCollective::kReduceScatter;
}

std::optional<NcclCollective> nccl_collective_named(std::string_view name) {
  const auto* found = std::find(kNcclCollectiveNames.begin(), kNcclCollectiveNames.end(), name);
  if (found == kNcclCollectiveNames.end()) return std::nullopt;
  return static_cast<NcclCollective>(found - kNcclCollectiveNames.begin());
}

std::optional<NcclSetting> nccl_setting_named(std::string_view name) {
  const std::string_view whole = name;
  if (take_word(name) != kOwnChoice) return std::nullopt;
  NcclSetting setting;
  setting.algorithm = plugin_word(kNcclAlgorithms, take_word(name));
  setting.protocol = plugin_word(kNcclProtocols, take_word(name));
  if (setting.algorithm.empty() || setting.protocol.empty()) return std::nullopt;
  if (!name.empty()) {
    const char* last = name.data() + name.size();
    const auto [end, code] = std::from_chars(name.data(), last, setting.channels);
    const bool in_range = setting.channels >= 1 && setting.channels <= kMostNcclChannels;
    if (code != std::errc() || end != last || !in_range) return std::nullopt;
  }
  // Each setting has one name, so that what is written again is what was read.
  if (name_of(setting) != whole) return std::nullopt;
  return setting;
}

std::string name_of(const NcclSetting& setting) {
  std::string name(kOwnChoice);
  name += "_" + upper(setting.algorithm) + "_" + upper(setting.protocol);
  if (setting.channels != kNcclChooses) name += "_" + std::to_string(setting.channels);
  return name;
}

std::string nccl_arm_name(const NcclArm& arm) {
  return arm ? name_of(*arm) : std::string(kOwnChoice);
}

std::optional<NcclArm> nccl_arm_named(std::string_view name) {
  if (name == kOwnChoice) return NcclArm();
  const auto setting = nccl_setting_named(name);
  if (!setting) return std::nullopt;
  return NcclArm(*setting);
}

}  // namespace assay::allreduce
