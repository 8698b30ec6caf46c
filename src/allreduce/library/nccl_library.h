// NCCL, found at run time, so that nothing of it is needed to link or to start.
#pragma once

#include <nccl.h>

#include <string>

#include "core/result.h"

namespace assay::allreduce {

struct NcclLibrary {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclMemAlloc) mem_alloc = nullptr;
  decltype(&ncclMemFree) mem_free = nullptr;
  // Null before NCCL 2.27.
  decltype(&ncclCommWindowRegister) comm_window_register = nullptr;
  decltype(&ncclCommWindowDeregister) comm_window_deregister = nullptr;

  [[nodiscard]] core::Status check(ncclResult_t result, const char* doing) const;
};

// Returns the library that the process has loaded already (PyTorch's), else the one that
// core::open_library() finds. It is loaded once and never unloaded.
core::Result<const NcclLibrary*> nccl_library();

}  // namespace assay::allreduce
