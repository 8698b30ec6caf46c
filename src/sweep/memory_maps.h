// Which of the libraries that decide about communication a process has in memory.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay::sweep {

struct MappedFile {
  std::string path;   // as the process sees it
  std::string range;  // its name in /proc/<pid>/map_files
  bool deleted = false;
};

struct CommunicationLibraries {
  std::vector<MappedFile> libraries;  // libnccl.so*, librccl.so*
  std::vector<std::string> plugins;   // paths: libnccl-net.so, libnccl-tuner-x.so
  bool torch_for_gpus = false;        // libtorch_cuda.so or libtorch_hip.so
};

// File names that count as a library or a plugin beside the usual ones.
struct ExtraNames {
  std::set<std::string, std::less<>> libraries;
  std::set<std::string, std::less<>> plugins;
};

// `maps` is the content of /proc/<pid>/maps, see proc(5).
CommunicationLibraries communication_libraries(std::string_view maps, const ExtraNames& extra);

}  // namespace assay::sweep
