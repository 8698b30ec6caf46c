// The calls that a sweep of NCCL's settings measures, and the settings that compete in each.
#pragma once

#include <vector>

#include "allreduce/bench/plan.h"
#include "allreduce/nccl_setting.h"

namespace assay::allreduce {

struct NcclAxes {
  std::vector<NcclCollective> collectives = {NcclCollective::kAllReduce, NcclCollective::kAllGather,
                                             NcclCollective::kReduceScatter,
                                             NcclCollective::kBroadcast};
  std::vector<int> channels = {1, 2, 4, 8, 16, 24, 32};
  std::vector<Launch> launches = {Launch::kGraph};
  std::vector<DataType> data_types = {DataType::kBfloat16};
};

// Returns the sizes in bytes: powers of two from 1 KiB to 128 MiB, or for kHeldOut those one and a
// half times as large.
std::vector<std::int64_t> nccl_sizes(Shapes shapes, const CellFilter& filter);

// Returns the cells of one number of ranks, one launch and collective after the other. Collectives
// that only move bytes have cells of the first data type alone.
std::vector<NcclCell> plan_nccl_cells(int world_size,
                                      const NcclAxes& axes,
                                      const std::vector<std::int64_t>& sizes);

// Returns NCCL's own choice and all settings. Trees are only for all-reduce.
std::vector<NcclArm> nccl_arms(NcclCollective collective, const NcclAxes& axes);

}  // namespace assay::allreduce
