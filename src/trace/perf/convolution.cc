// Convolutions in one to three dimensions, plain and transposed, with their gradients.
#include <fmt/core.h>

#include <algorithm>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct Convolution {
  Shape input;   // [batch, channels, extents…]
  Shape filter;  // [out channels, in channels / groups, extents…]; transposed: in channels first
  Shape output;
  Shape stride;
  Shape padding;
  Shape dilation;
  Shape output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
  bool bias = false;
};

// The argument positions of an operator. A backward operator has the gradient in front.
struct Positions {
  std::size_t input = 0;
  std::size_t bias = 2;
  std::size_t stride = 3;  // padding, dilation, transposed, output padding, groups follow
};

constexpr Positions kForwardPositions{};
constexpr Positions kBackwardPositions{.input = 1, .bias = 3, .stride = 4};

std::int64_t extent_of_output(const Convolution& c, std::size_t axis) {
  const std::int64_t in = c.input[axis + 2];
  const std::int64_t reach = c.dilation[axis] * (c.filter[axis + 2] - 1);
  if (c.transposed)
    return (in - 1) * c.stride[axis] - 2 * c.padding[axis] + reach + c.output_padding[axis] + 1;
  return (in + 2 * c.padding[axis] - reach - 1) / c.stride[axis] + 1;
}

Shape output_of(const Convolution& c, bool like_public_tool) {
  // The public tool forgets the groups of a transposed convolution.
  const std::int64_t groups = like_public_tool ? 1 : c.groups;
  Shape output = {c.input[0], c.transposed ? c.filter[1] * groups : c.filter[0]};
  for (std::size_t axis = 0; axis + 2 < c.input.size(); ++axis)
    output.push_back(extent_of_output(c, axis));
  return output;
}

// Each output element (of a transposed convolution, each input element) is multiplied with the
// whole filter of its group.
double product_flops(const Convolution& c) {
  const double reach = element_count(c.filter) / static_cast<double>(c.filter[0]);
  return 2 * reach * element_count(c.transposed ? c.input : c.output);
}

Work forward_work(const Convolution& c, std::optional<double> element) {
  const double outputs = element_count(c.output);
  Work work{product_flops(c) + (c.bias ? outputs : 0)};
  const double bias = c.bias ? static_cast<double>(c.output[1]) : 0;
  if (element)
    work.bytes = *element * (element_count(c.input) + element_count(c.filter) + bias + outputs);
  return work;
}

// The gradients of the input and of the filter each cost the multiplications of the forward pass;
// the gradient of the bias sums the output's gradient. Each of the first two reads the output's
// gradient and one operand and writes the gradient of the other.
Work backward_work(const Convolution& c, std::optional<double> element) {
  const double outputs = element_count(c.output);
  Work work{2 * product_flops(c) + (c.bias ? outputs : 0)};
  const double bias = c.bias ? outputs + static_cast<double>(c.output[1]) : 0;
  if (element)
    work.bytes =
        *element * (2 * (outputs + element_count(c.filter) + element_count(c.input)) + bias);
  return work;
}

// Reads one value per axis. A single value stands for all axes, and an absent argument for
// `otherwise`.
core::Result<Shape> per_axis(const OperatorCall& call,
                             std::size_t position,
                             std::size_t axes,
                             std::int64_t otherwise) {
  if (call.text(position).empty()) return Shape(axes, otherwise);
  Shape values = ASSAY_TRY(call.integers(position));
  if (values.size() == 1) values.resize(axes, values[0]);
  if (values.size() != axes)
    return core::Error{fmt::format("{}: argument {} has {} values for {} dimensions", call.name,
                                   position, values.size(), axes)};
  return values;
}

core::Result<Convolution> read_shapes(const OperatorCall& call, std::size_t input) {
  Convolution c;
  c.input = ASSAY_TRY(call.shape(input));
  c.filter = ASSAY_TRY(call.shape(input + 1, c.input.size()));
  const auto positive = [](std::int64_t extent) { return extent > 0; };
  if (c.input.size() < 3 || c.input.size() > 5 ||
      !std::all_of(c.filter.begin(), c.filter.end(), positive))
    return core::Error{
        fmt::format("{}: no convolution of {} dimensions", call.name, c.input.size())};
  return c;
}

core::Result<Convolution> checked_convolution(const OperatorCall& call, Convolution c) {
  if (std::any_of(c.stride.begin(), c.stride.end(), [](std::int64_t step) { return step <= 0; }))
    return core::Error{fmt::format("{}: a stride is not positive", call.name)};
  if (c.groups < 1 || c.groups > c.filter[0])
    return core::Error{
        fmt::format("{}: {} groups for a filter of {}", call.name, c.groups, c.filter[0])};
  c.output = output_of(c, call.like_public_tool());
  return c;
}

core::Result<Convolution> read_convolution(const OperatorCall& call, const Positions& at) {
  Convolution c = ASSAY_TRY(read_shapes(call, at.input));
  const std::size_t axes = c.input.size() - 2;
  c.stride = ASSAY_TRY(per_axis(call, at.stride, axes, 1));
  c.padding = ASSAY_TRY(per_axis(call, at.stride + 1, axes, 0));
  c.dilation = ASSAY_TRY(per_axis(call, at.stride + 2, axes, 1));
  c.transposed = call.flag(at.stride + 3);
  c.output_padding = ASSAY_TRY(per_axis(call, at.stride + 4, axes, 0));
  c.groups = static_cast<std::int64_t>(call.number(at.stride + 5).value_or(1));
  c.bias = call.is_tensor(at.bias) || !call.text(at.bias).empty();
  // The public tool sees a bias in a forward call only if that has three arguments, which none has.
  if (call.like_public_tool())
    c.bias = at.input == 0 ? call.dims.size() == 3 : call.is_tensor(at.bias);
  return checked_convolution(call, std::move(c));
}

// The public tool shows the empty dimensions of a bias that a backward call lacks.
Argument shown_bias(const OperatorCall& call, const Convolution& c, std::size_t input) {
  const bool is_backward = input == kBackwardPositions.input;
  const bool shows_dims = is_backward && call.dims.size() > kBackwardPositions.bias;
  if (call.like_public_tool() && shows_dims && !c.bias) return {ArgumentList{}};
  return {c.bias};
}

std::vector<Parameter> parameters_of(const OperatorCall& call,
                                     const Convolution& c,
                                     std::size_t input) {
  return {{"convNd", Argument{fmt::format("conv{}d", c.input.size() - 2)}},
          {"input_shape", to_argument(c.input)},
          {"filter_shape", to_argument(c.filter)},
          {"dtype_input_weight", text_tuple({call.type(input), call.type(input + 1)})},
          {"input_stride", call.stride(input)},
          {"weight_stride", call.stride(input + 1)},
          {"bias", shown_bias(call, c, input), Brackets::kList},
          {"stride", to_argument(c.stride)},
          {"padding", to_argument(c.padding)},
          {"dilation", to_argument(c.dilation)},
          {"transposed_conv", Argument{c.transposed}},
          {"output_padding", to_argument(c.output_padding)},
          {"groups", Argument{c.groups}}};
}

Estimate estimate_of(const OperatorCall& call, const Convolution& c, std::size_t input) {
  return {parameters_of(call, c, input), compute_spec(ComputeUnit::kMatrix, call.type(input)), {}};
}

core::Result<Estimate> convolution(const OperatorCall& call) {
  const Convolution c = ASSAY_TRY(read_convolution(call, kForwardPositions));
  Estimate estimate = estimate_of(call, c, kForwardPositions.input);
  const std::optional<double> element = element_bytes(call.type(0));
  estimate.work = forward_work(c, element);
  estimate.backward_work = backward_work(c, element);
  return estimate;
}

core::Result<Estimate> convolution_backward(const OperatorCall& call) {
  const Convolution c = ASSAY_TRY(read_convolution(call, kBackwardPositions));
  Estimate estimate = estimate_of(call, c, kBackwardPositions.input);
  estimate.work = backward_work(c, element_bytes(call.type(kBackwardPositions.input)));
  return estimate;
}

// ConvBias_(input, weight, bias, padding, stride) of apex.contrib.conv_bias_relu. The public tool
// swaps the last two.
core::Result<Estimate> fused_convolution(const OperatorCall& call) {
  Convolution c = ASSAY_TRY(read_shapes(call, 0));
  const std::size_t axes = c.input.size() - 2;
  const bool swapped = call.like_public_tool();
  c.padding = ASSAY_TRY(per_axis(call, swapped ? 4 : 3, axes, 0));
  c.stride = ASSAY_TRY(per_axis(call, swapped ? 3 : 4, axes, 1));
  c.dilation = Shape(axes, 1);
  c.output_padding = Shape(axes, 0);
  c.bias = true;
  c = ASSAY_TRY(checked_convolution(call, std::move(c)));
  Estimate estimate = estimate_of(call, c, 0);
  const std::optional<double> element = element_bytes(call.type(0));
  estimate.work = forward_work(c, element);
  estimate.backward_work = backward_work(c, element);
  return estimate;
}

const OperatorFamily kConvolution{"convolution", "aten::convolution", "CONV_fwd", "CONV_bwd",
                                  "CONV",        &convolution};
ASSAY_REGISTER(OperatorFamily, kConvolution);

const OperatorFamily kConvolutionBackward{
    "convolution backward", "aten::convolution_backward", "CONV_bwd", "CONV_bwd", "CONV",
    &convolution_backward};
ASSAY_REGISTER(OperatorFamily, kConvolutionBackward);

const OperatorFamily kFusedConvolution{
    "convolution with bias", "ConvBias_ ConvBiasReLU_", "CONV_fwd", "CONV_bwd", "CONV",
    &fused_convolution};
ASSAY_REGISTER(OperatorFamily, kFusedConvolution);

// Their arguments do not describe the convolution, but autograd links them to the forward operator.
const OperatorFamily kFusedConvolutionBackward{
    "convolution with bias backward", "ConvBias_Backward ConvBiasReLU_Backward", "CONV_bwd"};
ASSAY_REGISTER(OperatorFamily, kFusedConvolutionBackward);

const OperatorFamily kVendorConvolution{"convolution of vendor libraries",
                                        "aten::miopen_convolution aten::cudnn_convolution",
                                        "CONV_fwd"};
ASSAY_REGISTER(OperatorFamily, kVendorConvolution);

}  // namespace
}  // namespace assay::trace
