// What the kernels of a mixture besides its products should have written, in float64.
#include "collect/cuda/expert_rows.cuh"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/numbers.cuh"
#include "collect/cuda/quantize_kernels.h"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;

// An element and what it should be.
struct Looked {
  double value = 0;
  double expected = 0;
  double slack = 0;  // of float32 before the last rounding
  DataType type = DataType::kBfloat16;
};

__device__ double cut_to_fp8(double value) {
  const auto most = static_cast<double>(kLargestFp8);
  return fmin(fmax(value, -most), most);
}

__device__ double scale_for(double largest) {
  return fmax(largest, static_cast<double>(kLeastMaximum)) / static_cast<double>(kLargestFp8);
}

// What fp8_block's kernel divided an element by; its own check is another stage.
__device__ double scale_at(const MoeArguments& with,
                           const float* scales,
                           const ExpertRow& of,
                           std::int64_t k,
                           std::int64_t column) {
  if (with.product_type != DataType::kFp8Block) return 1;
  return scales[expert_scales(with.offsets, of.expert, k).at(of.row, column)];
}

__device__ double input_at(const MoeArguments& with, std::int64_t choice, std::int64_t column) {
  return load_number(with.type, with.input, choice / with.top_k * with.hidden + column);
}

// Others' tokens have no row.
__device__ Looked look_at_gathered(const MoeArguments& with,
                                   std::int64_t choice,
                                   std::int64_t column) {
  const ExpertRow of{with.chosen[choice], with.positions[choice]};
  if (of.row < 0) return {};
  const double scale = scale_at(with, with.gathered_scales, of, with.hidden, column);
  const double exact = input_at(with, choice, column) / scale;
  const bool divided = with.product_type == DataType::kFp8Block;
  const double expected = divided ? cut_to_fp8(exact) : exact;
  return {.value = load_number(with.product_type, with.gathered, of.row * with.hidden + column),
          .expected = expected,
          .slack = divided ? fabs(expected) * 0x1p-20 : 0,
          .type = with.product_type};
}

__device__ Looked look_at_gathered_scale(const MoeArguments& with,
                                         std::int64_t choice,
                                         std::int64_t block) {
  const ExpertRow of{with.chosen[choice], with.positions[choice]};
  if (of.row < 0) return {};
  double largest = 0;
  for (std::int64_t i = 0; i < kScaleBlock; ++i)
    largest = fmax(largest, fabs(input_at(with, choice, block * kScaleBlock + i)));
  return {.value = scale_at(with, with.gathered_scales, of, with.hidden, block * kScaleBlock),
          .expected = scale_for(largest),
          .type = DataType::kFloat32};
}

__device__ double activation_at(const MoeArguments& with, std::int64_t row, std::int64_t column) {
  const std::int64_t gate_at = 2 * row * with.intermediate + column;
  const double gate = load_number(with.type, with.gated, gate_at);
  const double up = load_number(with.type, with.gated, gate_at + with.intermediate);
  return gate / (1 + exp(-gate)) * up;
}

__device__ bool is_cut(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8Block;
}

__device__ Looked look_at_activated(const MoeArguments& with,
                                    std::int64_t pair,
                                    std::int64_t column) {
  const ExpertRow of = nth_row(with.offsets, with.counts, with.local_experts, pair);
  const double scale = scale_at(with, with.activated_scales, of, with.intermediate, column);
  const double exact = activation_at(with, of.row, column) / scale;
  const double expected = is_cut(with.product_type) ? cut_to_fp8(exact) : exact;
  return {
      .value = load_number(with.product_type, with.activated, of.row * with.intermediate + column),
      .expected = expected,
      .slack = fabs(expected) * 0x1p-20,
      .type = with.product_type};
}

__device__ Looked look_at_activated_scale(const MoeArguments& with,
                                          std::int64_t pair,
                                          std::int64_t block) {
  const ExpertRow of = nth_row(with.offsets, with.counts, with.local_experts, pair);
  double largest = 0;
  for (std::int64_t i = 0; i < kScaleBlock; ++i)
    largest = fmax(largest, fabs(activation_at(with, of.row, block * kScaleBlock + i)));
  const double expected = scale_for(largest);
  return {
      .value = scale_at(with, with.activated_scales, of, with.intermediate, block * kScaleBlock),
      .expected = expected,
      .slack = expected * 0x1p-20,
      .type = DataType::kFloat32};
}

__device__ Looked look_at_output(const MoeArguments& with,
                                 std::int64_t token,
                                 std::int64_t column) {
  Looked looked{.value = load_number(with.type, with.output, token * with.hidden + column),
                .type = with.type};
  double sizes = 0;
  for (int choice = 0; choice < with.top_k; ++choice) {
    const std::int64_t at = token * with.top_k + choice;
    const std::int64_t row = with.positions[at];
    if (row < 0) continue;
    const double summand = static_cast<double>(with.shares[at]) *
                           load_number(with.type, with.expert_output, row * with.hidden + column);
    looked.expected += summand;
    sizes += fabs(summand);
  }
  looked.slack = sizes * with.top_k * 0x1p-23;
  return looked;
}

__device__ Looked look_at(const MoeArguments& with,
                          MoeStage stage,
                          std::int64_t row,
                          std::int64_t column) {
  switch (stage) {
    case MoeStage::kGather:
      return look_at_gathered(with, row, column);
    case MoeStage::kGatherScales:
      return look_at_gathered_scale(with, row, column);
    case MoeStage::kActivate:
      return look_at_activated(with, row, column);
    case MoeStage::kActivateScales:
      return look_at_activated_scale(with, row, column);
    case MoeStage::kCombine:
      return look_at_output(with, row, column);
  }
  return {};
}

struct StageSize {
  std::int64_t elements = 0;
  std::int64_t columns = 1;
};

__global__ void stage_samples(
    MoeArguments with, MoeStage stage, StageSize size, std::int64_t count, Sample* samples) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  const std::int64_t at = sampled(i, size.elements);
  const Looked looked = look_at(with, stage, at / size.columns, at % size.columns);
  samples[i] = {.value = looked.value,
                .expected = looked.expected,
                .bound = 0.5 * spacing_of(looked.type, looked.expected) + looked.slack,
                .at = at};
}

std::int64_t stage_rows(const MoeArguments& with, MoeStage stage) {
  switch (stage) {
    case MoeStage::kGather:
    case MoeStage::kGatherScales:
      return std::int64_t{with.tokens} * with.top_k;
    case MoeStage::kActivate:
    case MoeStage::kActivateScales:
      return with.pairs;
    case MoeStage::kCombine:
      return with.tokens;
  }
  return 0;
}

}  // namespace

std::int64_t stage_columns(const MoeArguments& with, MoeStage stage) {
  switch (stage) {
    case MoeStage::kGatherScales:
      return scale_blocks(with.hidden);
    case MoeStage::kActivate:
      return with.intermediate;
    case MoeStage::kActivateScales:
      return scale_blocks(with.intermediate);
    default:
      return with.hidden;
  }
}

std::int64_t stage_elements(const MoeArguments& with, MoeStage stage) {
  return stage_rows(with, stage) * stage_columns(with, stage);
}

cudaError_t compare_stage(const MoeArguments& with,
                          MoeStage stage,
                          Sample* samples,
                          cudaStream_t stream) {
  const StageSize size{stage_elements(with, stage), stage_columns(with, stage)};
  const std::int64_t count = samples_of(size.elements);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  stage_samples<<<blocks, kThreads, 0, stream>>>(with, stage, size, count, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
