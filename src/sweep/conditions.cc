#include "sweep/conditions.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "core/file_hash.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

constexpr std::string_view kFile = "file ";
constexpr std::array<std::string_view, 2> kPrefixes = {"NCCL_", "RCCL_"};
constexpr std::array<std::string_view, 3> kNames = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                    "ROCR_VISIBLE_DEVICES"};

bool is_condition(std::string_view name) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string value_of(const Conditions& conditions, const std::string& name) {
  const auto found = conditions.find(name);
  return found == conditions.end() ? "not set" : "'" + found->second + "'";
}

}  // namespace

Conditions present_conditions(const std::vector<std::string>& files, const Settings& settings) {
  Conditions conditions;
  for (const std::string& file : files) {
    if (file.empty() || !core::is_regular_file(file)) continue;
    if (const auto hash = core::file_hash(file); hash.ok())
      conditions[std::string(kFile) + file] = fmt::format("{:016x}", hash.value());
  }
  std::set<std::string, std::less<>> swept;
  for (const Setting& setting : settings)
    for (const auto& [name, value] : setting.variables)
      swept.insert(name);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.size() == text.size() || !is_condition(name) || swept.count(name) > 0) continue;
    conditions[std::string(name)] = core::valid_utf8(std::string(text.substr(name.size() + 1)));
  }
  return conditions;
}

std::vector<std::string> differences(const Conditions& stored, const Conditions& present) {
  if (stored.empty()) return {};
  Conditions all = stored;
  all.insert(present.begin(), present.end());
  std::vector<std::string> texts;
  for (const auto& [name, value] : all) {
    const std::string before = value_of(stored, name);
    const std::string now = value_of(present, name);
    if (before == now) continue;
    texts.push_back(
        name.starts_with(kFile)
            ? fmt::format("{} has changed since the sweep began", name)
            : fmt::format("{} was {} when the sweep began and is {}", name, before, now));
  }
  return texts;
}

}  // namespace assay::sweep
