#include "sweep/loaded_libraries.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/files.h"
#include "core/text.h"
#include "sweep/library_version.h"
#include "sweep/process_table.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

fs::path resolved(const fs::path& path) {
  std::error_code code;
  const fs::path found = fs::canonical(path, code);
  return code ? path : found;
}

// Returns a path to the file as the process sees it, also inside a container. If the file has been
// deleted, its name may belong to another file by now, and only the mapping itself leads to the
// right one, for users who may read it.
fs::path reachable(const fs::path& folder, const MappedFile& file) {
  fs::path mapping = folder / "map_files" / file.range;
  if (file.deleted) return mapping;
  fs::path named = folder / "root" / fs::path(file.path).relative_path();
  return file_identity(named) ? named : mapping;
}

constexpr std::string_view kDeleted = " (deleted)";

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

void add_mapping(std::string_view line,
                 std::string_view path,
                 const ExtraNames& extra,
                 CommunicationLibraries& found) {
  const bool deleted = path.ends_with(kDeleted);
  if (deleted) path.remove_suffix(kDeleted.size());
  const std::string_view name = file_name(path);
  if (starts_with_any(name, {"libnccl.so", "librccl.so"}) || extra.libraries.contains(name)) {
    found.libraries.push_back(
        {std::string(path), std::string(line.substr(0, line.find(' '))), deleted});
  } else if (starts_with_any(name, {"libnccl-", "librccl-"}) || extra.plugins.contains(name)) {
    found.plugins.emplace_back(path);
  } else if (starts_with_any(name, {"libtorch_cuda.so", "libtorch_hip.so"})) {
    found.torch_for_gpus = true;
  }
}

constexpr const char* kStatic = "it may be linked statically into PyTorch";

std::string joined(const std::set<std::string>& texts) {
  return core::join(std::vector<std::string>(texts.begin(), texts.end()), ", ");
}

void add_fact(model::Facts& facts, const std::string& item, const std::set<std::string>& values) {
  if (values.empty()) return;
  facts.push_back({.item = item, .value = joined(values)});
}

std::string file_fact(const FileIdentity& identity, const LibraryText& text) {
  const std::string size = fmt::format("{} bytes", identity.size_bytes);
  if (!text.build_id.empty()) return fmt::format("{}, build {}", size, text.build_id);
  return fmt::format("{}, modified {} s after 1970", size, identity.modified_ns / 1'000'000'000);
}

std::string with_version(const std::string& path, const LibraryText& text) {
  return text.version.empty() ? "'" + path + "'"
                              : fmt::format("'{}' (version {})", path, text.version);
}

std::string process_count(std::size_t processes) {
  return fmt::format("{} process{}", processes, processes == 1 ? "" : "es");
}

}  // namespace

CommunicationLibraries communication_libraries(std::string_view maps, const ExtraNames& extra) {
  CommunicationLibraries found;
  std::string_view last;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const auto slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view path = line.substr(slash);
    // A file has one line for each of its segments, and these lines are mostly adjacent.
    if (path == last) continue;
    last = path;
    add_mapping(line, path, extra, found);
  }
  const auto same = [](const MappedFile& a, const MappedFile& b) { return a.path == b.path; };
  std::stable_sort(found.libraries.begin(), found.libraries.end(),
                   [](const MappedFile& a, const MappedFile& b) { return a.path < b.path; });
  found.libraries.erase(std::unique(found.libraries.begin(), found.libraries.end(), same),
                        found.libraries.end());
  return found;
}

LoadedLibraries::LoadedLibraries(fs::path root, const fs::path& expected) : root_(std::move(root)) {
  if (expected.empty()) return;
  std::error_code code;
  expected_ = fs::absolute(expected, code);
  extra_.libraries.insert(expected_.filename().string());
  extra_.libraries.insert(resolved(expected_).filename().string());
}

void LoadedLibraries::begin_run() {
  extra_.plugins.clear();
  libraries_.clear();
  plugins_.clear();
  processes_.clear();
  asked_for_plugins_ = 0;
  torch_without_library_ = false;
}

std::optional<CommunicationLibraries> LoadedLibraries::read_maps(pid_t process) const {
  const auto maps = core::read_file(process_folder(root_, process) / "maps");
  if (!maps.ok()) return {};
  return communication_libraries(maps.value(), extra_);
}

LoadedLibraries::Communicates LoadedLibraries::look(pid_t process) {
  if (processes_.contains(process)) return Communicates::kYes;
  const CommunicationLibraries found = read_maps(process).value_or(CommunicationLibraries{});
  plugins_.insert(found.plugins.begin(), found.plugins.end());
  for (const MappedFile& file : found.libraries)
    add_library(process, file);
  if (!found.libraries.empty()) processes_.insert(process);
  if (found.libraries.empty() && found.torch_for_gpus) torch_without_library_ = true;
  const bool communicates = !found.libraries.empty() || found.torch_for_gpus;
  return communicates ? Communicates::kYes : Communicates::kUnknown;
}

void LoadedLibraries::look_for_plugins() {
  if (processes_.empty()) return;
  // Goes from the newest process to the oldest, because launchers are older than the ranks that
  // they start.
  auto next = processes_.lower_bound(asked_for_plugins_);
  if (next == processes_.begin()) next = processes_.end();
  asked_for_plugins_ = *--next;
  if (!add_plugins_of(asked_for_plugins_)) processes_.erase(next);
}

void LoadedLibraries::look_for_all_plugins() {
  std::erase_if(processes_, [this](pid_t process) { return !add_plugins_of(process); });
}

bool LoadedLibraries::add_plugins_of(pid_t process) {
  const auto found = read_maps(process);
  if (found) plugins_.insert(found->plugins.begin(), found->plugins.end());
  return found.has_value();
}

void LoadedLibraries::add_plugin_names(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("NCCL_") || !name.ends_with("_PLUGIN")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::string_view plugin = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(plugin.size() + 1, rest.size()));
      // A short name such as "aws-ofi" stands for libnccl-net-aws-ofi.so, which is found anyway.
      if (plugin.find(".so") != std::string_view::npos) {
        extra_.plugins.emplace(file_name(plugin));
      }
    }
  }
}

void LoadedLibraries::add_library(pid_t process, const MappedFile& file) {
  const fs::path path = reachable(process_folder(root_, process), file);
  const FileIdentity identity = file_identity(path).value_or(FileIdentity{});
  Library& library = libraries_[file.path];
  if (library.processes++ == 0) {
    const std::string name(file_name(file.path));
    library.identity = identity;
    library.text = identity == FileIdentity{} ? LibraryText{.version = version_in_name(name)}
                                              : texts_.of(identity, path, name);
    library.expected = is_expected(process, file.path, identity);
  }
  library.deleted |= file.deleted;
}

bool LoadedLibraries::is_expected(pid_t process,
                                  const std::string& path,
                                  const FileIdentity& identity) const {
  if (expected_.empty()) return true;
  if (path == expected_.string() || path == resolved(expected_).string()) return true;
  if (identity == FileIdentity{}) return false;
  const fs::path inside = process_folder(root_, process) / "root" / expected_.relative_path();
  return file_identity(expected_) == identity || file_identity(inside) == identity;
}

// Returns "NCCL", "RCCL" or, for a run with both, "NCCL and RCCL".
std::string LoadedLibraries::names() const {
  const auto is_rccl = [](const auto& library) {
    return library.first.find("librccl") != std::string::npos;
  };
  if (std::none_of(libraries_.begin(), libraries_.end(), is_rccl)) return "NCCL";
  if (std::all_of(libraries_.begin(), libraries_.end(), is_rccl)) return "RCCL";
  return "NCCL and RCCL";
}

model::Facts LoadedLibraries::facts() const {
  model::Facts facts;
  std::set<std::string> paths;
  std::set<std::string> versions;
  std::set<std::string> files;
  for (const auto& [path, library] : libraries_) {
    paths.insert(path);
    if (!library.text.version.empty()) versions.insert(library.text.version);
    if (library.identity.inode != 0) files.insert(file_fact(library.identity, library.text));
  }
  if (libraries_.empty() && torch_without_library_) paths = {"none seen: may be linked statically"};
  const std::string name = names();
  add_fact(facts, name + " library", paths);
  add_fact(facts, name + " version", versions);
  add_fact(facts, name + " library file", files);
  add_fact(facts, name + " plugins", plugins_);
  return facts;
}

std::vector<std::string> LoadedLibraries::not_read(const Variables& variables) const {
  const auto is_known = [](const auto& library) {
    return are_of_a_library(library.second.text.variables);
  };
  if (libraries_.empty() || !plugins_.empty() || !extra_.plugins.empty() ||
      !std::all_of(libraries_.begin(), libraries_.end(), is_known))
    return {};
  const auto is_read = [this](const std::string& name) {
    return std::any_of(libraries_.begin(), libraries_.end(), [&name](const auto& library) {
      return library.second.text.variables.contains(name);
    });
  };
  std::vector<std::string> unknown;
  for (const auto& [name, value] : variables)
    if (!value.empty() && is_own_variable(name) && !is_read(name)) unknown.push_back(name);
  return unknown;
}

void LoadedLibraries::add_missing(std::vector<std::string>& warnings) const {
  if (expected_.empty() || !libraries_.empty()) return;
  warnings.push_back(fmt::format(
      "no process was seen to load NCCL or RCCL, but '{}' was expected{}{}", expected_.string(),
      torch_without_library_ ? ": " : "", torch_without_library_ ? kStatic : ""));
}

std::vector<std::string> LoadedLibraries::warnings() const {
  std::vector<std::string> warnings;
  std::set<std::string> described;
  for (const auto& [path, library] : libraries_) {
    described.insert(with_version(path, library.text) + " by " + process_count(library.processes));
    if (!library.expected) {
      warnings.push_back(fmt::format("{} was loaded by {}, but '{}' was expected",
                                     with_version(path, library.text),
                                     process_count(library.processes), expected_.string()));
    }
    if (library.deleted) {
      warnings.push_back(fmt::format("'{}' was replaced or removed while it was in use", path));
    }
  }
  if (libraries_.size() > 1) {
    warnings.push_back("more than one library for collectives was loaded: " + joined(described));
  }
  add_missing(warnings);
  return warnings;
}

}  // namespace assay::sweep
