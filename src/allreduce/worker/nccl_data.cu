#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "allreduce/worker/nccl_data.h"

namespace assay::allreduce {
namespace {

constexpr int kDataThreads = 256;
constexpr std::size_t kMostDataBlocks = 2048;
constexpr unsigned char kNoResult = 0xAB;
constexpr int kLargestInput = 8;  // 8 ranks' sums are at most 64, and bfloat16 has all up to 256

// A whole number from -8 to 8 (the finaliser of D. Stafford's variant 13).
__device__ int input_at(std::uint64_t seed, int rank, std::size_t at) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(rank) +
                    static_cast<std::uint64_t>(at) * 0xD1342543DE82EF95ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  x ^= x >> 31U;
  return static_cast<int>(x % (2 * kLargestInput + 1)) - kLargestInput;
}

__device__ int sum_at(const NcclProblem& problem, std::size_t at) {
  int sum = 0;
  for (int rank = 0; rank < problem.world_size; ++rank)
    sum += input_at(problem.seed, rank, at);
  return sum;
}

__device__ int expected_at(const NcclProblem& problem, std::size_t part, std::size_t at) {
  switch (problem.collective) {
    case NcclCollective::kAllReduce:
      return sum_at(problem, at);
    case NcclCollective::kAllGather:
      return input_at(problem.seed, static_cast<int>(at / part), at % part);
    case NcclCollective::kReduceScatter:
      return sum_at(problem, static_cast<std::size_t>(problem.rank) * part + at);
    case NcclCollective::kBroadcast:
      return input_at(problem.seed, kBroadcastRoot, at);
  }
  return 0;
}

__device__ std::size_t first_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::size_t stride() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

template <class Element>
__global__ void fill_kernel(NcclProblem problem, Element* input, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride())
    input[i] = Element(static_cast<float>(input_at(problem.seed, problem.rank, i)));
}

template <class Element>
__global__ void compare_kernel(NcclProblem problem,
                               const Element* output,
                               std::size_t count,
                               std::size_t part,
                               unsigned long long* wrong) {
  unsigned long long found = 0;
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const auto expected = static_cast<float>(expected_at(problem, part, i));
    if (static_cast<float>(output[i]) != expected) ++found;
  }
  if (found > 0) atomicAdd(wrong, found);
}

__global__ void align_kernel(volatile unsigned* slots, unsigned* round, int rank, int world_size) {
  const unsigned mine = *round + 1;
  *round = mine;
  __threadfence_system();
  slots[rank] = mine;
  for (int other = 0; other < world_size; ++other) {
    while (static_cast<int>(slots[other] - mine) < 0) {
    }
  }
}

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>((count + kDataThreads - 1) / kDataThreads, 1, kMostDataBlocks));
}

// Calls `with` with a value of the problem's type of elements.
template <class With>
void with_element(const NcclProblem& problem, const With& with) {
  switch (problem.data_type) {
    case DataType::kFloat16:
      return with(__half());
    case DataType::kFloat32:
      return with(float());
    default:
      return with(__nv_bfloat16());
  }
}

}  // namespace

cudaError_t fill_nccl(const NcclProblem& problem, void* input, void* output, cudaStream_t stream) {
  const std::size_t count = problem.inputs();
  with_element(problem, [&](auto element) {
    fill_kernel<<<blocks_for(count), kDataThreads, 0, stream>>>(
        problem, static_cast<decltype(element)*>(input), count);
  });
  const cudaError_t launched = cudaGetLastError();
  if (launched != cudaSuccess) return launched;
  const auto bytes = problem.outputs() * static_cast<std::size_t>(bytes_of(problem.data_type));
  return cudaMemsetAsync(output, kNoResult, bytes, stream);
}

cudaError_t compare_nccl(const NcclProblem& problem,
                         const void* output,
                         unsigned long long* wrong,
                         cudaStream_t stream) {
  const std::size_t count = problem.outputs();
  const std::size_t part = problem.elements / static_cast<std::size_t>(problem.world_size);
  with_element(problem, [&](auto element) {
    compare_kernel<<<blocks_for(count), kDataThreads, 0, stream>>>(
        problem, static_cast<const decltype(element)*>(output), count, part, wrong);
  });
  return cudaGetLastError();
}

cudaError_t align_ranks(
    volatile unsigned* slots, unsigned* round, int rank, int world_size, cudaStream_t stream) {
  align_kernel<<<1, 1, 0, stream>>>(slots, round, rank, world_size);
  return cudaGetLastError();
}

}  // namespace assay::allreduce
