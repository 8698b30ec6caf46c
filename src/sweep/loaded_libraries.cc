#include "sweep/loaded_libraries.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/files.h"
#include "sweep/library_version.h"
#include "sweep/process_table.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

fs::path resolved(const fs::path& path) {
  std::error_code code;
  const fs::path found = fs::canonical(path, code);
  return code ? path : found;
}

// The file as the process sees it, also inside a container. The name may stand for another file
// by now: then only the mapping itself leads to the right one, for those who may use it.
fs::path reachable(const fs::path& folder, const MappedFile& file) {
  fs::path mapping = folder / "map_files" / file.range;
  if (file.deleted) return mapping;
  fs::path named = folder / "root" / fs::path(file.path).relative_path();
  return file_identity(named) ? named : mapping;
}

}  // namespace

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
  // From the newest to the oldest: launchers are older than the ranks that they start.
  auto next = processes_.lower_bound(asked_for_plugins_);
  if (next == processes_.begin()) next = processes_.end();
  asked_for_plugins_ = *--next;
  const auto found = read_maps(asked_for_plugins_);
  if (found) {
    plugins_.insert(found->plugins.begin(), found->plugins.end());
  } else {
    processes_.erase(next);
  }
}

void LoadedLibraries::add_plugin_names(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("NCCL_") || !name.ends_with("_PLUGIN")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      // A short name, "aws-ofi", stands for libnccl-net-aws-ofi.so, which is looked for anyway.
      if (one.find(".so") != std::string_view::npos) {
        extra_.plugins.insert(file_name(std::string(one)));
      }
    }
  }
}

void LoadedLibraries::add_library(pid_t process, const MappedFile& file) {
  const fs::path path = reachable(process_folder(root_, process), file);
  const FileIdentity identity = file_identity(path).value_or(FileIdentity{});
  Library& library = libraries_[file.path];
  if (library.processes++ == 0) {
    library.identity = identity;
    library.text = identity == FileIdentity{}
                       ? LibraryText{.version = version_in_name(file_name(file.path))}
                       : texts_.of(identity, path, file_name(file.path));
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

}  // namespace assay::sweep
