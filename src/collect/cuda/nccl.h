// NCCL, opened while the program runs.
#pragma once

#include <nccl.h>

#include <string>

#include "core/result.h"

namespace assay::collect {

struct NcclFunctions {
  decltype(ncclGetVersion)* version = nullptr;
  decltype(ncclGetUniqueId)* unique_id = nullptr;
  decltype(ncclCommInitRank)* init_rank = nullptr;
  decltype(ncclCommDestroy)* destroy = nullptr;
  decltype(ncclAllReduce)* all_reduce = nullptr;
  decltype(ncclAllGather)* all_gather = nullptr;
  decltype(ncclReduceScatter)* reduce_scatter = nullptr;
  decltype(ncclSend)* send = nullptr;
  decltype(ncclRecv)* receive = nullptr;
  decltype(ncclGroupStart)* group_start = nullptr;
  decltype(ncclGroupEnd)* group_end = nullptr;
  decltype(ncclGetErrorString)* error_string = nullptr;
  decltype(ncclGetLastError)* last_error = nullptr;
};

// Opened once a process. Error: the library is not there.
const core::Result<NcclFunctions>& nccl_functions();

// "2.28.9"; "none" without it.
std::string nccl_version();

core::Status nccl_status(ncclResult_t result, const char* doing);

}  // namespace assay::collect
