#include "collect/kernels/block_scales.h"
#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

// Blocks at the edge of a weight are whole ones: kernels here take no parts of them, and those of
// engines compute them all the same (the 2112 columns to DeepSeek's latents).
GemmSpec in_whole_blocks(GemmSpec spec) {
  const auto filled_up = [](std::int64_t size) { return scale_blocks(size) * kScaleBlock; };
  spec.n = filled_up(spec.n);
  spec.k = filled_up(spec.k);
  return spec;
}

GemmSpec asked_spec(const Case& point) {
  return {.m = point.integer("m"),
          .n = point.integer("n"),
          .k = point.integer("k"),
          .type = point.type("gemm_dtype")};
}

GemmSpec gemm_spec(const Case& point) {
  const GemmSpec spec = asked_spec(point);
  return spec.type == DataType::kFp8Block ? in_whole_blocks(spec) : spec;
}

// The public collector leaves out shapes whose indices exceed 32 bits.
bool takes_gemm(const Case& point) {
  constexpr std::int64_t kLargestWidth = 65536;
  constexpr std::int64_t kIndexLimit = std::int64_t{1} << 31;
  const GemmSpec spec = asked_spec(point);
  if (spec.n >= kLargestWidth && spec.k >= kLargestWidth) return false;
  if (spec.m * spec.n >= kIndexLimit || spec.m * spec.k >= kIndexLimit) return false;
  if (spec.type != DataType::kFp8Block) return true;
  return spec.n >= 128 && spec.k >= 128 && spec.n * spec.k < kIndexLimit;
}

Axis tokens_axis() {
  return {.column = "m",
          .option = "",
          .help = "rows of the input: tokens",
          .unit = "tokens",
          .common = gemm_tokens(Grid::kCommon),
          .coarse = gemm_tokens(Grid::kCoarse),
          .fine = gemm_tokens(Grid::kFine),
          .models = gemm_tokens(Grid::kModels),
          .nesting = Nesting::kInner};
}

Axis width_axis(const char* column, const char* help) {
  return {.column = column,
          .option = "",
          .help = help,
          .unit = "elements",
          .common = gemm_widths(Grid::kCommon),
          .coarse = gemm_widths(Grid::kCoarse),
          .fine = gemm_widths(Grid::kFine)};
}

const Operator kGemm{
    .name = "gemm",
    .summary = "matrix product of tokens and a weight",
    .table = "gemm_perf",
    .axes = {{.column = "gemm_dtype",
              .option = "dtype",
              .help = "type of input and weight",
              .unit = "",
              .common = texts({"bfloat16", "fp8", "fp8_block", "int8"})},
             tokens_axis(),
             width_axis("n", "outputs of a token"),
             width_axis("k", "inputs of a token, summed over")},
    .takes = takes_gemm,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(gemm_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(gemm_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{{"gemm", "gemm_perf", key_of(point), gemm_spec(point)}};
        },
};
ASSAY_REGISTER(Operator, kGemm);

}  // namespace
}  // namespace assay::collect
