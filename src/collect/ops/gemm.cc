#include "collect/kernel_cost.h"
#include "collect/kernel_limits.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

GemmSpec spec_of(const Case& of) {
  return {.m = of.integer("m"),
          .n = of.integer("n"),
          .k = of.integer("k"),
          .type = of.type("gemm_dtype")};
}

// The public collector leaves out what its kernels index with 32 bits.
bool takes(const Case& of) {
  constexpr std::int64_t kLargestWidth = 65536;
  constexpr std::int64_t kIndexLimit = std::int64_t{1} << 31;
  const GemmSpec spec = spec_of(of);
  if (spec.n >= kLargestWidth && spec.k >= kLargestWidth) return false;
  if (spec.m * spec.n >= kIndexLimit || spec.m * spec.k >= kIndexLimit) return false;
  if (spec.type != DataType::kFp8Block) return true;
  return spec.n >= 128 && spec.k >= 128 && spec.n * spec.k < kIndexLimit;
}

std::vector<model::PerfValue> common_widths() {
  return integers({32,   64,   128,  256,  512,  768,  1024,  1536,  2048,  2560, 3072,
                   3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384, 65536});
}

Axis width_axis(const char* column, const char* help) {
  return {.column = column,
          .option = "",
          .help = help,
          .unit = "elements",
          .common = common_widths(),
          .coarse = integers({64, 256, 1024, 2048, 4096, 8192, 16384, 65536}),
          .fine = joined(common_widths(), integers({51200}))};
}

// Tiles and waves make steps in m: the fine grid has the points at both sides of each.
Axis tokens_axis() {
  auto fine = joined(powers(1, 1, 2), {});
  for (std::int64_t m = 2; m <= 17; ++m)
    fine.emplace_back(m);
  for (const std::int64_t edge : {32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512, 768}) {
    fine.emplace_back(edge);
    fine.emplace_back(edge + 1);
  }
  for (std::int64_t edge = 1024; edge <= 4352; edge += 256) {
    fine.emplace_back(edge);
    fine.emplace_back(edge + 1);
  }
  return {.column = "m",
          .option = "",
          .help = "rows of the input: tokens",
          .unit = "tokens",
          .common = integers({1,   2,   4,   8,   16,  32,  48,   64,   80,   96,  128,
                              160, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192}),
          .coarse = integers({1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 8192}),
          .fine = joined(std::move(fine), powers(8192, 32768)),
          .nesting = Nesting::kInner};
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
    .takes = takes,
    .skip = [](const Case& of, const DeviceFacts& facts) { return limit_of(spec_of(of), facts); },
    .cost = [](const Case& of) { return cost_of(spec_of(of)); },
    .parts =
        [](const Case& of) {
          return std::vector<Part>{{"gemm", "gemm_perf", key_of(of), spec_of(of)}};
        },
};
ASSAY_REGISTER(Operator, kGemm);

}  // namespace
}  // namespace assay::collect
