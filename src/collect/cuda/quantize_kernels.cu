#include <cuda_fp8.h>

#include <algorithm>

#include "collect/cuda/numbers.cuh"
#include "collect/cuda/quantize_kernels.h"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 16;  // elements of an output vector

__device__ float block_maximum(float value) {
  return block_reduce(value, Larger{});
}

__global__ void __launch_bounds__(kThreads) maxima_of(QuantizeArguments arguments) {
  const auto* input = static_cast<const __nv_bfloat16*>(arguments.input);
  const std::int64_t vectors = (arguments.count + 7) / 8;
  float largest = 0;
#pragma unroll 4
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < vectors;
       i += gridDim.x * std::int64_t{kThreads}) {
    const Vector<__nv_bfloat16> loaded = load_vector(input, i);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (i * 8 + j < arguments.count) largest = fmaxf(largest, fabsf(as_float(loaded.values[j])));
    }
  }
  largest = block_maximum(largest);
  if (threadIdx.x == 0) arguments.maxima[blockIdx.x] = largest;
}

// Each block combines the maxima itself, which saves a launch.
__device__ float scale_for(const QuantizeArguments& arguments, int maxima) {
  if (maxima == 0) return *arguments.scale;
  float largest = 0;
  for (int i = static_cast<int>(threadIdx.x); i < maxima; i += kThreads)
    largest = fmaxf(largest, arguments.maxima[i]);
  const float scale = fmaxf(block_maximum(largest), kLeastMaximum) / kLargestFp8;
  if (blockIdx.x == 0 && threadIdx.x == 0) *arguments.scale = scale;
  return scale;
}

__device__ std::uint32_t four_fp8(const __nv_bfloat16* values, float factor) {
  const auto pair = [&](int at) {
    const float2 scaled{as_float(values[at]) * factor, as_float(values[at + 1]) * factor};
    return static_cast<std::uint32_t>(__nv_cvt_float2_to_fp8x2(scaled, __NV_SATFINITE, __NV_E4M3));
  };
  return pair(0) | pair(2) << 16U;
}

// The work of the blocks with this blockIdx.y.
__device__ void convert(const QuantizeArguments& arguments, float factor) {
  const auto* input = static_cast<const __nv_bfloat16*>(arguments.input);
  const std::int64_t vectors = (arguments.count + kPerThread - 1) / kPerThread;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < vectors;
       i += gridDim.x * std::int64_t{kThreads}) {
    const Vector<__nv_bfloat16> low = load_vector(input, 2 * i);
    const Vector<__nv_bfloat16> high = load_vector(input, 2 * i + 1);
    static_cast<uint4*>(arguments.output)[i] = {
        four_fp8(low.values, factor), four_fp8(low.values + 4, factor),
        four_fp8(high.values, factor), four_fp8(high.values + 4, factor)};
  }
}

__global__ void __launch_bounds__(kThreads) to_fp8(QuantizeArguments arguments, int maxima) {
  convert(arguments, 1.0F / scale_for(arguments, maxima));
}

__global__ void __launch_bounds__(kThreads)
    both_to_fp8(QuantizeArguments first, QuantizeArguments second) {
  if (blockIdx.y == 0) {
    convert(first, 1.0F / *first.scale);
  } else {
    convert(second, 1.0F / *second.scale);
  }
}

int blocks_for(std::int64_t items, int most) {
  return static_cast<int>(std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, most));
}

__global__ void quantized_samples(QuantizeArguments arguments,
                                  std::int64_t count,
                                  Sample* samples) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  const std::int64_t at = sampled(i, arguments.count);
  const double scaled =
      load_number(DataType::kBfloat16, arguments.input, at) / static_cast<double>(*arguments.scale);
  const double expected = fmin(fmax(scaled, -kLargestFp8), static_cast<double>(kLargestFp8));
  samples[i] = {.value = load_number(DataType::kFp8, arguments.output, at),
                .expected = expected,
                .bound = 0.5 * spacing_of(DataType::kFp8, expected) + fabs(expected) * 0x1p-22,
                .at = at};
}

// Positive numbers have the same order as their bits.
__global__ void largest_of_input(QuantizeArguments arguments, Sample* sample) {
  double largest = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < arguments.count;
       i += gridDim.x * std::int64_t{kThreads})
    largest = fmax(largest, fabs(load_number(DataType::kBfloat16, arguments.input, i)));
  atomicMax(reinterpret_cast<unsigned long long*>(&sample->expected),
            static_cast<unsigned long long>(__double_as_longlong(largest)));
}

__global__ void scale_sample(QuantizeArguments arguments, Sample* sample) {
  const double expected = arguments.maxima == nullptr
                              ? *arguments.scale
                              : sample->expected / static_cast<double>(kLargestFp8);
  *sample = {.value = *arguments.scale, .expected = expected, .bound = expected * 0x1p-23, .at = 0};
}

}  // namespace

cudaError_t quantize(const QuantizeArguments& arguments, cudaStream_t stream) {
  int maxima = 0;
  if (arguments.maxima != nullptr) {
    maxima =
        blocks_for((arguments.count + 31) / 32, kMaximumBlocks);  // four vectors for each thread
    maxima_of<<<static_cast<unsigned>(maxima), kThreads, 0, stream>>>(arguments);
  }
  const int blocks = blocks_for((arguments.count + kPerThread - 1) / kPerThread, 1 << 20);
  to_fp8<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(arguments, maxima);
  return cudaGetLastError();
}

cudaError_t quantize_both(const QuantizeArguments& first,
                          const QuantizeArguments& second,
                          cudaStream_t stream) {
  const std::int64_t count = std::max(first.count, second.count);
  const dim3 blocks(
      static_cast<unsigned>(blocks_for((count + kPerThread - 1) / kPerThread, 1 << 20)),
      second.count > 0 ? 2 : 1);
  both_to_fp8<<<blocks, kThreads, 0, stream>>>(first, second);
  return cudaGetLastError();
}

cudaError_t compare_quantized(const QuantizeArguments& arguments,
                              Sample* samples,
                              cudaStream_t stream) {
  const std::int64_t count = samples_of(arguments.count);
  const int blocks = blocks_for(count, 1 << 20);
  quantized_samples<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(arguments, count,
                                                                            samples);
  const cudaError_t cleared = cudaMemsetAsync(samples + count, 0, sizeof(Sample), stream);
  if (cleared != cudaSuccess) return cleared;
  largest_of_input<<<512, kThreads, 0, stream>>>(arguments, samples + count);
  scale_sample<<<1, 1, 0, stream>>>(arguments, samples + count);
  return cudaGetLastError();
}

}  // namespace assay::collect
