// Batch, layer, group and instance normalization, forward and backward, and the layer normalization
// of diffusion transformers, which is fused with a scale and a shift.
#include <algorithm>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct Normalization {
  std::size_t input = 0;  // position
  Shape shape = {};
  double channels = 1;
  bool has_bias = true;
  bool is_affine = true;
  bool is_training = true;  // whether the statistics are those of the batch
  // Which gradients are wanted: input, weight, bias. Forward operators have no mask.
  std::optional<ArgumentList> output_mask = std::nullopt;
};

bool wants_input_gradient(const Normalization& n) {
  if (!n.output_mask || n.output_mask->empty()) return false;
  const auto* wanted = std::get_if<bool>(&n.output_mask->front().value);
  return wanted != nullptr && *wanted;
}

// Two operations per element scale and shift, three more gather mean and variance. Six per channel
// give the inverse deviation and the combined factors.
double forward_flops(const Normalization& n) {
  return element_count(n.shape) * (n.is_training ? 5 : 2) + 6 * n.channels;
}

// Mean and variance are read and, in training, also written.
double forward_bytes(const Normalization& n, double element) {
  const int parameters = 2 + (n.is_affine ? (n.has_bias ? 2 : 1) : 0) + (n.is_training ? 2 : 0);
  return element * (2 * element_count(n.shape) + parameters * n.channels);
}

// Operations per element: four for the two sums of the parameter gradients; for the gradient of the
// input, five through batch statistics or two through fixed ones. The public tool adds those two
// when no gradient of the input is wanted, instead of when the statistics are fixed.
double backward_flops(const Normalization& n, bool like_public_tool) {
  const bool wanted = wants_input_gradient(n);
  double per_element = 4;
  if (wanted && n.is_training) per_element += 5;
  if (like_public_tool ? !wanted : wanted && !n.is_training) per_element += 2;
  return element_count(n.shape) * per_element + (n.is_training ? 0 : 3 * n.channels);
}

double backward_bytes(const Normalization& n, double element) {
  const double tensors = wants_input_gradient(n) && n.is_training ? 3 : 2;
  double parameters = n.is_training ? 1 : 0;  // the inverse deviation
  if (n.is_affine) parameters += 1 + (n.is_training ? (n.has_bias ? 2 : 1) : 0);
  return element * (tensors * element_count(n.shape) + parameters * n.channels);
}

Estimate estimate_of(const OperatorCall& call, const Normalization& n) {
  const bool backward = n.output_mask.has_value();
  Estimate estimate{{{"op_shape", to_argument(n.shape)},
                     {"dtype_in_out", text_tuple({call.type(n.input), ""})},
                     {"stride_input", call.stride(n.input)},
                     {"stride_output", Argument{}},
                     {"num_channels", Argument{static_cast<std::int64_t>(n.channels)}},
                     {"has_bias", Argument{n.has_bias}},
                     {"is_affine", Argument{n.is_affine}},
                     {"is_training", Argument{n.is_training}}},
                    compute_spec(ComputeUnit::kVector, call.type(n.input)),
                    {}};
  if (backward)
    estimate.parameters.push_back({"output_mask", Argument{*n.output_mask}, Brackets::kList});
  estimate.work.flops = backward ? backward_flops(n, call.like_public_tool()) : forward_flops(n);
  if (const std::optional<double> element = element_bytes(call.type(n.input)))
    estimate.work.bytes = backward ? backward_bytes(n, *element) : forward_bytes(n, *element);
  return estimate;
}

// An absent weight is recorded as an empty list, which the public tool counts as a weight.
bool has_tensor(const OperatorCall& call, std::size_t position) {
  return call.is_tensor(position) || call.like_public_tool();
}

// Reads "[True, True, False]".
ArgumentList parse_mask(std::string_view text) {
  ArgumentList mask;
  for (std::size_t at = text.find_first_of("TF"); at != std::string_view::npos;
       at = text.find_first_of("TF", at + 1))
    mask.emplace_back().value = text[at] == 'T';
  return mask;
}

core::Result<Normalization> with_channel_axis(const OperatorCall& call, Normalization n) {
  n.shape = ASSAY_TRY(call.shape(n.input));
  if (n.shape.size() < 2) return core::Error{std::string(call.name) + ": no channel dimension"};
  n.channels = static_cast<double>(n.shape[1]);
  return n;
}

core::Result<Normalization> with_normalized_shape(const OperatorCall& call,
                                                  Normalization n,
                                                  std::size_t position) {
  n.shape = ASSAY_TRY(call.shape(n.input));
  n.channels = element_count(ASSAY_TRY(call.integers(position)));
  if (n.channels <= 0) return core::Error{std::string(call.name) + ": an empty shape"};
  return n;
}

// The arguments are (input, weight, bias, running mean, running variance, training, …). The sixth
// argument of instance_norm, use_input_stats, means the same. The public tool reads "False" as
// true.
core::Result<Estimate> batch_norm(const OperatorCall& call) {
  Normalization n = ASSAY_TRY(with_channel_axis(call, {}));
  n.is_affine = has_tensor(call, 1);
  n.has_bias = has_tensor(call, 2);
  n.is_training = call.flag(5) || (call.like_public_tool() && !call.text(5).empty());
  return estimate_of(call, n);
}

// The native operator has (grad, input, weight, mean, variance, saved mean, saved deviation,
// training, eps, mask). Those of the vendors' libraries have (input, grad, weight, …) and only
// exist for training.
core::Result<Estimate> batch_norm_backward(const OperatorCall& call) {
  const bool vendor = call.name == "aten::cudnn_batch_norm_backward" ||
                      call.name == "aten::miopen_batch_norm_backward";
  Normalization n = ASSAY_TRY(with_channel_axis(call, {.input = vendor ? 0U : 1U}));
  n.is_affine = has_tensor(call, 2);
  n.output_mask = ArgumentList{Argument{true}};
  if (vendor) {
    n.is_training = !call.like_public_tool();
    return estimate_of(call, n);
  }
  n.is_training = call.flag(7) || (call.like_public_tool() && !call.text(7).empty());
  const ArgumentList mask = parse_mask(call.text(9));
  if (!mask.empty() && !call.like_public_tool()) n.output_mask = mask;
  return estimate_of(call, n);
}

// The arguments are (input, normalized shape, weight, bias, eps).
core::Result<Estimate> layer_norm(const OperatorCall& call) {
  Normalization n = ASSAY_TRY(with_normalized_shape(call, {}, 1));
  n.is_affine = has_tensor(call, 2);
  n.has_bias = has_tensor(call, 3);
  return estimate_of(call, n);
}

// The arguments are (grad, input, normalized shape, mean, rstd, weight, bias, mask).
core::Result<Estimate> layer_norm_backward(const OperatorCall& call) {
  Normalization n = ASSAY_TRY(with_normalized_shape(call, {.input = 1}, 2));
  n.output_mask = parse_mask(call.text(7));
  if (n.output_mask->size() != 3) return core::Error{std::string(call.name) + ": no output mask"};
  n.is_affine = std::get<bool>((*n.output_mask)[1].value);
  n.has_bias = std::get<bool>((*n.output_mask)[2].value);
  return estimate_of(call, n);
}

// group_norm(input, groups, weight, bias, eps) and native_group_norm(input, weight, bias, …).
core::Result<Estimate> group_norm(const OperatorCall& call) {
  const bool native = call.name == "aten::native_group_norm";
  Normalization n = ASSAY_TRY(with_channel_axis(call, {}));
  n.is_affine = has_tensor(call, native ? 1 : 2);
  n.has_bias = has_tensor(call, native ? 2 : 3);
  return estimate_of(call, n);
}

// The arguments are (grad, input, mean, rstd, weight, N, C, HxW, groups, mask). The public tool
// divides the channels by the groups and looks for the weight one argument too far.
core::Result<Estimate> group_norm_backward(const OperatorCall& call) {
  Normalization n = ASSAY_TRY(with_channel_axis(call, {.input = 1}));
  n.is_affine = has_tensor(call, 4);
  n.output_mask = parse_mask(call.text(9));
  const double groups = call.number(8).value_or(1);
  if (call.like_public_tool() && groups > 0) n.channels /= groups;
  return estimate_of(call, n);
}

const OperatorFamily kBatchNorm{
    "batch norm",
    "aten::batch_norm aten::native_batch_norm aten::miopen_batch_norm aten::cudnn_batch_norm"
    " aten::instance_norm aten::native_instance_norm aten::miopen_instance_norm"
    " aten::cudnn_instance_norm",
    "NORM_fwd",
    "NORM_bwd",
    "Normalization",
    &batch_norm};
ASSAY_REGISTER(OperatorFamily, kBatchNorm);

const OperatorFamily kBatchNormBackward{
    "batch norm backward",
    "aten::batch_norm_backward aten::native_batch_norm_backward aten::miopen_batch_norm_backward"
    " aten::cudnn_batch_norm_backward",
    "NORM_bwd",
    "NORM_bwd",
    "Normalization",
    &batch_norm_backward};
ASSAY_REGISTER(OperatorFamily, kBatchNormBackward);

const OperatorFamily kLayerNorm{
    "layer norm",
    "aten::layer_norm aten::native_layer_norm aten::miopen_layer_norm aten::cudnn_layer_norm",
    "NORM_fwd",
    "NORM_bwd",
    "Normalization",
    &layer_norm};
ASSAY_REGISTER(OperatorFamily, kLayerNorm);

const OperatorFamily kLayerNormBackward{
    "layer norm backward",
    "aten::layer_norm_backward aten::native_layer_norm_backward aten::miopen_layer_norm_backward"
    " aten::cudnn_layer_norm_backward",
    "NORM_bwd",
    "NORM_bwd",
    "Normalization",
    &layer_norm_backward};
ASSAY_REGISTER(OperatorFamily, kLayerNormBackward);

const OperatorFamily kGroupNorm{
    "group norm",
    "aten::group_norm aten::native_group_norm aten::miopen_group_norm aten::cudnn_group_norm"
    " aiter::_groupnorm_run",
    "NORM_fwd",
    "NORM_bwd",
    "Normalization",
    &group_norm};
ASSAY_REGISTER(OperatorFamily, kGroupNorm);

const OperatorFamily kGroupNormBackward{
    "group norm backward",
    "aten::group_norm_backward aten::native_group_norm_backward aten::miopen_group_norm_backward"
    " aten::cudnn_group_norm_backward",
    "NORM_bwd",
    "NORM_bwd",
    "Normalization",
    &group_norm_backward};
ASSAY_REGISTER(OperatorFamily, kGroupNormBackward);

const OperatorFamily kInstanceNormBackward{
    "instance norm backward",
    "aten::instance_norm_backward aten::native_instance_norm_backward"
    " aten::miopen_instance_norm_backward aten::cudnn_instance_norm_backward",
    "NORM_bwd"};
ASSAY_REGISTER(OperatorFamily, kInstanceNormBackward);

struct ModulatedNorm {
  Shape shape;  // [T, B, H]
  double elements;
  double rows;                    // T·B; each row has a mean and a deviation in fp32
  double modulate;                // B·H
  std::optional<double> element;  // bytes
};

core::Result<ModulatedNorm> read_modulated_norm(const OperatorCall& call) {
  const Shape shape = ASSAY_TRY(call.shape(0, 3));
  return ModulatedNorm{shape, element_count(shape), static_cast<double>(shape[0] * shape[1]),
                       static_cast<double>(shape[1] * shape[2]), element_bytes(call.type(0))};
}

Estimate estimate_of(const OperatorCall& call, const ModulatedNorm& norm) {
  return {{{"op_shape", to_argument(norm.shape)},
           {"dtype_in_out", text_tuple({call.type(0), ""})},
           {"stride_input", call.stride(0)},
           {"stride_output", Argument{}},
           {"num_channels", Argument{norm.shape[2]}},
           {"has_bias", Argument{true}},
           {"is_affine", Argument{true}},
           {"is_training", Argument{true}}},
          compute_spec(ComputeUnit::kVector, call.type(0)),
          {}};
}

// fused_ln_modulate(x[T,B,H], scale[B,H], shift[B,H], eps): a layer norm (8 operations per
// element), a scale and shift (2) and a residual (2).
core::Result<Estimate> modulated_norm(const OperatorCall& call) {
  const ModulatedNorm norm = ASSAY_TRY(read_modulated_norm(call));
  Estimate estimate = estimate_of(call, norm);
  estimate.work.flops = 12 * norm.elements;
  if (norm.element)
    estimate.work.bytes = *norm.element * 2 * (norm.elements + norm.modulate) + 8 * norm.rows;
  return estimate;
}

// The arguments are (grad[T,B,H], normalized x, mean, deviation, gradient of the modulation[B,H]).
core::Result<Estimate> modulated_norm_backward(const OperatorCall& call) {
  const ModulatedNorm norm = ASSAY_TRY(read_modulated_norm(call));
  Estimate estimate = estimate_of(call, norm);
  estimate.parameters.push_back(
      {"output_mask", Argument{ArgumentList(3, Argument{true})}, Brackets::kList});
  estimate.work.flops = 15 * norm.elements;
  if (norm.element)
    estimate.work.bytes = *norm.element * 3 * (norm.elements + norm.modulate) + 8 * norm.rows;
  return estimate;
}

const OperatorFamily kModulatedNorm{
    "modulated layer norm", "primus::fused_ln_modulate", "NORM_fwd", "NORM_bwd", "Normalization",
    &modulated_norm};
ASSAY_REGISTER(OperatorFamily, kModulatedNorm);

const OperatorFamily kModulatedNormBackward{"modulated layer norm backward",
                                            "primus::fused_ln_modulate_backward",
                                            "NORM_bwd",
                                            "NORM_bwd",
                                            "Normalization",
                                            &modulated_norm_backward};
ASSAY_REGISTER(OperatorFamily, kModulatedNormBackward);

}  // namespace

}  // namespace assay::trace
