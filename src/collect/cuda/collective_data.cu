#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "collect/cuda/collective_data.h"
#include "collect/kernels/collective_pattern.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 1024;

int blocks_for(std::int64_t elements) {
  const std::int64_t wanted = (elements + kThreads - 1) / kThreads;
  return static_cast<int>(wanted < kMostBlocks ? wanted : kMostBlocks);
}

template <class T>
__global__ void fill_kernel(T* to, std::int64_t elements, int rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += step)
    to[i] = static_cast<T>(static_cast<float>(pattern_value(rank, i)));
}

template <class T>
__global__ void compare_kernel(const T* output,
                               CollectiveSpec spec,
                               int rank,
                               CollectiveFindings* findings) {
  const std::int64_t elements = elements_out(spec);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += step) {
    const auto found = static_cast<float>(output[i]);
    if (found == static_cast<float>(pattern_expected(spec, rank, i))) continue;
    if (atomicAdd(&findings->wrong, 1ULL) != 0) continue;
    findings->at = static_cast<unsigned long long>(i);
    findings->value = found;
  }
}

// Calls `run` with a null pointer of the type; anything else is only moved, as bytes.
template <class Run>
void with_type(DataType type, Run&& run) {
  switch (type) {
    case DataType::kFloat32:
      return run(static_cast<float*>(nullptr));
    case DataType::kFloat16:
      return run(static_cast<__half*>(nullptr));
    case DataType::kBfloat16:
      return run(static_cast<__nv_bfloat16*>(nullptr));
    default:
      return run(static_cast<std::int8_t*>(nullptr));
  }
}

}  // namespace

cudaError_t fill_collective(void* input,
                            const CollectiveSpec& spec,
                            int rank,
                            cudaStream_t stream) {
  const std::int64_t elements = elements_in(spec);
  with_type(spec.type, [&](auto* of) {
    auto* typed = static_cast<decltype(of)>(input);
    fill_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(typed, elements, rank);
  });
  return cudaGetLastError();
}

cudaError_t compare_collective(const void* output,
                               const CollectiveSpec& spec,
                               int rank,
                               CollectiveFindings* findings,
                               cudaStream_t stream) {
  const cudaError_t cleared = cudaMemsetAsync(findings, 0, sizeof(*findings), stream);
  if (cleared != cudaSuccess) return cleared;
  with_type(spec.type, [&](auto* of) {
    using T = std::remove_pointer_t<decltype(of)>;
    compare_kernel<<<blocks_for(elements_out(spec)), kThreads, 0, stream>>>(
        static_cast<const T*>(output), spec, rank, findings);
  });
  return cudaGetLastError();
}

}  // namespace assay::collect
