// Times of what was not measured, by what is known of the strategies: of other numbers of GPUs.
// Tables and explanations mark what comes from here.
#pragma once

#include <cstdint>
#include <vector>

#include "allreduce/timings.h"

namespace assay::allreduce {

// The numbers of GPUs that tables have slices for, measured or extrapolated.
inline constexpr int kFewestRanks = 2;
inline constexpr int kMostRanks = 8;

// Returns which of the measured numbers of GPUs the times for `world_size` are extrapolated from:
// the nearest by ratio, the larger of two equally near; 0 where nothing was measured.
int nearest_world_size(const std::vector<int>& measured, int world_size);

// Returns the numbers of GPUs that were measured with this type and fusion, ascending.
std::vector<int> measured_world_sizes(const Timings& timings, DataType data_type, Fusion fusion);

// Returns times for these numbers of GPUs, where a type and fusion was not tried with them. A
// strategy takes what it takes with the nearest measured number for the message of which a GPU
// sends as many bytes: its time of the smallest message of a row is the constant part, and beyond
// the largest the line through the last two goes on. Never below link_limit_us(), nor less than
// what was measured of the message with fewer GPUs, nor more than with more. ONESHOT's largest
// message shrinks as 1/N, as its workspace is divided. What grows with the number of GPUs besides
// the bytes, such as NCCL's latency, is not in it. The timings are those of GPUs of this SM.
Timings extrapolated_timings(const Timings& timings,
                             const std::vector<int>& world_sizes,
                             int sm_version);

// Returns what failed with the number of GPUs that such times are extrapolated from: nobody knows
// whether it works with others.
Failures extrapolated_failures(const Failures& failures,
                               const Timings& timings,
                               const std::vector<int>& world_sizes);

}  // namespace assay::allreduce
