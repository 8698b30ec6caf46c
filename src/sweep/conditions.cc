#include "sweep/conditions.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "core/file_hash.h"
#include "core/files.h"
#include "core/text.h"
#include "model/facts.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "file ";
constexpr std::array<std::string_view, 2> kPrefixes = {"NCCL_", "RCCL_"};
constexpr std::array<std::string_view, 3> kNames = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                    "ROCR_VISIBLE_DEVICES"};

bool is_condition(std::string_view name) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Returns what tells a file from another; "" where it cannot be read.
std::string state_of(const std::string& file) {
  constexpr std::uintmax_t kReadBytes = 1 << 20;
  std::error_code code;
  const std::uintmax_t size = fs::file_size(file, code);
  if (code) return "";
  if (size <= kReadBytes) {
    const auto hash = core::file_hash(file);
    return hash.ok() ? fmt::format("{:016x}", hash.value()) : "";
  }
  const auto time = fs::last_write_time(file, code).time_since_epoch();
  return code ? "" : fmt::format("{} bytes of time {}", size, time.count());
}

// Returns whether a run's end wrote this, or its output. Reports are written there later, too.
bool is_of_run(const fs::path& path) {
  constexpr const char* kUnfinished = ".unfinished";
  return path.filename() == model::kRunRecordFile || path.extension() == ".log" ||
         path.filename().string().find(kUnfinished) != std::string::npos;
}

using FileTime = std::pair<std::time_t, long>;  // seconds and nanoseconds

FileTime time_of(const timespec& time) {
  return {time.tv_sec, time.tv_nsec};
}

// Returns when a run last wrote something that stands in the sweep's folder.
FileTime last_sign_of_life(const fs::path& folder) {
  FileTime last{};
  std::error_code code;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    if (!is_of_run(entry->path())) continue;
    struct stat status = {};
    if (::stat(entry->path().c_str(), &status) == 0) last = std::max(last, time_of(status.st_mtim));
  }
  return last;
}

// Tools that move and copy files keep the time of their last writing, but none sets that of their
// last change.
bool has_changed_after(const FileTime& time, const std::string& file) {
  struct stat status = {};
  return ::stat(file.c_str(), &status) != 0 || time_of(status.st_ctim) > time;
}

std::string file_in_words(const std::string& name) {
  return fmt::format("{} has changed since the sweep began", name);
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
    if (std::string state = state_of(file); !state.empty())
      conditions[std::string(kFile) + file] = std::move(state);
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

Conditions without_files_of_runs(Conditions present,
                                 const Conditions& stored,
                                 const fs::path& folder,
                                 const std::vector<std::string>& told) {
  const FileTime last = last_sign_of_life(folder);
  for (auto& [name, value] : present) {
    const auto before = stored.find(name);
    if (!name.starts_with(kFile) || before == stored.end()) continue;
    const bool is_told = std::find(told.begin(), told.end(), file_in_words(name)) != told.end();
    if (!is_told && !has_changed_after(last, name.substr(kFile.size()))) value = before->second;
  }
  return present;
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
            ? file_in_words(name)
            : fmt::format("{} was {} when the sweep began and is {}", name, before, now));
  }
  return texts;
}

}  // namespace assay::sweep
