#include <algorithm>

#include "collect/cuda/expert_rows.cuh"
#include "collect/cuda/moe_packed.h"
#include "collect/cuda/moe_reference.h"
#include "collect/cuda/numbers.cuh"
#include "collect/cuda/quantize_kernels.h"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 32;

// A number that a kernel computes in float32, and how far its result may be off.
struct Bounded {
  double value = 0;
  double bound = 0;
};

struct ActivationCheck {
  MoeArguments arguments;
  ProductArguments product;
  DataType weight_type;
};

// As in product_reference.cu: a tensor core adds 16 products at a time (32 for fp8) to a sum of 24
// bits (about 14 for fp8), and truncates.
__device__ double roundings_of(DataType type, double k) {
  if (type == DataType::kFp8) return (k / 32 + 8) * 0x1p-12;
  if (type == DataType::kFp8Block) return 8 * 0x1p-12 + k / 128 * 0x1p-23;
  return (k / 16 + 32) * 0x1p-22;
}

__device__ double e2m1(int bits) {
  const int exponent = bits >> 1 & 3;
  const double half = bits & 1;
  const double size = exponent == 0 ? half / 2 : ldexp(1 + half / 2, exponent - 1);
  return (bits & 8) != 0 ? -size : size;
}

__device__ double packed_number(const ProductArguments& product,
                                const PackedWeight& weight,
                                std::int64_t expert,
                                std::int64_t row,
                                std::int64_t element) {
  const PackedPlace place = packed_place(weight, row / weight.rows, row % weight.rows, element);
  const std::int64_t block = expert * weight.blocks() + place.block;
  const auto* bytes = static_cast<const char*>(product.weight);
  const auto* scales = reinterpret_cast<const std::uint8_t*>(product.weight_scales);
  const std::uint32_t word =
      *reinterpret_cast<const std::uint32_t*>(bytes + block * kPackedTileBytes + place.byte);
  const int exponent = scales[block * kPackedScaleBytes + place.scale_byte];
  return ldexp(e2m1(place.bits.of(word)), exponent - kScaleExponentBias);
}

// A sum over k: a row of the input, and the places of the weights' row.
struct Dot {
  DataType type;  // of the input
  DataType weight_type;
  ProductArguments product;
  PackedWeight weight;  // also of weights that are not packed
  ExpertScales input_scales;
  const std::int32_t* sources;  // of rows that were not gathered, or nullptr
};

__device__ double summand(const Dot& dot, const ExpertRow& place, int column, std::int64_t i) {
  const std::int64_t k = dot.weight.k;
  const std::int64_t row = input_row(dot.sources, place.row);
  const double input = load_number(dot.type, dot.product.input, row * k + i);
  if (dot.weight_type == DataType::kMxfp4)
    return input * packed_number(dot.product, dot.weight, place.expert, column, i);
  const std::int64_t rows = dot.weight.rows * dot.weight.parts;
  const double weight =
      load_number(dot.type, dot.product.weight, (place.expert * rows + column) * k + i);
  if (dot.type != DataType::kFp8Block) return input * weight;
  const WeightScales scales{rows, k};
  const std::int64_t input_scale =
      dot.sources != nullptr ? TokenScales{k}.at(row, i) : dot.input_scales.at(row, i);
  return input * weight * static_cast<double>(dot.product.input_scales[input_scale]) *
         static_cast<double>(
             dot.product.weight_scales[place.expert * scales.count() + scales.at(column, i)]);
}

// A warp computes one sum.
__device__ Bounded sum_of(const Dot& dot, const ExpertRow& place, int column) {
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = threadIdx.x % kLanes; i < dot.weight.k; i += kLanes) {
    const double product = summand(dot, place, column, i);
    sum += product;
    squares += product * product;
  }
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, offset);
    squares += __shfl_xor_sync(0xFFFFFFFFU, squares, offset);
  }
  // Partial sums of random summands stay below six standard deviations of the whole sum.
  const double size = fabs(sum) + 6 * sqrt(squares);
  return {sum, roundings_of(dot.type, static_cast<double>(dot.weight.k)) * size};
}

// An element of the first product, before its rounding.
__device__ Bounded element_of(const ActivationCheck& check, const ExpertRow& place, int column) {
  const MoeArguments& arguments = check.arguments;
  const Dot dot{.type = arguments.product_type,
                .weight_type = check.weight_type,
                .product = check.product,
                .weight = {arguments.intermediate, 2, arguments.hidden},
                .input_scales = expert_scales(arguments.offsets, place.expert, arguments.hidden),
                .sources = arguments.sources};
  return sum_of(dot, place, column);
}

// The slope of SiLU is at most 1.1. The last summand is the error of a fast exponential and a fast
// division.
__device__ Bounded activation_of(const ActivationCheck& check, const ExpertRow& place, int column) {
  const Bounded gate = element_of(check, place, column);
  const Bounded up = element_of(check, place, column + check.arguments.intermediate);
  const double opened = gate.value / (1 + exp(-gate.value));
  const double value = opened * up.value;
  return {value, 1.1 * gate.bound * (fabs(up.value) + up.bound) + fabs(opened) * up.bound +
                     fabs(value) * 0x1p-18};
}

__device__ float* scale_of_activated(const MoeArguments& arguments,
                                     const ExpertRow& place,
                                     int column) {
  const ExpertScales scales =
      expert_scales(arguments.offsets, place.expert, arguments.intermediate);
  return &arguments.activated_scales[scales.at(place.row, column)];
}

__device__ double cut(DataType type, double value) {
  if (type != DataType::kFp8 && type != DataType::kFp8Block) return value;
  const auto most = static_cast<double>(kLargestFp8);
  return fmin(fmax(value, -most), most);
}

// A warp computes one sample.
__global__ void activation_samples(ActivationCheck check, std::int64_t count, Sample* samples) {
  const std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) / kLanes;
  if (i >= count) return;
  const MoeArguments& arguments = check.arguments;
  const DataType type = arguments.product_type;
  const std::int64_t columns = arguments.intermediate;
  const std::int64_t at = sampled(i, arguments.pairs * columns);
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, at / columns);
  const auto column = static_cast<int>(at % columns);
  const Bounded exact = activation_of(check, place, column);
  const double scale =
      type == DataType::kFp8Block ? double{*scale_of_activated(arguments, place, column)} : 1;
  const double expected = cut(type, exact.value / scale);
  const double slack = exact.bound / scale;
  if (threadIdx.x % kLanes != 0) return;
  samples[i] = {
      .value = load_number(type, arguments.activated, place.row * columns + column),
      .expected = expected,
      .bound = 0.5 * spacing_of(type, fabs(expected) + slack) + slack + fabs(expected) * 0x1p-20,
      .at = at};
}

// A block computes one sample, a warp 16 of its elements.
__global__ void activation_scale_samples(ActivationCheck check, Sample* samples) {
  __shared__ Bounded found[kThreads / kLanes];
  const MoeArguments& arguments = check.arguments;
  const std::int64_t blocks = scale_blocks(arguments.intermediate);
  const std::int64_t at = sampled(blockIdx.x, arguments.pairs * blocks);
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, at / blocks);
  const int first = static_cast<int>(at % blocks * kScaleBlock);
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  Bounded largest;
  for (int i = warp; i < kScaleBlock; i += kThreads / kLanes) {
    const Bounded one = activation_of(check, place, first + i);
    largest = {fmax(largest.value, fabs(one.value)), fmax(largest.bound, one.bound)};
  }
  found[warp] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const Bounded& other : found)
    largest = {fmax(largest.value, other.value), fmax(largest.bound, other.bound)};
  const auto divisor = static_cast<double>(kLargestFp8);
  const double expected = fmax(largest.value, double{kLeastMaximum}) / divisor;
  samples[blockIdx.x] = {.value = *scale_of_activated(arguments, place, first),
                         .expected = expected,
                         .bound = largest.bound / divisor + expected * 0x1p-20,
                         .at = at};
}

// A warp computes one sample.
__global__ void packed_down_samples(ActivationCheck check, std::int64_t count, Sample* samples) {
  const std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) / kLanes;
  if (i >= count) return;
  const MoeArguments& arguments = check.arguments;
  const std::int64_t columns = arguments.hidden;
  const std::int64_t at = sampled(i, arguments.pairs * columns);
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, at / columns);
  const Dot dot{.type = arguments.product_type,
                .weight_type = check.weight_type,
                .product = check.product,
                .weight = {arguments.hidden, 1, arguments.intermediate},
                .input_scales = {},
                .sources = nullptr};
  const Bounded exact = sum_of(dot, place, static_cast<int>(at % columns));
  if (threadIdx.x % kLanes != 0) return;
  const double size = fabs(exact.value) + exact.bound;
  samples[i] = {.value = load_number(DataType::kBfloat16, check.product.output,
                                     place.row * columns + at % columns),
                .expected = exact.value,
                .bound = 0.5 * spacing_of(DataType::kBfloat16, size) + exact.bound,
                .at = at};
}

// A warp computes one sample. A row is rounded to bfloat16 before it is added, and so is each sum.
__global__ void added_row_samples(ActivationCheck check, std::int64_t count, Sample* samples) {
  const std::int64_t i = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) / kLanes;
  if (i >= count) return;
  const MoeArguments& arguments = check.arguments;
  const std::int64_t columns = arguments.hidden;
  const std::int64_t at = sampled(i, arguments.tokens * columns);
  double expected = 0;
  double sizes = 0;
  double slack = 0;
  int rows = 0;
  for (int choice = 0; choice < arguments.top_k; ++choice) {
    const std::int64_t of_token = at / columns * arguments.top_k + choice;
    const ExpertRow place{arguments.chosen[of_token], arguments.positions[of_token]};
    if (place.row < 0) continue;
    const Dot dot{
        .type = arguments.product_type,
        .weight_type = check.weight_type,
        .product = check.product,
        .weight = {arguments.hidden, 1, arguments.intermediate},
        .input_scales = expert_scales(arguments.offsets, place.expert, arguments.intermediate),
        .sources = nullptr};
    const Bounded exact = sum_of(dot, place, static_cast<int>(at % columns));
    const auto share = static_cast<double>(arguments.shares[of_token]);
    expected += share * exact.value;
    sizes += share * fabs(exact.value);
    slack += share * exact.bound;
    ++rows;
  }
  if (threadIdx.x % kLanes != 0) return;
  samples[i] = {.value = load_number(arguments.type, arguments.output, at),
                .expected = expected,
                .bound = rows * 0x1p-8 * (1 + rows * 0x1p-8) * (sizes + slack) + slack,
                .at = at};
}

unsigned blocks_of_warps(std::int64_t warps) {
  return static_cast<unsigned>((warps * kLanes + kThreads - 1) / kThreads);
}

}  // namespace

std::int64_t activation_samples_of(const MoeArguments& arguments, MoeStage stage) {
  const std::int64_t count = samples_of(stage_elements(arguments, stage));
  return stage == MoeStage::kActivate ? count : std::min(count, kMostScaleSamples);
}

cudaError_t compare_activation(const MoeArguments& arguments,
                               const ProductArguments& product,
                               DataType weight_type,
                               MoeStage stage,
                               Sample* samples,
                               cudaStream_t stream) {
  const ActivationCheck check{arguments, product, weight_type};
  const std::int64_t count = activation_samples_of(arguments, stage);
  if (stage == MoeStage::kActivate) {
    activation_samples<<<blocks_of_warps(count), kThreads, 0, stream>>>(check, count, samples);
  } else {
    activation_scale_samples<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(check, samples);
  }
  return cudaGetLastError();
}

cudaError_t compare_packed_down(const MoeArguments& arguments,
                                const ProductArguments& product,
                                Sample* samples,
                                cudaStream_t stream) {
  const std::int64_t count = samples_of(std::int64_t{arguments.pairs} * arguments.hidden);
  packed_down_samples<<<blocks_of_warps(count), kThreads, 0, stream>>>(
      {arguments, product, DataType::kMxfp4}, count, samples);
  return cudaGetLastError();
}

cudaError_t compare_added_rows(const MoeArguments& arguments,
                               const ProductArguments& product,
                               DataType weight_type,
                               Sample* samples,
                               cudaStream_t stream) {
  const std::int64_t count = samples_of(stage_elements(arguments, MoeStage::kCombine));
  added_row_samples<<<blocks_of_warps(count), kThreads, 0, stream>>>(
      {arguments, product, weight_type}, count, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
