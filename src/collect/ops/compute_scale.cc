#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/gemm_sizes.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

QuantizeSpec spec_of(const Case& of, QuantizeSpec::Scale scale) {
  return {.scale = scale, .m = of.integer("m"), .k = of.integer("k")};
}

// Finding the scale is what quantising with a found scale takes longer than with a given one.
std::vector<Part> parts_of(const Case& of) {
  const QuantizeSpec given = spec_of(of, QuantizeSpec::Scale::kGiven);
  const QuantizeSpec computed = spec_of(of, QuantizeSpec::Scale::kComputed);
  return {{.op_name = "compute_scale",
           .table = "computescale_perf",
           .key = key_of(of),
           .kernel = computed,
           .less = given},
          {.op_name = "scale_matrix",
           .table = "scale_matrix_perf",
           .key = key_of(of),
           .kernel = given}};
}

std::vector<Axis> axes() {
  return {{.column = "m",
           .option = "",
           .help = "rows of the input: tokens",
           .unit = "tokens",
           .common = gemm_tokens(Grid::kCommon),
           .coarse = gemm_tokens(Grid::kCoarse),
           .fine = gemm_tokens(Grid::kFine)},
          {.column = "k",
           .option = "",
           .help = "elements of a row",
           .unit = "elements",
           .common = gemm_widths(Grid::kCommon),
           .coarse = gemm_widths(Grid::kCoarse),
           .fine = gemm_widths(Grid::kFine)},
          {.column = "quant_dtype",
           .option = "dtype",
           .help = "type to quantise to, from bfloat16",
           .unit = "",
           .common = texts({"fp8"}),
           .accepts = [](std::string_view type) { return type == "fp8"; }}};
}

// The larger part's cost: that of a given scale.
const Operator kComputeScale{
    .name = "compute_scale",
    .summary = "quantisation to fp8: finding the scale, and scaling",
    .table = "computescale_perf",
    .axes = axes(),
    .skip =
        [](const Case& of, const DeviceFacts& facts) {
          return limit_of(spec_of(of, QuantizeSpec::Scale::kComputed), facts);
        },
    .cost = [](const Case& of) { return cost_of(spec_of(of, QuantizeSpec::Scale::kGiven)); },
    .parts = parts_of,
};
ASSAY_REGISTER(Operator, kComputeScale);

}  // namespace
}  // namespace assay::collect
