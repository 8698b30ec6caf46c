// A GPU as a rank of collectives, which are those of NCCL and assay's own all-reduce.
#pragma once

#include <memory>

#include "collect/cuda/nccl.h"
#include "collect/worker/team.h"

namespace assay::collect {

struct GpuRankOptions {
  int rank = 0;
  int device = 0;
};

// Only one thread may use the rank. Another thread may have created it.
std::unique_ptr<TeamRank> make_gpu_rank(const GpuRankOptions& options, RankMeeting meeting);

}  // namespace assay::collect
