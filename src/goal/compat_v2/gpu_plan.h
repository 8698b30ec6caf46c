// The launches of a GPU in the order in which the public generator writes them, and the names that
// it gives to messages: parallelism + 100 * (hash mod 1000).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace assay::goal::compat_v2 {

// An operation, or all operations of a group that the program opened with ncclGroupStart().
struct Launch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool grouped = false;
  std::uint32_t first = 0;  // GpuPlan::operations[first … +count)
  std::uint32_t count = 0;
};

struct GpuPlan {
  std::vector<std::uint32_t> contexts;       // by index into JobGpu::operations
  std::vector<std::uint32_t> operations;     // indices into JobGpu::operations
  std::vector<std::vector<Launch>> streams;  // in the order of the file
};

GpuPlan plan_gpu(const model::JobGpu& gpu);

// merge_streams() joins all streams to one chain. A plan is mergeable when no launches of different
// streams overlap.
bool mergeable(const GpuPlan& plan);
void merge_streams(GpuPlan& plan);

// Returns Python's hash of a tuple of small numbers: the mixing of xxHash with one lane.
std::uint64_t tuple_hash(std::span<const std::uint64_t> items);

// Returns the hashes modulo 1000. When some hashes are below 2^63 and others are not, the
// generator's library keeps them as 64-bit floating-point numbers, so that they lose their last 11
// bits first.
std::vector<std::uint32_t> hash_digits(std::span<const std::uint64_t> hashes);

// Returns the parallelism of a stream (DP 2, PP 1, Other 0) from the letters of its operations in
// the order of their start: A AllGather, B AllReduce, C Broadcast, D ReduceScatter, E Recv, F Send.
std::uint32_t parallelism_digit(std::string_view letters);

// Returns a name for each operation of a GPU, by index. `order` has the operations in the order of
// their start, as the generator sees it.
std::vector<std::uint32_t> contexts(const model::JobGpu& gpu, std::span<const std::uint32_t> order);

}  // namespace assay::goal::compat_v2
