#include "allreduce/library/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace assay::allreduce {
namespace {

constexpr const char* kName = "libnccl.so.2";

std::vector<std::string> places() {
  std::vector<std::string> paths{kName};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr) continue;
    paths.push_back(std::string(folder) + "/lib64/" + kName);
    paths.push_back(std::string(folder) + "/lib/" + kName);
  }
  paths.push_back(std::string("/usr/local/cuda/lib64/") + kName);
  return paths;
}

void* open_library() {
  void* loaded = dlopen(kName, RTLD_NOW | RTLD_NOLOAD);
  if (loaded != nullptr) return loaded;
  for (const std::string& path : places()) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
  }
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

core::Result<NcclLibrary> load() {
  void* library = open_library();
  if (library == nullptr) {
    std::string tried;
    for (const std::string& path : places())
      tried += (tried.empty() ? "" : ", ") + path;
    return core::Error{"NCCL was not found (tried " + tried + "); set LD_LIBRARY_PATH"};
  }
  NcclLibrary nccl;
  const bool whole = find(library, "ncclGetVersion", nccl.get_version) &&
                     find(library, "ncclGetUniqueId", nccl.get_unique_id) &&
                     find(library, "ncclCommInitRank", nccl.comm_init_rank) &&
                     find(library, "ncclCommDestroy", nccl.comm_destroy) &&
                     find(library, "ncclAllReduce", nccl.all_reduce) &&
                     find(library, "ncclGetErrorString", nccl.get_error_string) &&
                     find(library, "ncclMemAlloc", nccl.mem_alloc) &&
                     find(library, "ncclMemFree", nccl.mem_free);
  if (!whole) return core::Error{std::string(kName) + " is too old: 2.19 or newer is needed"};
  find(library, "ncclCommWindowRegister", nccl.comm_window_register);
  find(library, "ncclCommWindowDeregister", nccl.comm_window_deregister);
  return nccl;
}

}  // namespace

core::Status NcclLibrary::check(ncclResult_t result, const char* doing) const {
  if (result == ncclSuccess) return {};
  return core::Error{std::string(doing) + ": " + get_error_string(result)};
}

core::Result<const NcclLibrary*> nccl_library() {
  static const core::Result<NcclLibrary> library = load();
  if (!library.ok()) return library.error();
  return &library.value();
}

}  // namespace assay::allreduce
