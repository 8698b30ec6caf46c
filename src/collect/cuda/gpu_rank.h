// A GPU's part in collectives: those of NCCL, and assay's own all-reduce.
#pragma once

#include <memory>

#include "collect/cuda/nccl.h"
#include "collect/worker/team.h"

namespace assay::collect {

struct GpuRankOptions {
  int rank = 0;
  int device = 0;
};

// Only one thread uses the rank, which need not be the one that made it.
std::unique_ptr<TeamRank> make_gpu_rank(const GpuRankOptions& options, RankMeeting meeting);

}  // namespace assay::collect
