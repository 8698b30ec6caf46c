#include "sweep/memory_maps.h"

#include <algorithm>

namespace assay::sweep {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

void add(std::string_view line,
         std::string_view path,
         const ExtraNames& extra,
         CommunicationLibraries& found) {
  const bool deleted = path.ends_with(kDeleted);
  if (deleted) path.remove_suffix(kDeleted.size());
  const std::string_view name = name_of(path);
  if (starts_with_any(name, {"libnccl.so", "librccl.so"}) || extra.libraries.contains(name)) {
    found.libraries.push_back(
        {std::string(path), std::string(line.substr(0, line.find(' '))), deleted});
  } else if (starts_with_any(name, {"libnccl-", "librccl-"}) || extra.plugins.contains(name)) {
    found.plugins.emplace_back(path);
  } else if (starts_with_any(name, {"libtorch_cuda.so", "libtorch_hip.so"})) {
    found.torch_for_gpus = true;
  }
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
    // A file has a line for each of its segments, mostly in a row.
    if (path == last) continue;
    last = path;
    add(line, path, extra, found);
  }
  const auto same = [](const MappedFile& a, const MappedFile& b) { return a.path == b.path; };
  std::stable_sort(found.libraries.begin(), found.libraries.end(),
                   [](const MappedFile& a, const MappedFile& b) { return a.path < b.path; });
  found.libraries.erase(std::unique(found.libraries.begin(), found.libraries.end(), same),
                        found.libraries.end());
  return found;
}

}  // namespace assay::sweep
