#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

QuantizeSpec compute_scale_spec(const Case& point, QuantizeSpec::Scale scale) {
  return {.scale = scale, .m = point.integer("m"), .k = point.integer("k")};
}

// The time of finding the scale is that of quantising with a computed scale less that of quantising
// with a given one.
std::vector<Part> compute_scale_parts(const Case& point) {
  const QuantizeSpec given = compute_scale_spec(point, QuantizeSpec::Scale::kGiven);
  const QuantizeSpec computed = compute_scale_spec(point, QuantizeSpec::Scale::kComputed);
  return {{.op_name = "compute_scale",
           .table = "computescale_perf",
           .key = key_of(point),
           .kernel = computed,
           .less = given},
          {.op_name = "scale_matrix",
           .table = "scale_matrix_perf",
           .key = key_of(point),
           .kernel = given}};
}

std::vector<Axis> compute_scale_axes() {
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

// The cost is that of the larger part, which scales by a given scale.
const Operator kComputeScale{
    .name = "compute_scale",
    .summary = "quantisation to fp8: finding the scale, and scaling",
    .table = "computescale_perf",
    .axes = compute_scale_axes(),
    .skip =
        [](const Case& point, const DeviceFacts& facts) {
          return limit_of(compute_scale_spec(point, QuantizeSpec::Scale::kComputed), facts);
        },
    .cost =
        [](const Case& point) {
          return cost_of(compute_scale_spec(point, QuantizeSpec::Scale::kGiven));
        },
    .parts = compute_scale_parts,
};
ASSAY_REGISTER(Operator, kComputeScale);

}  // namespace
}  // namespace assay::collect
