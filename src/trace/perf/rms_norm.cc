// Root-mean-square normalization, alone and fused with an addition or a quantization.
#include <algorithm>
#include <array>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct RmsNorm {
  std::size_t input = 0;  // position
  Shape shape = {};
  double channels = 1;
  bool is_affine = true;
};

// Operations per row: squares and their sum (2 per channel), mean and inverse root (2). Operations
// per element: the factor and, where there is one, the weight.
double forward_flops(const RmsNorm& n) {
  const double elements = element_count(n.shape);
  return elements / n.channels * (2 * n.channels + 2) + elements * (n.is_affine ? 2 : 1);
}

std::vector<Parameter> parameters_of(const OperatorCall& call, const RmsNorm& n) {
  return {{"op_shape", to_argument(n.shape)},
          {"dtype_in_out", text_tuple({call.type(n.input), ""})},
          {"stride_input", call.stride(n.input)},
          {"stride_output", Argument{}},
          {"num_channels", Argument{static_cast<std::int64_t>(n.channels)}},
          {"has_bias", Argument{false}},
          {"is_affine", Argument{n.is_affine}},
          {"is_training", Argument{false}}};
}

// The forward pass reads the input and the weight and writes the output.
Estimate forward_estimate(const OperatorCall& call, const RmsNorm& n) {
  Estimate estimate{parameters_of(call, n),
                    compute_spec(ComputeUnit::kVector, call.type(n.input)),
                    {forward_flops(n)}};
  if (const std::optional<double> element = element_bytes(call.type(n.input)))
    estimate.work.bytes = *element * (2 * element_count(n.shape) + (n.is_affine ? n.channels : 0));
  return estimate;
}

core::Result<RmsNorm> read_norm(const OperatorCall& call, std::size_t input, double channels) {
  const Shape shape = ASSAY_TRY(call.shape(input));
  if (channels <= 0) return core::Error{std::string(call.name) + ": no channels"};
  return RmsNorm{input, shape, channels, true};
}

// The arguments are (input, normalized shape, weight, eps).
core::Result<Estimate> rms_norm(const OperatorCall& call) {
  RmsNorm n = ASSAY_TRY(read_norm(call, 0, element_count(ASSAY_TRY(call.integers(1)))));
  n.is_affine = call.is_tensor(2) || call.like_public_tool();
  return forward_estimate(call, n);
}

// The arguments are (grad, input, normalized shape, rstd, weight, mask).
core::Result<Estimate> rms_norm_backward(const OperatorCall& call) {
  RmsNorm n = ASSAY_TRY(read_norm(call, 1, element_count(ASSAY_TRY(call.integers(2)))));
  n.is_affine = call.is_tensor(4) || call.like_public_tool();
  const std::string mask = call.text(5);
  const bool input_gradient = mask.starts_with("[True");
  const bool weight_gradient = n.is_affine && mask.find(", True") != std::string::npos;
  Estimate estimate{
      parameters_of(call, n), compute_spec(ComputeUnit::kVector, call.type(n.input)), {}};
  estimate.parameters.push_back(
      {"output_mask",
       Argument{ArgumentList{Argument{input_gradient},
                             Argument{mask.find(", True") != std::string::npos}}},
       Brackets::kList});
  // Operations per element: normalized input (1), weighted gradient (1), dot product (2), input
  // gradient (4), weight gradient (1) and its sum over the rows (1).
  const double elements = element_count(n.shape);
  const bool many_rows = elements > n.channels;
  const double per_element = 1 + (n.is_affine ? 1 : 0) + (input_gradient ? 6 : 0) +
                             (weight_gradient ? (many_rows ? 2 : 1) : 0);
  estimate.work.flops = elements * per_element;
  if (const std::optional<double> element = element_bytes(call.type(n.input)))
    estimate.work.bytes = *element * (3 * elements + (n.is_affine ? 2 * n.channels : 0));
  return estimate;
}

// Argument positions. Source: aiter/ops/rmsnorm.py.
struct Layout {
  std::string_view name;
  std::size_t input;
  std::size_t weight;
  bool adds;  // whether a residual is added first; the sum is written too
};

constexpr std::array kLayouts = {
    Layout{"aiter::rms_norm", 0, 1, false},
    Layout{"aiter::rmsnorm", 1, 2, false},
    Layout{"aiter::rmsnorm2d_fwd_ck", 0, 1, false},
    // (out, input, residual in, residual out, weight, eps, …)
    Layout{"aiter::rmsnorm2d_fwd_with_add_ck", 1, 4, true},
    Layout{"aiter::add_rmsnorm", 1, 4, true},
};

core::Result<Estimate> fused_rms_norm(const OperatorCall& call) {
  const auto* const layout =
      std::find_if(kLayouts.begin(), kLayouts.end(),
                   [&](const Layout& candidate) { return candidate.name == call.name; });
  ASSAY_CHECK(layout != kLayouts.end(), "a registered norm has a layout");
  const Shape weight = ASSAY_TRY(call.shape(layout->weight, 1));
  const RmsNorm n = ASSAY_TRY(read_norm(call, layout->input, element_count(weight)));
  Estimate estimate = forward_estimate(call, n);
  if (!layout->adds) return estimate;
  const double elements = element_count(n.shape);
  estimate.work.flops += elements;
  if (const std::optional<double> element = element_bytes(call.type(n.input)))
    estimate.work.bytes = *estimate.work.bytes + *element * 2 * elements;
  return estimate;
}

// The arguments are (out, input, scale, weight, eps, …). The output takes one byte per element, and
// the scales are fp32. The quantization finds the largest value (1 operation) and divides (1).
core::Result<Estimate> quantizing_rms_norm(const OperatorCall& call) {
  const Shape weight = ASSAY_TRY(call.shape(3, 1));
  const Shape scales = ASSAY_TRY(call.shape(2));
  const RmsNorm n = ASSAY_TRY(read_norm(call, 1, element_count(weight)));
  Estimate estimate = forward_estimate(call, n);
  const double elements = element_count(n.shape);
  estimate.work.flops += 2 * elements;
  if (const std::optional<double> element = element_bytes(call.type(n.input)))
    estimate.work.bytes = *element * (elements + n.channels) + elements + 4 * element_count(scales);
  return estimate;
}

const OperatorFamily kRmsNorm{"rms norm", "aten::_fused_rms_norm", "NORM_fwd",
                              "NORM_bwd", "Normalization",         &rms_norm};
ASSAY_REGISTER(OperatorFamily, kRmsNorm);

const OperatorFamily kRmsNormBackward{
    "rms norm backward",
    "aten::_fused_rms_norm_backward aten::rms_norm_backward aten::native_rms_norm_backward"
    " aten::miopen_rms_norm_backward aten::cudnn_rms_norm_backward",
    "NORM_bwd",
    "NORM_bwd",
    "Normalization",
    &rms_norm_backward};
ASSAY_REGISTER(OperatorFamily, kRmsNormBackward);

const OperatorFamily kFusedRmsNorm{
    "fused rms norm",
    "aiter::rms_norm aiter::rmsnorm aiter::rmsnorm2d_fwd_ck aiter::rmsnorm2d_fwd_with_add_ck"
    " aiter::add_rmsnorm",
    "RMSNorm",
    "",
    "RMSNorm",
    &fused_rms_norm};
ASSAY_REGISTER(OperatorFamily, kFusedRmsNorm);

const OperatorFamily kQuantizingRmsNorm{"quantizing rms norm",
                                        "aiter::rmsnorm2d_fwd_with_dynamicquant_ck"
                                        " aiter::rmsnorm_quant",
                                        "RMSNorm",
                                        "",
                                        "RMSNorm",
                                        &quantizing_rms_norm};
ASSAY_REGISTER(OperatorFamily, kQuantizingRmsNorm);

const OperatorFamily kUnmodelledRmsNorm{
    "rms norm without model",
    "aiter::fused_add_rmsnorm_pad_ vllm::rocm_aiter_rmsnorm_fp8_group_quant"
    " vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant vllm::rocm_aiter_triton_add_rmsnorm_pad"
    " sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant aiter::_fuse_rmsnorm_fp4_quant",
    "RMSNorm"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledRmsNorm);

}  // namespace
}  // namespace assay::trace
