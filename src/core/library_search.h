// This says where every program of assay looks for the libraries of others: CUDA's, NCCL, cuDNN,
// NVML, CUPTI.
// Everything stands in this header, because the recorder, which other programs load, links nothing
// of ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace assay::core {

inline constexpr const char* kLibraryPath = "ASSAY_LIBRARY_PATH";

// The folders of an environment variable that lists them separated by colons; none if it is unset.
inline std::vector<std::string> folders_in_variable(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view list = value == nullptr ? "" : value;
  std::vector<std::string> folders;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    if (colon > at) folders.emplace_back(list.substr(at, colon - at));
    at = colon + 1;
  }
  return folders;
}

// Each of `names` in each of `folders`, in the order of the folders. An empty folder stands for the
// loader's own search.
inline std::vector<std::string> files_in(const std::vector<std::string>& folders,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const std::string& name : names)
      files.push_back(folder.empty() ? name : folder + "/" + name);
  }
  return files;
}

// Returns the files to try for a library that has one of `names` ("libcublasLt.so.13", ...): in the
// folders of ASSAY_LIBRARY_PATH, where the loader looks, and in a toolkit's folders. A name with a
// slash is a file, for which nobody searches.
inline std::vector<std::string> library_files(const std::vector<std::string>& names) {
  if (!names.empty() && names.front().find('/') != std::string::npos) return names;
  std::vector<std::string> folders = folders_in_variable(kLibraryPath);
  folders.emplace_back();  // the loader's own search
  for (const char* toolkit : {"CUDA_HOME", "CUDA_PATH"}) {
    for (const std::string& folder : folders_in_variable(toolkit)) {
      folders.push_back(folder + "/lib64");
      folders.push_back(folder + "/lib");
    }
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  return files_in(folders, names);
}

}  // namespace assay::core
