// Calls of all kinds, one after the other without a pause, each on fresh data and each checked:
// what a race of kernels would need to show itself.
#pragma once

#include <cstdint>
#include <vector>

#include "allreduce/worker/reference.h"
#include "core/result.h"

namespace assay::allreduce {

struct MixedCall {
  Cell cell;
  Variant variant;
  Strategy strategy = Strategy::kOneshot;
};

// Returns `count` calls of our own strategies, the same on every rank for a seed.
std::vector<MixedCall> mixed_calls(int world_size, std::uint64_t seed, int count);

// Fill the buffers of a call and check what it wrote, each in one launch. `*turn` makes the data of
// each replay of a graph other data. checksums are added to the findings.
cudaError_t fill_in_turn(const Problem& problem,
                         const Buffers& buffers,
                         const std::uint64_t* turn,
                         cudaStream_t stream);
cudaError_t check_in_turn(const Problem& problem,
                          const Buffers& buffers,
                          const std::uint64_t* turn,
                          Findings* findings,
                          cudaStream_t stream);
cudaError_t next_turn(std::uint64_t* turn, cudaStream_t stream);

}  // namespace assay::allreduce
