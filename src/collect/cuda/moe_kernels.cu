// The kernels of a mixture of experts besides its products, and their float64 references.
#include <cuda_fp8.h>

#include <algorithm>
#include <climits>

#include "collect/cuda/expert_rows.cuh"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/numbers.cuh"
#include "collect/cuda/quantize_kernels.h"
#include "collect/cuda/vectors.cuh"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 32;

constexpr int kMostChoices = 64;

template <class T>
struct alignas(8 * sizeof(T)) Eight {
  T values[8];
};

// Returns the next row of the expert that was chosen at `at` of [tokens, top_k], or -1 if the
// expert is not local.
__device__ int claim_row(const MoeArguments& arguments, std::int64_t at) {
  const int expert = arguments.chosen[at];
  const int row = expert < arguments.local_experts ? atomicAdd(&arguments.cursors[expert], 1) : -1;
  arguments.positions[at] = row;
  return row;
}

// A warp works on one token; a lane holds the logit of every 32nd expert.
template <int kPerLane>
__global__ void __launch_bounds__(kThreads) choose(MoeArguments arguments) {
  const int token = static_cast<int>(blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes);
  if (token >= arguments.tokens) return;
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const auto* logits = static_cast<const __nv_bfloat16*>(arguments.logits) +
                       static_cast<std::int64_t>(token) * arguments.experts;
  float values[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = i * kLanes + lane;
    values[i] = expert < arguments.experts ? as_float(logits[expert]) : -INFINITY;
  }
  float first = 0;
  float sum = 0;
  const std::int64_t row = static_cast<std::int64_t>(token) * arguments.top_k;
  for (int choice = 0; choice < arguments.top_k; ++choice) {
    float best = -INFINITY;
    int expert = INT_MAX;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (values[i] > best) {
        best = values[i];
        expert = i * kLanes + lane;
      }
    }
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xFFFFFFFFU, best, offset);
      const int other_expert = __shfl_xor_sync(0xFFFFFFFFU, expert, offset);
      if (other > best || (other == best && other_expert < expert)) {
        best = other;
        expert = other_expert;
      }
    }
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (i * kLanes + lane == expert) values[i] = -INFINITY;
    }
    if (choice == 0) first = best;
    const float share = expf(best - first);
    sum += share;
    if (lane != 0) continue;
    arguments.chosen[row + choice] = expert;
    arguments.shares[row + choice] = share;
    if (expert < arguments.local_experts) atomicAdd(&arguments.counts[expert], 1);
  }
  if (lane != 0) return;
  for (int choice = 0; choice < arguments.top_k; ++choice)
    arguments.shares[row + choice] /= sum;
}

// One block suffices, because there are few experts.
__global__ void __launch_bounds__(kMostExperts) find_offsets(MoeArguments arguments) {
  __shared__ int sums[kMostExperts];
  const int expert = static_cast<int>(threadIdx.x);
  const int count = expert < arguments.local_experts ? arguments.counts[expert] : 0;
  const int rows =
      (count + arguments.row_multiple - 1) / arguments.row_multiple * arguments.row_multiple;
  sums[expert] = rows;
  __syncthreads();
  for (int distance = 1; distance < kMostExperts; distance *= 2) {
    const int before = expert >= distance ? sums[expert - distance] : 0;
    __syncthreads();
    sums[expert] += before;
    __syncthreads();
  }
  if (expert >= arguments.local_experts) return;
  arguments.offsets[expert] = sums[expert] - rows;
  arguments.cursors[expert] = sums[expert] - rows;
  if (expert == arguments.local_experts - 1) arguments.offsets[expert + 1] = sums[expert];
}

// A block works on one token, which it writes once for each local expert.
template <class T, class To>
__global__ void __launch_bounds__(kThreads) gather(MoeArguments arguments) {
  __shared__ int rows[kMostChoices];
  const std::int64_t token = blockIdx.x;
  const auto choice = static_cast<int>(threadIdx.x);
  if (choice < arguments.top_k)
    rows[choice] = claim_row(arguments, token * arguments.top_k + choice);
  __syncthreads();
  const int vectors = arguments.hidden / 8;
  const auto* input = static_cast<const T*>(arguments.input);
  auto* gathered = static_cast<Eight<To>*>(arguments.gathered);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    const Vector<T> loaded = load_vector(input, token * vectors + i);
    Eight<To> converted;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      converted.values[j] = To(as_float(loaded.values[j]));
    for (int j = 0; j < arguments.top_k; ++j) {
      if (rows[j] >= 0) gathered[static_cast<std::int64_t>(rows[j]) * vectors + i] = converted;
    }
  }
}

template <class T, class To>
__global__ void __launch_bounds__(kThreads) gated_silu(MoeArguments arguments) {
  const std::int64_t vectors = arguments.intermediate / 8;
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= arguments.local_rows * vectors) return;
  const std::int64_t gate_at = i + i / vectors * vectors;
  const auto* gated = static_cast<const T*>(arguments.gated);
  const Vector<T> gate = load_vector(gated, gate_at);
  const Vector<T> up = load_vector(gated, gate_at + vectors);
  Eight<To> result;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    result.values[j] = To(silu(as_float(gate.values[j])) * as_float(up.values[j]));
  static_cast<Eight<To>*>(arguments.activated)[i] = result;
}

template <class T>
__global__ void __launch_bounds__(kThreads) weighted_sum(MoeArguments arguments) {
  const std::int64_t token = blockIdx.x;
  const int vectors = arguments.hidden / 8;
  const auto* rows = static_cast<const T*>(arguments.expert_output);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    float sums[8] = {};
    for (int choice = 0; choice < arguments.top_k; ++choice) {
      const std::int64_t at = token * arguments.top_k + choice;
      const int row = arguments.positions[at];
      if (row < 0) continue;
      const float share = arguments.shares[at];
      const Vector<T> loaded = load_vector(rows, static_cast<std::int64_t>(row) * vectors + i);
#pragma unroll
      for (int j = 0; j < 8; ++j)
        sums[j] += share * as_float(loaded.values[j]);
    }
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      result.values[j] = from_float<T>(sums[j]);
    store_vector(static_cast<T*>(arguments.output), token * vectors + i, result);
  }
}

void launch_choose(const MoeArguments& arguments, cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>((arguments.tokens + kThreads / kLanes - 1) / (kThreads / kLanes));
  if (arguments.experts <= kLanes) {
    choose<1><<<blocks, kThreads, 0, stream>>>(arguments);
  } else if (arguments.experts <= 4 * kLanes) {
    choose<4><<<blocks, kThreads, 0, stream>>>(arguments);
  } else if (arguments.experts <= 8 * kLanes) {
    choose<8><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    choose<16><<<blocks, kThreads, 0, stream>>>(arguments);
  }
}

bool is_fp8(const MoeArguments& arguments) {
  return arguments.product_type == DataType::kFp8;
}

constexpr int kBlockLanes = 16;  // half a warp works on a block of 128 elements, each lane on 8
constexpr int kGroups = kThreads / kBlockLanes;
constexpr int kBlock = kScaleBlock;

struct Quantised {
  Eight<__nv_fp8_e4m3> values;
  float scale;
};

// Quantises the 128 values that 16 lanes pass together.
__device__ Quantised quantised(const float (&values)[8]) {
  float largest = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    largest = fmaxf(largest, fabsf(values[j]));
  const unsigned lanes = 0xFFFFU << (threadIdx.x & kBlockLanes);  // the other half may be done
#pragma unroll
  for (int offset = kBlockLanes / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(lanes, largest, offset));
  Quantised result;
  result.scale = fmaxf(largest, kLeastMaximum) / kLargestFp8;
  const float factor = 1.0F / result.scale;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    result.values.values[j] = __nv_fp8_e4m3(values[j] * factor);
  return result;
}

// A thread block works on one token, which it writes once for each local expert.
__global__ void __launch_bounds__(kThreads) gather_blocks(MoeArguments arguments) {
  __shared__ int rows[kMostChoices];
  __shared__ int experts[kMostChoices];
  const std::int64_t token = blockIdx.x;
  const auto choice = static_cast<int>(threadIdx.x);
  if (choice < arguments.top_k) {
    const std::int64_t at = token * arguments.top_k + choice;
    rows[choice] = claim_row(arguments, at);
    experts[choice] = arguments.chosen[at];
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kBlockLanes;
  const std::int64_t vectors = arguments.hidden / 8;
  const auto* input = static_cast<const __nv_bfloat16*>(arguments.input);
  auto* gathered = static_cast<Eight<__nv_fp8_e4m3>*>(arguments.gathered);
  for (int block = static_cast<int>(threadIdx.x) / kBlockLanes; block < arguments.hidden / kBlock;
       block += kGroups) {
    const int vector = block * kBlockLanes + lane;
    const Vector<__nv_bfloat16> loaded = load_vector(input, token * vectors + vector);
    float values[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      values[j] = as_float(loaded.values[j]);
    const Quantised result = quantised(values);
    for (int j = 0; j < arguments.top_k; ++j) {
      if (rows[j] >= 0) gathered[rows[j] * vectors + vector] = result.values;
    }
    for (int j = lane; j < arguments.top_k; j += kBlockLanes) {
      if (rows[j] < 0) continue;
      const ExpertScales scales = expert_scales(arguments.offsets, experts[j], arguments.hidden);
      arguments.gathered_scales[scales.at(rows[j], block * kBlock)] = result.scale;
    }
  }
}

// Returns the last expert that begins at this row or before it; earlier ones that begin there are
// empty.
__device__ int expert_of(const MoeArguments& arguments, std::int64_t row) {
  int low = 0;
  int high = arguments.local_experts;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (arguments.offsets[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kThreads) activate_blocks(MoeArguments arguments) {
  const int blocks = arguments.intermediate / kBlock;
  const std::int64_t group = blockIdx.x * std::int64_t{kGroups} + threadIdx.x / kBlockLanes;
  const std::int64_t row = group / blocks;
  if (row >= arguments.local_rows) return;
  const int expert = expert_of(arguments, row);
  if (row - arguments.offsets[expert] >= arguments.counts[expert]) return;  // padding
  const auto block = static_cast<int>(group % blocks);
  const int vector = block * kBlockLanes + static_cast<int>(threadIdx.x) % kBlockLanes;
  const std::int64_t vectors = arguments.intermediate / 8;
  const auto* gated = static_cast<const __nv_bfloat16*>(arguments.gated);
  const Vector<__nv_bfloat16> gate = load_vector(gated, 2 * row * vectors + vector);
  const Vector<__nv_bfloat16> up = load_vector(gated, (2 * row + 1) * vectors + vector);
  float values[8];
#pragma unroll
  for (int j = 0; j < 8; ++j)
    values[j] = silu(as_float(gate.values[j])) * as_float(up.values[j]);
  const Quantised result = quantised(values);
  static_cast<Eight<__nv_fp8_e4m3>*>(arguments.activated)[row * vectors + vector] = result.values;
  if (threadIdx.x % kBlockLanes != 0) return;
  const ExpertScales scales = expert_scales(arguments.offsets, expert, arguments.intermediate);
  arguments.activated_scales[scales.at(row, block * kBlock)] = result.scale;
}

// The kernels for fp8_block, with a scale for each 128 elements of a row. Hidden and intermediate
// sizes are multiples of 128.
void gather_in_blocks(const MoeArguments& arguments, cudaStream_t stream) {
  gather_blocks<<<static_cast<unsigned>(arguments.tokens), kThreads, 0, stream>>>(arguments);
}

void activate_in_blocks(const MoeArguments& arguments, cudaStream_t stream) {
  const std::int64_t groups =
      std::int64_t{arguments.local_rows} * (arguments.intermediate / kBlock);
  const auto blocks = static_cast<unsigned>((groups + kGroups - 1) / kGroups);
  activate_blocks<<<blocks, kThreads, 0, stream>>>(arguments);
}

// An element and its reference.
struct Looked {
  double value = 0;
  double expected = 0;
  double slack = 0;  // error of float32 before the last rounding
  DataType type = DataType::kBfloat16;
};

__device__ double cut_to_fp8(double value) {
  const auto most = static_cast<double>(kLargestFp8);
  return fmin(fmax(value, -most), most);
}

__device__ double scale_for(double largest) {
  return fmax(largest, static_cast<double>(kLeastMaximum)) / static_cast<double>(kLargestFp8);
}

// Returns the scale by which fp8_block's kernel divided an element. Another stage checks the scale
// itself.
__device__ double scale_at(const MoeArguments& arguments,
                           const float* scales,
                           const ExpertRow& place,
                           std::int64_t k,
                           std::int64_t column) {
  if (arguments.product_type != DataType::kFp8Block) return 1;
  return scales[expert_scales(arguments.offsets, place.expert, k).at(place.row, column)];
}

__device__ double input_at(const MoeArguments& arguments,
                           std::int64_t choice,
                           std::int64_t column) {
  return load_number(arguments.type, arguments.input,
                     choice / arguments.top_k * arguments.hidden + column);
}

// Tokens of other GPUs have no row.
__device__ Looked look_at_gathered(const MoeArguments& arguments,
                                   std::int64_t choice,
                                   std::int64_t column) {
  const ExpertRow place{arguments.chosen[choice], arguments.positions[choice]};
  if (place.row < 0) return {};
  const double scale =
      scale_at(arguments, arguments.gathered_scales, place, arguments.hidden, column);
  const double exact = input_at(arguments, choice, column) / scale;
  const bool divided = arguments.product_type == DataType::kFp8Block;
  const double expected = divided ? cut_to_fp8(exact) : exact;
  return {.value = load_number(arguments.product_type, arguments.gathered,
                               place.row * arguments.hidden + column),
          .expected = expected,
          .slack = divided ? fabs(expected) * 0x1p-20 : 0,
          .type = arguments.product_type};
}

__device__ Looked look_at_gathered_scale(const MoeArguments& arguments,
                                         std::int64_t choice,
                                         std::int64_t block) {
  const ExpertRow place{arguments.chosen[choice], arguments.positions[choice]};
  if (place.row < 0) return {};
  double largest = 0;
  for (std::int64_t i = 0; i < kScaleBlock; ++i)
    largest = fmax(largest, fabs(input_at(arguments, choice, block * kScaleBlock + i)));
  return {.value = scale_at(arguments, arguments.gathered_scales, place, arguments.hidden,
                            block * kScaleBlock),
          .expected = scale_for(largest),
          .type = DataType::kFloat32};
}

__device__ double activation_at(const MoeArguments& arguments,
                                std::int64_t row,
                                std::int64_t column) {
  const std::int64_t gate_at = 2 * row * arguments.intermediate + column;
  const double gate = load_number(arguments.type, arguments.gated, gate_at);
  const double up = load_number(arguments.type, arguments.gated, gate_at + arguments.intermediate);
  return gate / (1 + exp(-gate)) * up;
}

__device__ bool is_cut(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8Block;
}

__device__ Looked look_at_activated(const MoeArguments& arguments,
                                    std::int64_t pair,
                                    std::int64_t column) {
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, pair);
  const double scale =
      scale_at(arguments, arguments.activated_scales, place, arguments.intermediate, column);
  const double exact = activation_at(arguments, place.row, column) / scale;
  const double expected = is_cut(arguments.product_type) ? cut_to_fp8(exact) : exact;
  return {.value = load_number(arguments.product_type, arguments.activated,
                               place.row * arguments.intermediate + column),
          .expected = expected,
          .slack = fabs(expected) * 0x1p-20,
          .type = arguments.product_type};
}

__device__ Looked look_at_activated_scale(const MoeArguments& arguments,
                                          std::int64_t pair,
                                          std::int64_t block) {
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, pair);
  double largest = 0;
  for (std::int64_t i = 0; i < kScaleBlock; ++i)
    largest = fmax(largest, fabs(activation_at(arguments, place.row, block * kScaleBlock + i)));
  const double expected = scale_for(largest);
  return {.value = scale_at(arguments, arguments.activated_scales, place, arguments.intermediate,
                            block * kScaleBlock),
          .expected = expected,
          .slack = expected * 0x1p-20,
          .type = DataType::kFloat32};
}

__device__ Looked look_at_output(const MoeArguments& arguments,
                                 std::int64_t token,
                                 std::int64_t column) {
  Looked looked{
      .value = load_number(arguments.type, arguments.output, token * arguments.hidden + column),
      .type = arguments.type};
  double sizes = 0;
  for (int choice = 0; choice < arguments.top_k; ++choice) {
    const std::int64_t at = token * arguments.top_k + choice;
    const std::int64_t row = arguments.positions[at];
    if (row < 0) continue;
    const double summand =
        static_cast<double>(arguments.shares[at]) *
        load_number(arguments.type, arguments.expert_output, row * arguments.hidden + column);
    looked.expected += summand;
    sizes += fabs(summand);
  }
  looked.slack = sizes * arguments.top_k * 0x1p-23;
  return looked;
}

__device__ Looked look_at(const MoeArguments& arguments,
                          MoeStage stage,
                          std::int64_t row,
                          std::int64_t column) {
  switch (stage) {
    case MoeStage::kGather:
      return look_at_gathered(arguments, row, column);
    case MoeStage::kGatherScales:
      return look_at_gathered_scale(arguments, row, column);
    case MoeStage::kActivate:
      return look_at_activated(arguments, row, column);
    case MoeStage::kActivateScales:
      return look_at_activated_scale(arguments, row, column);
    case MoeStage::kCombine:
      return look_at_output(arguments, row, column);
  }
  return {};
}

struct StageSize {
  std::int64_t elements = 0;
  std::int64_t columns = 1;
};

__global__ void stage_samples(
    MoeArguments arguments, MoeStage stage, StageSize size, std::int64_t count, Sample* samples) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  const std::int64_t at = sampled(i, size.elements);
  const Looked looked = look_at(arguments, stage, at / size.columns, at % size.columns);
  samples[i] = {.value = looked.value,
                .expected = looked.expected,
                .bound = 0.5 * spacing_of(looked.type, looked.expected) + looked.slack,
                .at = at};
}

std::int64_t stage_rows(const MoeArguments& arguments, MoeStage stage) {
  switch (stage) {
    case MoeStage::kGather:
    case MoeStage::kGatherScales:
      return std::int64_t{arguments.tokens} * arguments.top_k;
    case MoeStage::kActivate:
    case MoeStage::kActivateScales:
      return arguments.pairs;
    case MoeStage::kCombine:
      return arguments.tokens;
  }
  return 0;
}

}  // namespace

cudaError_t route_and_gather(const MoeArguments& arguments, cudaStream_t stream) {
  const cudaError_t cleared = cudaMemsetAsync(
      arguments.counts, 0, static_cast<std::size_t>(arguments.local_experts) * sizeof(std::int32_t),
      stream);
  if (cleared != cudaSuccess) return cleared;
  launch_choose(arguments, stream);
  find_offsets<<<1, kMostExperts, 0, stream>>>(arguments);
  const auto blocks = static_cast<unsigned>(arguments.tokens);
  if (arguments.product_type == DataType::kFp8Block) {
    gather_in_blocks(arguments, stream);
  } else if (is_fp8(arguments)) {
    gather<__nv_bfloat16, __nv_fp8_e4m3><<<blocks, kThreads, 0, stream>>>(arguments);
  } else if (arguments.type == DataType::kFloat16) {
    gather<__half, __half><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    gather<__nv_bfloat16, __nv_bfloat16><<<blocks, kThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

cudaError_t activate(const MoeArguments& arguments, cudaStream_t stream) {
  if (arguments.product_type == DataType::kFp8Block) {
    activate_in_blocks(arguments, stream);
    return cudaGetLastError();
  }
  const std::int64_t vectors = std::int64_t{arguments.local_rows} * (arguments.intermediate / 8);
  const auto blocks = static_cast<unsigned>((vectors + kThreads - 1) / kThreads);
  if (is_fp8(arguments)) {
    gated_silu<__nv_bfloat16, __nv_fp8_e4m3><<<blocks, kThreads, 0, stream>>>(arguments);
  } else if (arguments.type == DataType::kFloat16) {
    gated_silu<__half, __half><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    gated_silu<__nv_bfloat16, __nv_bfloat16><<<blocks, kThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

cudaError_t combine(const MoeArguments& arguments, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(arguments.tokens);
  if (arguments.type == DataType::kFloat16) {
    weighted_sum<__half><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    weighted_sum<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

std::int64_t stage_columns(const MoeArguments& arguments, MoeStage stage) {
  switch (stage) {
    case MoeStage::kGatherScales:
      return scale_blocks(arguments.hidden);
    case MoeStage::kActivate:
      return arguments.intermediate;
    case MoeStage::kActivateScales:
      return scale_blocks(arguments.intermediate);
    default:
      return arguments.hidden;
  }
}

std::int64_t stage_elements(const MoeArguments& arguments, MoeStage stage) {
  return stage_rows(arguments, stage) * stage_columns(arguments, stage);
}

cudaError_t compare_stage(const MoeArguments& arguments,
                          MoeStage stage,
                          Sample* samples,
                          cudaStream_t stream) {
  const StageSize size{stage_elements(arguments, stage), stage_columns(arguments, stage)};
  const std::int64_t count = samples_of(size.elements);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  stage_samples<<<blocks, kThreads, 0, stream>>>(arguments, stage, size, count, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
