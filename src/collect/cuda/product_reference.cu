#include "collect/cuda/expert_rows.cuh"
#include "collect/cuda/numbers.cuh"
#include "collect/cuda/product_reference.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;

struct Sums {
  double sum = 0;
  double squares = 0;  // sum of the summands' squares
};

__device__ Sums block_sums(Sums mine) {
  __shared__ Sums parts[kThreads];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      parts[threadIdx.x].sum += parts[threadIdx.x + half].sum;
      parts[threadIdx.x].squares += parts[threadIdx.x + half].squares;
    }
    __syncthreads();
  }
  return parts[0];
}

// Returns the nth of all rows.
__device__ ExpertRow row_of(const ProductCheck& check, std::int64_t nth) {
  if (check.row_offsets == nullptr) return {nth / (check.rows / check.batch), nth};
  return nth_row(check.row_offsets, check.row_counts, check.batch, nth);
}

__device__ double scale_at(const ProductCheck& check,
                           const ExpertRow& expert_row,
                           std::int64_t column,
                           std::int64_t i) {
  if (check.type != DataType::kFp8Block) return 1;
  const bool alone = check.row_offsets == nullptr;
  const ExpertScales inputs = alone ? ExpertScales{0, check.rows, check.k}
                                    : expert_scales(check.row_offsets, expert_row.expert, check.k);
  const WeightScales weights{check.n, check.k};
  const std::int64_t weight_at = expert_row.expert * weights.count() + weights.at(column, i);
  return static_cast<double>(check.arguments.input_scales[inputs.at(expert_row.row, i)]) *
         static_cast<double>(check.arguments.weight_scales[weight_at]);
}

__device__ DataType output_type(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8Block ? DataType::kBfloat16 : type;
}

__device__ double load_output(const ProductCheck& check, std::int64_t at) {
  if (check.type == DataType::kInt8)
    return static_cast<const std::int32_t*>(check.arguments.output)[at];
  return load_number(output_type(check.type), check.arguments.output, at);
}

// The number and the size of the roundings in sums whose partial sums have about this size. A
// tensor core adds 16 products at a time (32 for fp8) to a sum of 24 bits (about 14 for fp8), and
// truncates instead of rounding. The size is doubled for the alignment of summands within a step.
__device__ double accumulation_bound(const ProductCheck& check, double size) {
  const auto k = static_cast<double>(check.k);
  switch (check.type) {
    case DataType::kFloat32:
      return k * 0x1p-24 * size;
    case DataType::kFp8:
      return (k / 32 + 8) * 0x1p-12 * size;
    case DataType::kFp8Block:  // each block ends with a full sum
      return (8 * 0x1p-12 + k / 128 * 0x1p-23) * size;
    case DataType::kInt8:
      return 0;
    default:
      return (k / 16 + 32) * 0x1p-22 * size;
  }
}

__device__ double bound_of(const ProductCheck& check, const Sums& exact) {
  if (check.type == DataType::kInt8) return 0.5;
  // Partial sums of random summands stay below six standard deviations of the whole sum.
  const double size = fabs(exact.sum) + 6 * sqrt(exact.squares);
  const double accumulated = accumulation_bound(check, size);
  const double spacing = spacing_of(output_type(check.type), fabs(exact.sum) + accumulated);
  double bound = 0.5 * spacing + accumulated;
  // Parts of the sum are stored in the type of the output, and perhaps added in this type.
  if (check.algorithm.split_k > 1 &&
      check.algorithm.reduction_scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)
    bound += check.algorithm.split_k * spacing_of(output_type(check.type), size);
  return bound;
}

// A block computes one sample.
__global__ void product_samples(ProductCheck check, Sample* samples) {
  const std::int64_t at = sampled(blockIdx.x, check.rows * check.n);
  const ExpertRow expert_row = row_of(check, at / check.n);
  const std::int64_t column = at % check.n;
  const std::int64_t weight_row = expert_row.expert * check.n + column;
  Sums mine;
  for (std::int64_t i = threadIdx.x; i < check.k; i += kThreads) {
    const double product =
        load_number(check.type, check.arguments.input, expert_row.row * check.k + i) *
        load_number(check.type, check.arguments.weight, weight_row * check.k + i) *
        scale_at(check, expert_row, column, i);
    mine.sum += product;
    mine.squares += product * product;
  }
  const Sums exact = block_sums(mine);
  if (threadIdx.x != 0) return;
  const std::int64_t place = expert_row.row * check.n + column;
  samples[blockIdx.x] = {.value = load_output(check, place),
                         .expected = exact.sum,
                         .bound = bound_of(check, exact),
                         .at = place};
}

}  // namespace

cudaError_t compare_product(const ProductCheck& check, Sample* samples, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(samples_of(check.rows * check.n));
  product_samples<<<blocks, kThreads, 0, stream>>>(check, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
