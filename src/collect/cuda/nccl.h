// NCCL, opened while the program runs, and how the ranks of its communicators meet.
#pragma once

#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

#include "collect/worker/mpi_team.h"
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

// A process opens the library once. Fails if it is missing.
const core::Result<NcclFunctions>& nccl_functions();

// Returns a text like "2.28.9", or "none" without the library.
std::string nccl_version();

core::Status nccl_status(ncclResult_t result, const char* doing);

// How the ranks of a communicator find each other before it exists. All of its ranks call these
// functions at the same time and get the same result.
struct RankMeeting {
  std::function<core::Result<ncclUniqueId>(int ranks)> unique_id;
  // Returns the bytes of all ranks in the order of ranks. Every rank passes the same number of
  // bytes.
  std::function<core::Result<std::vector<unsigned char>>(
      int rank, int ranks, const std::vector<unsigned char>& own)>
      exchange;
};

// Returns the meeting for the ranks of one process, which all hold a copy of it.
RankMeeting meet_in_process();

// Returns the meeting for the processes of an MPI job.
RankMeeting meet_in_job(const MpiRank& job);

}  // namespace assay::collect
