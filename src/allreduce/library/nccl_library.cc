#include "allreduce/library/nccl_library.h"

#include <string>
#include <utility>

#include "core/shared_library.h"

namespace assay::allreduce {
namespace {

constexpr const char* kName = "libnccl.so.2";

core::Result<core::SharedLibrary> open_nccl() {
  auto loaded = core::SharedLibrary::open({kName}, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  return loaded.ok() ? std::move(loaded) : core::open_library({kName});
}

core::Result<NcclLibrary> load() {
  const core::SharedLibrary library = ASSAY_TRY(open_nccl());
  NcclLibrary nccl;
  const bool whole = library.bind("ncclGetVersion", nccl.get_version) &&
                     library.bind("ncclGetUniqueId", nccl.get_unique_id) &&
                     library.bind("ncclCommInitRank", nccl.comm_init_rank) &&
                     library.bind("ncclCommDestroy", nccl.comm_destroy) &&
                     library.bind("ncclCommAbort", nccl.comm_abort) &&
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
