#include "allreduce/library/nccl_library.h"

#include <cstdlib>
#include <vector>

#include "core/shared_library.h"

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

core::Result<core::SharedLibrary> open_library() {
  auto loaded = core::SharedLibrary::open({kName}, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  if (loaded.ok()) return loaded;
  return core::SharedLibrary::open(places(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

core::Result<NcclLibrary> load() {
  const auto opened = open_library();
  if (!opened.ok())
    return core::Error{"NCCL cannot be opened: " + opened.error().message +
                       "; set LD_LIBRARY_PATH"};
  const core::SharedLibrary& library = opened.value();
  NcclLibrary nccl;
  const bool whole = library.bind("ncclGetVersion", nccl.get_version) &&
                     library.bind("ncclGetUniqueId", nccl.get_unique_id) &&
                     library.bind("ncclCommInitRank", nccl.comm_init_rank) &&
                     library.bind("ncclCommDestroy", nccl.comm_destroy) &&
                     library.bind("ncclAllReduce", nccl.all_reduce) &&
                     library.bind("ncclGetErrorString", nccl.get_error_string) &&
                     library.bind("ncclMemAlloc", nccl.mem_alloc) &&
                     library.bind("ncclMemFree", nccl.mem_free);
  if (!whole) return core::Error{std::string(kName) + " is too old: 2.19 or newer is needed"};
  library.bind("ncclCommWindowRegister", nccl.comm_window_register);
  library.bind("ncclCommWindowDeregister", nccl.comm_window_deregister);
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
