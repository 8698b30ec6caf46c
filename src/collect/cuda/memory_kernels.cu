// The kernels that the memory bandwidth limits, and float64 references of their outputs.
#include <algorithm>

#include "collect/cuda/memory_kernels.h"
#include "collect/cuda/numbers.cuh"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kManyVectors = std::int64_t{1} << 19U;  // enough to fill a GPU four times

template <class T>
struct Copy {
  const T* input;
  T* output;

  using Loaded = Vector<T>;

  __device__ Loaded load(std::uint32_t i) const { return load_vector(input, i); }

  __device__ void store(std::uint32_t i, const Loaded& loaded) const {
    store_vector(output, i, loaded);
  }
};

template <class T>
struct TwoVectors {
  Vector<T> first;
  Vector<T> second;
};

template <class T>
struct Add {
  const T* input;
  const T* other;
  T* output;

  using Loaded = TwoVectors<T>;

  __device__ Loaded load(std::uint32_t i) const {
    return {load_vector(input, i), load_vector(other, i)};
  }

  __device__ void store(std::uint32_t i, const Loaded& loaded) const {
    Vector<T> sums;
#pragma unroll
    for (int j = 0; j < Vector<T>::kSize; ++j)
      sums.values[j] =
          from_float<T>(as_float(loaded.first.values[j]) + as_float(loaded.second.values[j]));
    store_vector(output, i, sums);
  }
};

template <class T>
struct SiluMul {
  const T* input;
  T* output;
  std::uint32_t vectors_per_row;  // vectors in a row of the output

  using Loaded = TwoVectors<T>;

  __device__ Loaded load(std::uint32_t i) const {
    const std::uint32_t row = i / vectors_per_row;
    const std::int64_t gate = std::int64_t{i} + std::int64_t{row} * vectors_per_row;
    return {load_vector(input, gate), load_vector(input, gate + vectors_per_row)};
  }

  __device__ void store(std::uint32_t i, const Loaded& loaded) const {
    Vector<T> products;
#pragma unroll
    for (int j = 0; j < Vector<T>::kSize; ++j)
      products.values[j] =
          from_float<T>(silu(as_float(loaded.first.values[j])) * as_float(loaded.second.values[j]));
    store_vector(output, i, products);
  }
};

template <class T>
struct Embedding {
  const T* table;
  const std::int32_t* indices;
  T* output;
  std::uint32_t vectors_per_row;

  using Loaded = Vector<T>;

  __device__ Loaded load(std::uint32_t i) const {
    const std::uint32_t row = i / vectors_per_row;
    const std::uint32_t column = i - row * vectors_per_row;
    return load_vector(table, std::int64_t{indices[row]} * vectors_per_row + column);
  }

  __device__ void store(std::uint32_t i, const Loaded& loaded) const {
    store_vector(output, i, loaded);
  }
};

// A thread does all its kUnroll loads before its first store, so that they overlap.
template <int kUnroll, class Operation>
__global__ void __launch_bounds__(kThreads) for_vectors(Operation operation, std::uint32_t count) {
  const std::int64_t first = blockIdx.x * std::int64_t{kThreads * kUnroll} + threadIdx.x;
  typename Operation::Loaded loaded[kUnroll];
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    const std::int64_t i = first + j * kThreads;
    if (i < count) loaded[j] = operation.load(static_cast<std::uint32_t>(i));
  }
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    const std::int64_t i = first + j * kThreads;
    if (i < count) operation.store(static_cast<std::uint32_t>(i), loaded[j]);
  }
}

template <class Operation>
cudaError_t run_for_vectors(const Operation& operation, std::int64_t count, cudaStream_t stream) {
  const auto vectors = static_cast<std::uint32_t>(count);
  const auto blocks = [count](std::int64_t unroll) {
    return static_cast<unsigned>((count + kThreads * unroll - 1) / (kThreads * unroll));
  };
  if (count < kManyVectors) {
    for_vectors<1><<<blocks(1), kThreads, 0, stream>>>(operation, vectors);
  } else {
    for_vectors<4><<<blocks(4), kThreads, 0, stream>>>(operation, vectors);
  }
  return cudaGetLastError();
}

template <class T>
struct NormArguments {
  const T* input;
  const T* weight;
  const T* residual;  // null: the norm is that of the input
  T* output;
  T* sum;
  int vectors_per_row;
};

// Adds a vector of the residual and writes the sum, which is rounded as engines keep it.
template <class T>
__device__ Vector<T> with_residual(const NormArguments<T>& arguments,
                                   const Vector<T>& loaded,
                                   std::int64_t at) {
  const Vector<T> residual = load_vector(arguments.residual, at);
  Vector<T> sum;
#pragma unroll
  for (int k = 0; k < Vector<T>::kSize; ++k)
    sum.values[k] = from_float<T>(as_float(loaded.values[k]) + as_float(residual.values[k]));
  store_vector(arguments.sum, at, sum);
  return sum;
}

// A block works on one row, which stays in registers between the two passes.
template <class T, int kMost, bool kAdds>
__global__ void __launch_bounds__(1024) rms_norm(const NormArguments<T> arguments) {
  const int vectors_per_row = arguments.vectors_per_row;
  const std::int64_t row = blockIdx.x * std::int64_t{vectors_per_row};
  Vector<T> loaded[kMost];
  float squares = 0;
#pragma unroll
  for (int j = 0; j < kMost; ++j) {
    const int i = static_cast<int>(threadIdx.x + j * blockDim.x);
    if (i >= vectors_per_row) continue;
    loaded[j] = load_vector(arguments.input, row + i);
    if constexpr (kAdds) loaded[j] = with_residual(arguments, loaded[j], row + i);
#pragma unroll
    for (int k = 0; k < Vector<T>::kSize; ++k)
      squares += as_float(loaded[j].values[k]) * as_float(loaded[j].values[k]);
  }
  const auto columns = static_cast<float>(vectors_per_row * Vector<T>::kSize);
  const float factor = rsqrtf(block_reduce(squares, Plus{}) / columns + kRmsEpsilon);
#pragma unroll
  for (int j = 0; j < kMost; ++j) {
    const int i = static_cast<int>(threadIdx.x + j * blockDim.x);
    if (i >= vectors_per_row) continue;
    const Vector<T> factors = load_vector(arguments.weight, i);
    Vector<T> result;
#pragma unroll
    for (int k = 0; k < Vector<T>::kSize; ++k)
      result.values[k] =
          from_float<T>(as_float(loaded[j].values[k]) * factor * as_float(factors.values[k]));
    store_vector(arguments.output, row + i, result);
  }
}

template <class T, bool kAdds>
cudaError_t run_rms_norm(const MemorySpec& spec,
                         const MemoryArguments& arguments,
                         cudaStream_t stream) {
  const auto vectors = static_cast<int>(spec.columns / Vector<T>::kSize);
  const int threads = std::clamp((vectors + 63) / 64 * 32, 32, 1024);  // two vectors each
  const auto blocks = static_cast<unsigned>(spec.rows);
  const NormArguments<T> norm{.input = static_cast<const T*>(arguments.input),
                              .weight = static_cast<const T*>(arguments.other),
                              .residual = static_cast<const T*>(arguments.residual),
                              .output = static_cast<T*>(arguments.output),
                              .sum = static_cast<T*>(arguments.sum),
                              .vectors_per_row = vectors};
  if (vectors <= 2 * threads) {
    rms_norm<T, 2, kAdds><<<blocks, threads, 0, stream>>>(norm);
  } else {
    rms_norm<T, 16, kAdds><<<blocks, threads, 0, stream>>>(norm);
  }
  return cudaGetLastError();
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    read_sum(const T* input, std::int64_t count, float* sums) {
  const std::int64_t vectors = (count + Vector<T>::kSize - 1) / Vector<T>::kSize;
  const std::int64_t step = gridDim.x * std::int64_t{kThreads};
  float sum = 0;
#pragma unroll 4
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < vectors; i += step) {
    const Vector<T> loaded = load_vector(input, i);
#pragma unroll
    for (int j = 0; j < Vector<T>::kSize; ++j) {
      if (i * Vector<T>::kSize + j < count) sum += as_float(loaded.values[j]);
    }
  }
  sum = block_reduce(sum, Plus{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
cudaError_t run_typed(const MemorySpec& spec,
                      const MemoryArguments& arguments,
                      cudaStream_t stream) {
  const auto* input = static_cast<const T*>(arguments.input);
  const auto* other = static_cast<const T*>(arguments.other);
  auto* output = static_cast<T*>(arguments.output);
  const std::int64_t count = spec.rows * spec.columns;
  const std::int64_t vectors = (count + Vector<T>::kSize - 1) / Vector<T>::kSize;
  const auto per_row = static_cast<std::uint32_t>(spec.columns / Vector<T>::kSize);
  switch (spec.kind) {
    case MemorySpec::Kind::kRmsNorm:
      return run_rms_norm<T, false>(spec, arguments, stream);
    case MemorySpec::Kind::kAddRmsNorm:
      return run_rms_norm<T, true>(spec, arguments, stream);
    case MemorySpec::Kind::kSiluMul:
      return run_for_vectors(SiluMul<T>{input, output, per_row}, vectors, stream);
    case MemorySpec::Kind::kEmbedding:
      return run_for_vectors(Embedding<T>{input, arguments.indices, output, per_row}, vectors,
                             stream);
    case MemorySpec::Kind::kAdd:
      return run_for_vectors(Add<T>{input, other, output}, vectors, stream);
    case MemorySpec::Kind::kCopy:
      return run_for_vectors(Copy<T>{input, output}, vectors, stream);
    case MemorySpec::Kind::kRead:
      read_sum<T><<<static_cast<unsigned>(read_blocks(spec)), kThreads, 0, stream>>>(
          input, count, static_cast<float*>(arguments.output));
      return cudaGetLastError();
  }
  return cudaErrorInvalidValue;
}

// Returns the bound of an output that is rounded once after `roundings` roundings in float32, each
// of which is at most 2^-24 of the result.
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

// The number of the norm's input: of kAddRmsNorm the sum that the kernel wrote.
__device__ double normed_at(const MemorySpec& spec,
                            const MemoryArguments& arguments,
                            std::int64_t at) {
  const bool adds = spec.kind == MemorySpec::Kind::kAddRmsNorm;
  return load_number(spec.type, adds ? arguments.sum : arguments.input, at);
}

__device__ double rms_norm_at(const MemorySpec& spec,
                              const MemoryArguments& arguments,
                              std::int64_t at) {
  const std::int64_t row = at / spec.columns;
  double squares = 0;
  for (std::int64_t i = threadIdx.x; i < spec.columns; i += kThreads) {
    const double x = normed_at(spec, arguments, row * spec.columns + i);
    squares += x * x;
  }
  squares = block_sum(squares);
  return normed_at(spec, arguments, at) *
         load_number(spec.type, arguments.other, at % spec.columns) /
         sqrt(squares / static_cast<double>(spec.columns) + static_cast<double>(kRmsEpsilon));
}

__device__ double silu_mul_at(const MemorySpec& spec,
                              const MemoryArguments& arguments,
                              std::int64_t at) {
  const std::int64_t gate_at = at + at / spec.columns * spec.columns;
  const double gate = load_number(spec.type, arguments.input, gate_at);
  const double up = load_number(spec.type, arguments.input, gate_at + spec.columns);
  return gate / (1 + exp(-gate)) * up;
}

__device__ double sum_at(const MemorySpec& spec,
                         const MemoryArguments& arguments,
                         std::int64_t at) {
  return load_number(spec.type, arguments.input, at) +
         load_number(spec.type, arguments.residual, at);
}

__device__ double expected_at(const MemorySpec& spec,
                              const MemoryArguments& arguments,
                              std::int64_t at) {
  switch (spec.kind) {
    case MemorySpec::Kind::kRmsNorm:
    case MemorySpec::Kind::kAddRmsNorm:
      return rms_norm_at(spec, arguments, at);
    case MemorySpec::Kind::kSiluMul:
      return silu_mul_at(spec, arguments, at);
    case MemorySpec::Kind::kEmbedding:
      return load_number(spec.type, arguments.input,
                         arguments.indices[at / spec.columns] * spec.columns + at % spec.columns);
    case MemorySpec::Kind::kAdd:
      return load_number(spec.type, arguments.input, at) +
             load_number(spec.type, arguments.other, at);
    default:
      return load_number(spec.type, arguments.input, at);
  }
}

__device__ double roundings_of(MemorySpec::Kind kind) {
  switch (kind) {
    case MemorySpec::Kind::kRmsNorm:
    case MemorySpec::Kind::kAddRmsNorm:
      return 160;  // in a thread's part of the sum, then in the block's
    case MemorySpec::Kind::kSiluMul:
      return 16;
    default:
      return 1;
  }
}

// A block computes one sample.
__global__ void memory_samples_of(MemorySpec spec, MemoryArguments arguments, Sample* samples) {
  const std::int64_t at = sampled(blockIdx.x, spec.rows * spec.columns);
  // Every second sample of kAddRmsNorm is one of the sum.
  const bool is_sum = spec.kind == MemorySpec::Kind::kAddRmsNorm && blockIdx.x % 2 == 1;
  const double expected = is_sum ? sum_at(spec, arguments, at) : expected_at(spec, arguments, at);
  const double roundings = is_sum ? 1 : roundings_of(spec.kind);
  if (threadIdx.x == 0)
    samples[blockIdx.x] = {
        .value = load_number(spec.type, is_sum ? arguments.sum : arguments.output, at),
        .expected = expected,
        .bound = rounding_bound(spec.type, expected, roundings),
        .at = at};
}

// Adds the sum of all elements to samples[1].expected, and that of their squares to
// samples[1].bound.
__global__ void sum_of_input(MemorySpec spec, MemoryArguments arguments, Sample* samples) {
  const std::int64_t count = spec.rows * spec.columns;
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::int64_t{kThreads}) {
    const double x = load_number(spec.type, arguments.input, i);
    sum += x;
    squares += x * x;
  }
  sum = block_sum(sum);
  squares = block_sum(squares);
  if (threadIdx.x != 0) return;
  atomicAdd(&samples[1].expected, sum);
  atomicAdd(&samples[1].bound, squares);
}

__global__ void read_sample(MemorySpec spec,
                            MemoryArguments arguments,
                            int blocks,
                            Sample* samples) {
  double value = 0;
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += kThreads)
    value += static_cast<double>(static_cast<const float*>(arguments.output)[i]);
  value = block_sum(value);
  if (threadIdx.x != 0) return;
  // Each thread's float32 sum is a partial sum of random numbers.
  const double share =
      static_cast<double>(spec.rows * spec.columns) / (static_cast<double>(blocks) * kThreads);
  const double size = fabs(samples[1].expected) + 6 * sqrt(samples[1].bound);
  samples[0] = {.value = value,
                .expected = samples[1].expected,
                .bound = (share + 64) * 0x1p-24 * size,
                .at = 0};
}

}  // namespace

int read_blocks(const MemorySpec& spec) {
  const std::int64_t bytes = spec.rows * spec.columns * bytes_of(spec.type);
  return static_cast<int>(
      std::clamp<std::int64_t>((bytes + 16 * kThreads - 1) / (16 * kThreads), 1, kReadBlocks));
}

cudaError_t run_memory_kernel(const MemorySpec& spec,
                              const MemoryArguments& arguments,
                              cudaStream_t stream) {
  switch (spec.type) {
    case DataType::kFloat32:
      return run_typed<float>(spec, arguments, stream);
    case DataType::kFloat16:
      return run_typed<__half>(spec, arguments, stream);
    case DataType::kBfloat16:
      return run_typed<__nv_bfloat16>(spec, arguments, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

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
