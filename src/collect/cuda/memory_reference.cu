#include "collect/cuda/memory_kernels.h"
#include "collect/cuda/numbers.cuh"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;

// Outputs are rounded once; before it float32 has `roundings`, each of 2^-24 of the result.
__device__ double rounding_bound(DataType type, double expected, double roundings) {
  return 0.5 * spacing_of(type, expected) + fabs(expected) * roundings * 0x1p-24;
}

__device__ double block_sum(double value) {
  __shared__ double parts[kThreads];
  __syncthreads();
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

__device__ double rms_norm_at(const MemorySpec& spec,
                              const MemoryArguments& with,
                              std::int64_t at) {
  const std::int64_t row = at / spec.columns;
  double squares = 0;
  for (std::int64_t i = threadIdx.x; i < spec.columns; i += kThreads) {
    const double x = load_number(spec.type, with.input, row * spec.columns + i);
    squares += x * x;
  }
  squares = block_sum(squares);
  return load_number(spec.type, with.input, at) *
         load_number(spec.type, with.other, at % spec.columns) /
         sqrt(squares / static_cast<double>(spec.columns) + static_cast<double>(kRmsEpsilon));
}

__device__ double silu_mul_at(const MemorySpec& spec,
                              const MemoryArguments& with,
                              std::int64_t at) {
  const std::int64_t gate_at = at + at / spec.columns * spec.columns;
  const double gate = load_number(spec.type, with.input, gate_at);
  const double up = load_number(spec.type, with.input, gate_at + spec.columns);
  return gate / (1 + exp(-gate)) * up;
}

__device__ double expected_at(const MemorySpec& spec,
                              const MemoryArguments& with,
                              std::int64_t at) {
  switch (spec.kind) {
    case MemorySpec::Kind::kRmsNorm:
      return rms_norm_at(spec, with, at);
    case MemorySpec::Kind::kSiluMul:
      return silu_mul_at(spec, with, at);
    case MemorySpec::Kind::kEmbedding:
      return load_number(spec.type, with.input,
                         with.indices[at / spec.columns] * spec.columns + at % spec.columns);
    case MemorySpec::Kind::kAdd:
      return load_number(spec.type, with.input, at) + load_number(spec.type, with.other, at);
    default:
      return load_number(spec.type, with.input, at);
  }
}

__device__ double roundings_of(MemorySpec::Kind kind) {
  switch (kind) {
    case MemorySpec::Kind::kRmsNorm:
      return 160;  // of a thread's share of the sum, then of the block's
    case MemorySpec::Kind::kSiluMul:
      return 16;
    default:
      return 1;
  }
}

// A block for each sample.
__global__ void memory_samples_of(MemorySpec spec, MemoryArguments with, Sample* samples) {
  const std::int64_t at = sampled(blockIdx.x, spec.rows * spec.columns);
  const double expected = expected_at(spec, with, at);
  if (threadIdx.x == 0)
    samples[blockIdx.x] = {.value = load_number(spec.type, with.output, at),
                           .expected = expected,
                           .bound = rounding_bound(spec.type, expected, roundings_of(spec.kind)),
                           .at = at};
}

// Adds to samples[1]: the sum of all elements to expected, of their squares to bound.
__global__ void sum_of_input(MemorySpec spec, MemoryArguments with, Sample* samples) {
  const std::int64_t count = spec.rows * spec.columns;
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::int64_t{kThreads}) {
    const double x = load_number(spec.type, with.input, i);
    sum += x;
    squares += x * x;
  }
  sum = block_sum(sum);
  squares = block_sum(squares);
  if (threadIdx.x != 0) return;
  atomicAdd(&samples[1].expected, sum);
  atomicAdd(&samples[1].bound, squares);
}

__global__ void read_sample(MemorySpec spec, MemoryArguments with, int blocks, Sample* samples) {
  double value = 0;
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += kThreads)
    value += static_cast<double>(static_cast<const float*>(with.output)[i]);
  value = block_sum(value);
  if (threadIdx.x != 0) return;
  // The float32 sums of each thread's share, which are partial sums of random numbers.
  const double share =
      static_cast<double>(spec.rows * spec.columns) / (static_cast<double>(blocks) * kThreads);
  const double size = fabs(samples[1].expected) + 6 * sqrt(samples[1].bound);
  samples[0] = {.value = value,
                .expected = samples[1].expected,
                .bound = (share + 64) * 0x1p-24 * size,
                .at = 0};
}

}  // namespace

std::int64_t memory_samples(const MemorySpec& spec) {
  return spec.kind == MemorySpec::Kind::kRead ? 1 : samples_of(spec.rows * spec.columns);
}

cudaError_t compare_memory(const MemorySpec& spec,
                           const MemoryArguments& arguments,
                           Sample* samples,
                           cudaStream_t stream) {
  if (spec.kind != MemorySpec::Kind::kRead) {
    memory_samples_of<<<static_cast<unsigned>(memory_samples(spec)), kThreads, 0, stream>>>(
        spec, arguments, samples);
    return cudaGetLastError();
  }
  const cudaError_t cleared = cudaMemsetAsync(samples, 0, 2 * sizeof(Sample), stream);
  if (cleared != cudaSuccess) return cleared;
  sum_of_input<<<1024, kThreads, 0, stream>>>(spec, arguments, samples);
  read_sample<<<1, kThreads, 0, stream>>>(spec, arguments, read_blocks(spec), samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
