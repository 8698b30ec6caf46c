// Operators with about one operation per element. They are bound by memory on every GPU.
#include <algorithm>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

std::vector<Parameter> unary_parameters(const OperatorCall& call,
                                        const std::string& out_type,
                                        const Argument& out_stride) {
  return {{"op_shape", call.dims.empty() ? Argument{} : call.dims[0]},
          {"dtype_in_out", text_tuple({call.type(0), out_type})},
          {"stride_input", call.stride(0)},
          {"stride_output", out_stride}};
}

// A second tensor is the output. In a copy it is the source, which has the same number of bytes.
core::Result<Estimate> unary(const OperatorCall& call) {
  const double elements = element_count(ASSAY_TRY(call.shape(0)));
  const bool has_output = call.is_tensor(1);
  const std::string out_type = has_output ? call.type(1) : "";
  Estimate estimate{unary_parameters(call, out_type, has_output ? call.stride(1) : Argument{}),
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {elements}};
  const std::optional<double> in = element_bytes(call.type(0));
  const std::optional<double> out = has_output ? element_bytes(out_type) : in;
  if (in && out) estimate.work.bytes = elements * (*in + *out);
  return estimate;
}

core::Result<double> broadcast_count(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const std::int64_t left = longer[offset + i];
    const std::int64_t right = shorter[i];
    if (left != right && left != 1 && right != 1) return core::Error{"shapes do not broadcast"};
    result[offset + i] = left == 1 ? right : left;
  }
  return element_count(result);
}

std::optional<double> binary_out_bytes(const OperatorCall& call) {
  if (call.is_tensor(2)) return element_bytes(call.type(2));
  const std::optional<double> a = element_bytes(call.type(0));
  const std::optional<double> b = element_bytes(call.type(1));
  if (!a || !b) return std::nullopt;
  return call.is_tensor(0) && call.is_tensor(1) ? std::max(*a, *b) : *a;
}

core::Result<Estimate> binary(const OperatorCall& call) {
  const Shape a = ASSAY_TRY(call.shape(0));
  const Shape b = ASSAY_TRY(call.shape(1));
  const double outputs = ASSAY_TRY(broadcast_count(a, b));
  const bool has_output = call.is_tensor(2);
  Estimate estimate{{{"shape_in1", to_argument(a)},
                     {"shape_in2", to_argument(b)},
                     {"dtype_in1_in2_out",
                      text_tuple({call.type(0), call.type(1), has_output ? call.type(2) : ""})},
                     {"stride_input1", call.stride(0)},
                     {"stride_input2", call.stride(1)},
                     {"stride_output", has_output ? call.stride(2) : Argument{}}},
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {outputs}};
  const std::optional<double> a_bytes = element_bytes(call.type(0));
  const std::optional<double> b_bytes = element_bytes(call.type(1));
  const std::optional<double> out_bytes = binary_out_bytes(call);
  if (a_bytes && b_bytes && out_bytes)
    estimate.work.bytes =
        element_count(a) * *a_bytes + element_count(b) * *b_bytes + outputs * *out_bytes;
  return estimate;
}

// Returns the shape after padding the spatial extents, which are the last `axes` dimensions.
core::Result<Shape> padded(const OperatorCall& call, Shape shape, std::size_t axes) {
  const Shape padding = ASSAY_TRY(call.integers(1));  // last axis first: before, after
  if (padding.size() != 2 * axes || shape.size() < axes) return core::Error{"unexpected padding"};
  for (std::size_t i = 0; i < axes; ++i)
    shape[shape.size() - 1 - i] += padding[2 * i] + padding[2 * i + 1];
  return shape;
}

constexpr double kLargestScale = 1e6;

// Returns the shape after upsampling: (self, output_size, scales …) or (self, no size, [scale, …]).
core::Result<Shape> upsampled(const OperatorCall& call, Shape shape, std::size_t axes) {
  if (shape.size() < axes) return core::Error{"unexpected dimensions"};
  const auto spatial = shape.end() - static_cast<std::ptrdiff_t>(axes);
  // The public tool needs the size itself.
  if (!call.text(1).empty() || call.like_public_tool()) {
    const Shape size = ASSAY_TRY(call.integers(1));
    if (size.size() != axes) return core::Error{"unexpected output size"};
    std::copy(size.begin(), size.end(), spatial);
    return shape;
  }
  const std::vector<double> scales = call.numbers(2);
  const auto enlarges = [](double scale) { return scale > 0 && scale <= kLargestScale; };
  if (scales.size() != axes || !std::all_of(scales.begin(), scales.end(), enlarges))
    return core::Error{"no output size is recorded"};
  std::transform(spatial, shape.end(), scales.begin(), spatial, [](auto extent, double scale) {
    return static_cast<std::int64_t>(static_cast<double>(extent) * scale);
  });
  return shape;
}

// The shape of the call is that of the output, which decides the number of elements.
std::vector<Parameter> resizing_parameters(const OperatorCall& call,
                                           const Shape& in,
                                           const Shape& out,
                                           const Shape& padding) {
  std::vector<Parameter> parameters{{"input_shape", to_argument(in)},
                                    {"output_shape", to_argument(out)}};
  if (!padding.empty()) parameters.push_back({"padding", to_argument(padding), Brackets::kList});
  parameters.push_back({"op_shape", to_argument(out)});
  parameters.push_back({"dtype_in_out", text_tuple({call.type(0), call.type(0)})});
  parameters.push_back({"stride_input", call.stride(0)});
  parameters.push_back({"stride_output", Argument{}});
  return parameters;
}

// Padding and upsampling read the input once and write a larger output.
core::Result<Estimate> resizing(const OperatorCall& call) {
  const Shape in = ASSAY_TRY(call.shape(0));
  const auto axes = static_cast<std::size_t>(call.name[call.name.size() - 2] - '0');  // "…2d"
  const bool pads = call.name.find("pad") != std::string_view::npos;
  const Shape out = ASSAY_TRY(pads ? padded(call, in, axes) : upsampled(call, in, axes));
  Estimate estimate{resizing_parameters(call, in, out, pads ? call.integers(1).value() : Shape{}),
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {element_count(out)}};
  if (const std::optional<double> bytes = element_bytes(call.type(0)))
    estimate.work.bytes = (element_count(in) + element_count(out)) * *bytes;
  return estimate;
}

// quantize_fp8_tensorwise(tensor, …) writes one byte per element.
core::Result<Estimate> quantize_fp8(const OperatorCall& call) {
  const double elements = element_count(ASSAY_TRY(call.shape(0)));
  Estimate estimate{unary_parameters(call, "c10::Float8_e4m3fnuz", Argument{}),
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {elements}};
  if (const std::optional<double> in = element_bytes(call.type(0)))
    estimate.work.bytes = elements * (*in + 1);
  return estimate;
}

// quantize_mxfp4_dual(tensor[M,N], …) writes the tensor twice, in blocks along rows and in blocks
// along columns: half a byte per element and one byte of scale per block of 32 elements.
core::Result<Estimate> quantize_mxfp4(const OperatorCall& call) {
  constexpr std::int64_t kBlock = 32;
  const Shape shape = ASSAY_TRY(call.shape(0, 2));
  const auto blocks = [](std::int64_t extent) { return (extent + kBlock - 1) / kBlock; };
  const double elements = element_count(shape);
  Estimate estimate{unary_parameters(call, "c10::Float4_e2m1fn_x2", Argument{}),
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {elements}};
  const auto scales =
      static_cast<double>(shape[0] * blocks(shape[1]) + shape[1] * blocks(shape[0]));
  const std::int64_t packed = (shape[0] * shape[1] + 1) / 2;
  if (const std::optional<double> in = element_bytes(call.type(0)))
    estimate.work.bytes = elements * *in + 2 * static_cast<double>(packed) + scales;
  return estimate;
}

// silu_and_mul(out[…,d], input[…,2d]): the halves are gate and value; one activation and one
// product per output element.
core::Result<Estimate> gated_activation(const OperatorCall& call) {
  const Shape out = ASSAY_TRY(call.shape(0));
  const Shape in = ASSAY_TRY(call.shape(1));
  if (element_count(in) != 2 * element_count(out))
    return core::Error{std::string(call.name) + ": the input is not twice the output"};
  Estimate estimate{{{"op_shape", to_argument(in)},
                     {"dtype_in_out", text_tuple({call.type(1), call.type(0)})},
                     {"stride_input", call.stride(1)},
                     {"stride_output", call.stride(0)}},
                    compute_spec(ComputeUnit::kVector, call.type(1)),
                    {2 * element_count(out)}};
  const std::optional<double> in_bytes = element_bytes(call.type(1));
  const std::optional<double> out_bytes = element_bytes(call.type(0));
  if (in_bytes && out_bytes)
    estimate.work.bytes = element_count(in) * *in_bytes + element_count(out) * *out_bytes;
  return estimate;
}

const OperatorFamily kUnary{
    "unary elementwise",
    "aten::copy aten::copy_ aten::clamp_min aten::clamp_min_ aten::clamp_max aten::clamp_max_"
    " aten::sigmoid aten::rsqrt aten::silu aten::neg aten::pow",
    "elementwise",
    "",
    "UnaryElementwise",
    &unary};
ASSAY_REGISTER(OperatorFamily, kUnary);

const OperatorFamily kBinary{
    "binary elementwise",
    "aten::div aten::div_ aten::mul aten::mul_ aten::add aten::add_ aten::sigmoid_backward"
    " aten::threshold_backward LigerSiLUMulFunction",
    "elementwise",
    "",
    "BinaryElementwise",
    &binary};
ASSAY_REGISTER(OperatorFamily, kBinary);

const OperatorFamily kResizing{
    "resizing",
    "aten::replication_pad1d aten::replication_pad2d aten::replication_pad3d"
    " aten::upsample_nearest1d aten::upsample_nearest2d aten::upsample_nearest3d",
    "elementwise",
    "",
    "UnaryElementwise",
    &resizing};
ASSAY_REGISTER(OperatorFamily, kResizing);

const OperatorFamily kQuantizeFp8{
    "quantize fp8",
    "primus_turbo_cpp_extension::quantize_fp8_tensorwise primus_turbo::quantize_fp8_tensorwise",
    "elementwise",
    "",
    "UnaryElementwise",
    &quantize_fp8};
ASSAY_REGISTER(OperatorFamily, kQuantizeFp8);

const OperatorFamily kQuantizeMxfp4{
    "quantize mxfp4",
    "primus_turbo_cpp_extension::quantize_mxfp4_dual primus_turbo::quantize_mxfp4_dual"
    " primus::quantize_mxfp4_dual",
    "elementwise",
    "",
    "UnaryElementwise",
    &quantize_mxfp4};
ASSAY_REGISTER(OperatorFamily, kQuantizeMxfp4);

const OperatorFamily kGatedActivation{
    "gated activation",
    "aiter::silu_and_mul _C::silu_and_mul sgl_kernel::silu_and_mul aiter::gelu_and_mul"
    " aiter::gelu_tanh_and_mul",
    "elementwise",
    "",
    "UnaryElementwise",
    &gated_activation};
ASSAY_REGISTER(OperatorFamily, kGatedActivation);

const OperatorFamily kSampling{"sampling", "aiter::mixed_sample_outer_exponential", "elementwise"};
ASSAY_REGISTER(OperatorFamily, kSampling);

}  // namespace
}  // namespace assay::trace
