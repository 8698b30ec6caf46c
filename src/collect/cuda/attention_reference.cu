#include <algorithm>

#include "collect/cuda/attention_kernels.h"
#include "collect/cuda/numbers.cuh"

namespace assay::collect {
namespace {

constexpr int kWarps = 8;
constexpr int kLanes = 32;
constexpr int kColumns = 16;  // compared in a row
constexpr std::int64_t kMostRows = kMostSamples / kColumns;

// A row of the output: one query of one head.
struct Row {
  std::int64_t batch = 0;
  std::int64_t query = 0;
  std::int64_t head = 0;
  std::int64_t at = 0;
};

__host__ __device__ std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

__host__ __device__ std::int64_t rows_of(const AttentionSpec& spec) {
  return spec.batch * spec.query_length * spec.heads;
}

// Returns every row if there are few, otherwise the first, the last, and others in no particular
// order.
__device__ Row sampled_row(const AttentionSpec& spec, std::int64_t i) {
  const std::int64_t count = rows_of(spec);
  std::int64_t at = i;
  if (count > kMostRows && i > 0) {
    at = i == 1 ? count - 1
                : static_cast<std::int64_t>(mixed_bits(static_cast<std::uint64_t>(i)) %
                                            static_cast<std::uint64_t>(count));
  }
  return {.batch = at / spec.heads / spec.query_length,
          .query = at / spec.heads % spec.query_length,
          .head = at % spec.heads,
          .at = at};
}

// The i-th of up to 16 columns of a row. They differ from row to row.
__device__ std::int64_t sampled_column(const AttentionSpec& spec, std::int64_t row, int i) {
  const std::int64_t columns = smaller(spec.value_dim, kColumns);
  return (i * spec.value_dim / columns + row) % spec.value_dim;
}

// The first element of a key's or value's row.
__device__ std::int64_t cache_row(const AttentionCheck& check,
                                  const AttentionStrides& strides,
                                  const Row& row,
                                  std::int64_t key) {
  const std::int64_t head = row.head / (check.spec.heads / check.spec.kv_heads);
  std::int64_t block = row.batch;
  if (check.pages != nullptr) {
    block = check.pages[row.batch * check.layout.pages_per_sequence + key / check.spec.page_size];
    key %= check.spec.page_size;
  }
  return block * strides[0] + head * strides[1] + key * strides[2];
}

__device__ double warp_sum(double value) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    value += __shfl_xor_sync(0xFFFFFFFFU, value, half);
  return value;
}

// The number and the size of the roundings in sums whose partial sums have about this size. A
// tensor core adds 16 products at a time (32 for fp8) to a sum of 24 bits (about 14 for fp8), and
// truncates instead of rounding. The size is doubled for the alignment of summands within a step.
__device__ double accumulation_bound(DataType type, double terms, double size) {
  if (type == DataType::kFp8) return (terms / 32 + 8) * 0x1p-12 * size;
  return (terms / 16 + 32) * 0x1p-22 * size;
}

struct Score {
  double value = 0;
  double bound = 0;  // bound of the error
};

// All lanes of a warp call it and get the result.
__device__ Score score_of(const AttentionCheck& check, const Row& row, std::int64_t key) {
  const AttentionSpec& spec = check.spec;
  const AttentionStrides& strides = check.layout.query;
  const std::int64_t query =
      row.batch * strides[0] + row.head * strides[1] + row.query * strides[2];
  const std::int64_t keys = cache_row(check, check.layout.keys, row, key);
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = threadIdx.x % kLanes; i < spec.head_dim; i += kLanes) {
    const double product = load_number(spec.type, check.query, query + i) *
                           load_number(spec.kv_type, check.keys, keys + i) * check.scales.keys;
    sum += product;
    squares += product * product;
  }
  sum = warp_sum(sum);
  // Partial sums of random summands stay below six standard deviations of the whole sum.
  const double size = fabs(sum) + 6 * sqrt(warp_sum(squares));
  const double scale = rsqrt(static_cast<double>(spec.head_dim));
  const double bound = accumulation_bound(spec.type, static_cast<double>(spec.head_dim), size);
  // This allows for the scaling, the factor log2(e), and the error of the power itself.
  const double after = 4 * 0x1p-23 * (fabs(sum) * scale + 1);
  return {.value = sum * scale, .bound = bound * scale + after};
}

// The sums over the keys of exp(score), and of exp(score) times a column's values. The scores of
// the test data stay far below 700, where exp() overflows in float64.
struct Sums {
  double weights = 0;
  double largest_weight = 0;
  double score_bound = 0;
  double values = 0;
  double magnitudes = 0;
  double squares = 0;
};

__device__ void add(Sums& to, const Sums& more) {
  to.weights += more.weights;
  to.largest_weight = fmax(to.largest_weight, more.largest_weight);
  to.score_bound = fmax(to.score_bound, more.score_bound);
  to.values += more.values;
  to.magnitudes += more.magnitudes;
  to.squares += more.squares;
}

// Returns half the distance between neighbouring weights, relative to a weight.
__device__ double weight_rounding(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return 0x1p-24;
    case DataType::kFloat16:
      return 0x1p-11;
    case DataType::kFp8:
      return 0x1p-4;
    default:
      return 0x1p-8;
  }
}

// Relative errors of weights and scores change the quotient by as much. Those of many keys rarely
// have the same sign, so the bound is six standard deviations of their sum. The errors of the sums
// and the rounding of the result are added.
__device__ double bound_of(const AttentionSpec& spec, const Sums& sums, double keys) {
  const double result = sums.values / sums.weights;
  const double magnitude = sums.magnitudes / sums.weights;
  const double spread = fmin(magnitude, 6 * sqrt(sums.squares) / sums.weights);
  double bound = weight_rounding(spec.type) * spread + 2 * sums.score_bound * spread;
  bound += accumulation_bound(spec.type, keys, fabs(result) + spread);
  if (spec.type == DataType::kFp8) {
    // After the multiplication by 256, small weights are 2^-9 apart, in units of the largest
    // weight.
    bound += 6 * sqrt(keys) * 0x1p-18 * sums.largest_weight / sums.weights;
    // The same roundings are missing from the sum of the weights.
    bound += weight_rounding(spec.type) * fabs(result);
  }
  return bound + 0.5 * spacing_of(spec.type, fabs(result) + bound);
}

// A block works on one sampled row. Each lane below kColumns has a column.
__global__ void attention_rows(AttentionCheck check, Sample* samples) {
  __shared__ Sums parts[kWarps][kColumns];
  const AttentionSpec& spec = check.spec;
  const Row row = sampled_row(spec, blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int columns = static_cast<int>(smaller(spec.value_dim, kColumns));
  const std::int64_t column = lane < columns ? sampled_column(spec, row.at, lane) : 0;
  const VisibleKeys visible = visible_keys(spec, row.query);
  Sums mine;
  for (std::int64_t key = visible.begin + warp; key < visible.end; key += kWarps) {
    const Score score = score_of(check, row, key);
    const double weight = exp(score.value);
    const double value = load_number(spec.kv_type, check.values,
                                     cache_row(check, check.layout.values, row, key) + column) *
                         check.scales.values;
    const double product = weight * value;
    add(mine, {.weights = weight,
               .largest_weight = weight,
               .score_bound = score.bound,
               .values = product,
               .magnitudes = fabs(product),
               .squares = product * product});
  }
  if (lane < columns) parts[warp][lane] = mine;
  __syncthreads();
  if (warp != 0 || lane >= columns) return;
  Sums all = parts[0][lane];
  for (int other = 1; other < kWarps; ++other)
    add(all, parts[other][lane]);
  const std::int64_t at = row.at * spec.value_dim + column;
  samples[blockIdx.x * columns + lane] = {
      .value = load_number(spec.type, check.output, at),
      .expected = all.values / all.weights,
      .bound = bound_of(spec, all, static_cast<double>(visible.end - visible.begin)),
      .at = at};
}

}  // namespace

std::int64_t attention_samples(const AttentionSpec& spec) {
  return smaller(rows_of(spec), kMostRows) * smaller(spec.value_dim, kColumns);
}

cudaError_t compare_attention(const AttentionCheck& check, Sample* samples, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(smaller(rows_of(check.spec), kMostRows));
  attention_rows<<<blocks, kWarps * kLanes, 0, stream>>>(check, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
