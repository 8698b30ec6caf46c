// A GPU's part of collectives: NCCL's, and assay's own all-reduce.
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>
#include <vector>

#include "collect/worker/mpi_team.h"
#include "collect/worker/team.h"
#include "core/result.h"

namespace assay::collect {

// How the ranks of a communicator find each other before there is one. Called by each of its ranks
// at the same time; all get the same.
struct RankMeeting {
  std::function<core::Result<ncclUniqueId>(int ranks)> unique_id;
  // All ranks' bytes in the order of ranks, each as many as `own`.
  std::function<core::Result<std::vector<unsigned char>>(
      int rank, int ranks, const std::vector<unsigned char>& own)>
      exchange;
};

// For the ranks of one process, which all hold a copy.
RankMeeting meet_in_process();

// For the processes of an MPI job.
RankMeeting meet_in_job(const MpiRank& job);

struct GpuRankOptions {
  int rank = 0;
  int device = 0;
};

// Used by one thread, which is not the one that made it.
std::unique_ptr<TeamRank> make_gpu_rank(const GpuRankOptions& options, RankMeeting meeting);

}  // namespace assay::collect
