#include <algorithm>

#include "collect/cuda/fill.h"
#include "collect/cuda/numbers.cuh"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 8192;

// Four numbers in [-1, 1) for each `at`.
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
__global__ void fill_uniform(uint4* to, std::int64_t vectors, Fill with) {
  constexpr int kPerVector = 16 / sizeof(T);
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < vectors;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    alignas(16) T values[kPerVector];
#pragma unroll
    for (int part = 0; part < kPerVector / 4; ++part) {
      const float4 u =
          uniform_numbers(with.seed, static_cast<std::uint64_t>(i) * (kPerVector / 4) + part);
      values[part * 4 + 0] = rounded<T>(u.x * with.amplitude + with.offset);
      values[part * 4 + 1] = rounded<T>(u.y * with.amplitude + with.offset);
      values[part * 4 + 2] = rounded<T>(u.z * with.amplitude + with.offset);
      values[part * 4 + 3] = rounded<T>(u.w * with.amplitude + with.offset);
    }
    to[i] = *reinterpret_cast<const uint4*>(values);
  }
}

__global__ void fill_indices(std::int32_t* to, std::int64_t count, Fill with) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const std::uint64_t bits =
        mixed_bits(static_cast<std::uint64_t>(i) * 0xD1342543DE82EF95ULL + with.seed + 1);
    to[i] = static_cast<std::int32_t>((bits >> 33U) % static_cast<std::uint64_t>(with.limit));
  }
}

__global__ void read_vectors(const uint4* from, std::int64_t vectors, float* to) {
  std::uint32_t all = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < vectors;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const uint4 value = from[i];
    all |= value.x ^ value.y ^ value.z ^ value.w;
  }
  if (all == 0x12345678U) *to = 1;  // so that the reads are not dropped
}

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
}

template <class T>
void launch_uniform(void* memory, std::int64_t vectors, const Fill& with, cudaStream_t stream) {
  fill_uniform<T>
      <<<blocks_for(vectors), kThreads, 0, stream>>>(static_cast<uint4*>(memory), vectors, with);
}

}  // namespace

cudaError_t fill(void* memory, std::size_t bytes, const Fill& with, cudaStream_t stream) {
  const auto vectors = static_cast<std::int64_t>(bytes / 16);
  if (vectors == 0 || with.kind == Fill::Kind::kNothing) return cudaSuccess;
  if (with.kind == Fill::Kind::kIndices) {
    fill_indices<<<blocks_for(vectors * 4), kThreads, 0, stream>>>(
        static_cast<std::int32_t*>(memory), vectors * 4, with);
    return cudaGetLastError();
  }
  switch (with.type) {
    case DataType::kFloat32:
      launch_uniform<float>(memory, vectors, with, stream);
      break;
    case DataType::kFloat16:
      launch_uniform<__half>(memory, vectors, with, stream);
      break;
    case DataType::kBfloat16:
      launch_uniform<__nv_bfloat16>(memory, vectors, with, stream);
      break;
    case DataType::kFp8:
    case DataType::kFp8Block:
      launch_uniform<__nv_fp8_e4m3>(memory, vectors, with, stream);
      break;
    case DataType::kInt8:
      launch_uniform<std::int8_t>(memory, vectors, with, stream);
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

}  // namespace assay::collect
