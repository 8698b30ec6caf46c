// Data for NCCL's collectives: whole numbers so small that every sum of them is exact in any data
// type, whatever the order, so that results are compared to the bit.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "allreduce/nccl_setting.h"

namespace assay::allreduce {

inline constexpr int kBroadcastRoot = 0;

struct NcclProblem {
  NcclCollective collective = NcclCollective::kAllReduce;
  int rank = 0;
  int world_size = 2;
  std::size_t elements = 0;  // of the larger of input and output
  std::uint64_t seed = 0;
  DataType data_type = DataType::kBfloat16;

  // Elements of this rank's input and output.
  [[nodiscard]] std::size_t inputs() const {
    return collective == NcclCollective::kAllGather ? elements / ranks() : elements;
  }

  [[nodiscard]] std::size_t outputs() const {
    return collective == NcclCollective::kReduceScatter ? elements / ranks() : elements;
  }

 private:
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(world_size); }
};

// Fills the input, and covers the output with a pattern that is no result.
cudaError_t fill_nccl(const NcclProblem& problem, void* input, void* output, cudaStream_t stream);

// Adds to `wrong` the number of values of the output that are not what they should be.
cudaError_t compare_nccl(const NcclProblem& problem,
                         const void* output,
                         unsigned long long* wrong,
                         cudaStream_t stream);

// All ranks leave this point of their streams within about two microseconds. `slots` is host memory
// that all GPUs see, a number for each rank; `round` is a counter in this GPU's memory.
cudaError_t align_ranks(
    volatile unsigned* slots, unsigned* round, int rank, int world_size, cudaStream_t stream);

}  // namespace assay::allreduce
