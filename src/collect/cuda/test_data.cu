#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <type_traits>

#include "collect/cuda/numbers.cuh"
#include "collect/cuda/test_data.h"
#include "collect/kernels/collective_pattern.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 8192;

// Returns four numbers in [-1, 1) that depend on `at`.
__device__ float4 uniform_numbers(std::uint64_t seed, std::uint64_t at) {
  const std::uint64_t bits =
      mixed_bits(mixed_bits(seed + 0x9E3779B97F4A7C15ULL) + at * 0xD1342543DE82EF95ULL);
  const auto part = [bits](int i) {
    return static_cast<float>(bits >> (16 * i) & 0xFFFFU) / 32768.0F - 1.0F;
  };
  return {part(0), part(1), part(2), part(3)};
}

template <class T>
__device__ T rounded(float value) {
  return T(value);
}

template <>
__device__ std::int8_t rounded<std::int8_t>(float value) {
  return static_cast<std::int8_t>(rintf(value));
}

template <class T>
__global__ void fill_uniform(uint4* to, std::int64_t vectors, Fill contents) {
  constexpr int kPerVector = 16 / sizeof(T);
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < vectors;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    alignas(16) T values[kPerVector];
#pragma unroll
    for (int part = 0; part < kPerVector / 4; ++part) {
      const float4 u =
          uniform_numbers(contents.seed, static_cast<std::uint64_t>(i) * (kPerVector / 4) + part);
      values[part * 4 + 0] = rounded<T>(u.x * contents.amplitude + contents.offset);
      values[part * 4 + 1] = rounded<T>(u.y * contents.amplitude + contents.offset);
      values[part * 4 + 2] = rounded<T>(u.z * contents.amplitude + contents.offset);
      values[part * 4 + 3] = rounded<T>(u.w * contents.amplitude + contents.offset);
    }
    to[i] = *reinterpret_cast<const uint4*>(values);
  }
}

__global__ void fill_indices(std::int32_t* to, std::int64_t count, Fill contents) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const std::uint64_t bits =
        mixed_bits(static_cast<std::uint64_t>(i) * 0xD1342543DE82EF95ULL + contents.seed + 1);
    to[i] = static_cast<std::int32_t>((bits >> 33U) % static_cast<std::uint64_t>(contents.limit));
  }
}

__global__ void read_vectors(const uint4* from, std::int64_t vectors, float* to) {
  std::uint32_t all = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < vectors;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const uint4 value = from[i];
    all |= value.x ^ value.y ^ value.z ^ value.w;
  }
  if (all == 0x12345678U) *to = 1;  // keeps the compiler from removing the reads
}

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
}

template <class T>
void launch_uniform(void* memory, std::int64_t vectors, const Fill& contents, cudaStream_t stream) {
  fill_uniform<T><<<blocks_for(vectors), kThreads, 0, stream>>>(static_cast<uint4*>(memory),
                                                                vectors, contents);
}

__device__ std::int64_t this_thread() {
  return blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
}

__global__ void write_low(RouterLogits router) {
  const std::int64_t at = this_thread();
  if (at >= router.tokens * router.experts) return;
  static_cast<__nv_bfloat16*>(router.logits)[at] =
      __float2bfloat16(router_logit(at / router.experts, at % router.experts, false));
}

__global__ void write_chosen(RouterLogits router) {
  const std::int64_t at = this_thread();
  if (at >= router.tokens * router.top_k) return;
  const std::int64_t token = at / router.top_k;
  const std::int64_t expert = router.chosen[at];
  static_cast<__nv_bfloat16*>(router.logits)[token * router.experts + expert] =
      __float2bfloat16(router_logit(token, expert, true));
}

unsigned blocks_of_threads(std::int64_t items) {
  return static_cast<unsigned>((items + kThreads - 1) / kThreads);
}

template <class T>
__global__ void fill_pattern(T* to, std::int64_t elements, int rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += step)
    to[i] = static_cast<T>(static_cast<float>(pattern_value(rank, i)));
}

template <class T>
__global__ void compare_pattern(const T* output,
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

// Calls `run` with a null pointer of the type. Types that are only moved are treated as bytes.
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

cudaError_t fill(void* memory, std::size_t bytes, const Fill& contents, cudaStream_t stream) {
  const auto vectors = static_cast<std::int64_t>(bytes / 16);
  if (vectors == 0 || contents.kind == Fill::Kind::kNothing) return cudaSuccess;
  if (contents.kind == Fill::Kind::kIndices) {
    fill_indices<<<blocks_for(vectors * 4), kThreads, 0, stream>>>(
        static_cast<std::int32_t*>(memory), vectors * 4, contents);
    return cudaGetLastError();
  }
  switch (contents.type) {
    case DataType::kFloat32:
      launch_uniform<float>(memory, vectors, contents, stream);
      break;
    case DataType::kFloat16:
      launch_uniform<__half>(memory, vectors, contents, stream);
      break;
    case DataType::kBfloat16:
    case DataType::kMxfp4:
      launch_uniform<__nv_bfloat16>(memory, vectors, contents, stream);
      break;
    case DataType::kFp8:
    case DataType::kFp8Block:
      launch_uniform<__nv_fp8_e4m3>(memory, vectors, contents, stream);
      break;
    case DataType::kInt8:
      launch_uniform<std::int8_t>(memory, vectors, contents, stream);
      break;
  }
  return cudaGetLastError();
}

cudaError_t read_through(const void* memory, std::size_t bytes, float* to, cudaStream_t stream) {
  const auto vectors = static_cast<std::int64_t>(bytes / 16);
  read_vectors<<<blocks_for(vectors / 4), kThreads, 0, stream>>>(static_cast<const uint4*>(memory),
                                                                 vectors, to);
  return cudaGetLastError();
}

cudaError_t write_logits(const RouterLogits& router, cudaStream_t stream) {
  write_low<<<blocks_of_threads(router.tokens * router.experts), kThreads, 0, stream>>>(router);
  write_chosen<<<blocks_of_threads(router.tokens * router.top_k), kThreads, 0, stream>>>(router);
  return cudaGetLastError();
}

cudaError_t fill_collective(void* input,
                            const CollectiveSpec& spec,
                            int rank,
                            cudaStream_t stream) {
  const std::int64_t elements = elements_in(spec);
  with_type(spec.type, [&](auto* element) {
    auto* typed = static_cast<decltype(element)>(input);
    fill_pattern<<<blocks_for(elements), kThreads, 0, stream>>>(typed, elements, rank);
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
  with_type(spec.type, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    compare_pattern<<<blocks_for(elements_out(spec)), kThreads, 0, stream>>>(
        static_cast<const T*>(output), spec, rank, findings);
  });
  return cudaGetLastError();
}

}  // namespace assay::collect
