// Layer normalization fused with the scale and shift of diffusion transformers.
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct Sizes {
  Shape shape;  // [T, B, H]
  double elements;
  double rows;                    // T·B: each has a mean and a deviation in fp32
  double modulate;                // B·H
  std::optional<double> element;  // bytes
};

core::Result<Sizes> read_sizes(const OperatorCall& call) {
  const Shape shape = ASSAY_TRY(call.shape(0, 3));
  return Sizes{shape, element_count(shape), static_cast<double>(shape[0] * shape[1]),
               static_cast<double>(shape[1] * shape[2]), element_bytes(call.type(0))};
}

Estimate estimate_of(const OperatorCall& call, const Sizes& sizes) {
  return {{{"op_shape", to_argument(sizes.shape)},
           {"dtype_in_out", text_tuple({call.type(0), ""})},
           {"stride_input", call.stride(0)},
           {"stride_output", Argument{}},
           {"num_channels", Argument{sizes.shape[2]}},
           {"has_bias", Argument{true}},
           {"is_affine", Argument{true}},
           {"is_training", Argument{true}}},
          compute_spec(ComputeUnit::kVector, call.type(0)),
          {}};
}

// fused_ln_modulate(x[T,B,H], scale[B,H], shift[B,H], eps): a layer norm (8 operations an element),
// a scale and shift (2) and a residual (2).
core::Result<Estimate> forward(const OperatorCall& call) {
  const Sizes sizes = ASSAY_TRY(read_sizes(call));
  Estimate estimate = estimate_of(call, sizes);
  estimate.work.flops = 12 * sizes.elements;
  if (sizes.element)
    estimate.work.bytes = *sizes.element * 2 * (sizes.elements + sizes.modulate) + 8 * sizes.rows;
  return estimate;
}

// (grad[T,B,H], normalized x, mean, deviation, gradient of the modulation[B,H])
core::Result<Estimate> backward(const OperatorCall& call) {
  const Sizes sizes = ASSAY_TRY(read_sizes(call));
  Estimate estimate = estimate_of(call, sizes);
  estimate.parameters.push_back(
      {"output_mask", Argument{ArgumentList(3, Argument{true})}, Brackets::kList});
  estimate.work.flops = 15 * sizes.elements;
  if (sizes.element)
    estimate.work.bytes = *sizes.element * 3 * (sizes.elements + sizes.modulate) + 8 * sizes.rows;
  return estimate;
}

const OperatorFamily kForward{"modulated layer norm",
                              "primus::fused_ln_modulate",
                              "NORM_fwd",
                              "NORM_bwd",
                              "Normalization",
                              &forward};
ASSAY_REGISTER(OperatorFamily, kForward);

const OperatorFamily kBackward{"modulated layer norm backward",
                               "primus::fused_ln_modulate_backward",
                               "NORM_bwd",
                               "NORM_bwd",
                               "Normalization",
                               &backward};
ASSAY_REGISTER(OperatorFamily, kBackward);

}  // namespace
}  // namespace assay::trace
