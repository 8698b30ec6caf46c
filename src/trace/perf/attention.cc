// Attention over sequences of one length, forward and backward.
#include <algorithm>
#include <array>

#include "trace/perf/attention_work.h"

namespace assay::trace {
namespace {

enum class Axes { kBatchHeadsLength, kBatchLengthHeads };

struct Signature {
  std::string_view name;
  AttentionPass pass;
  Axes axes;
  std::size_t query;  // position; key and value follow
  std::size_t dropout;
  std::size_t causal;
  bool flash;    // the backward pass computes the scores again
  bool strides;  // the strides are parameters
};

constexpr std::size_t kNone = 99;  // not recorded

// Sources: PyTorch's native_functions.yaml, flash_attn_interface.py, aiter/ops/mha.py.
constexpr auto kForward = AttentionPass::kForward;
constexpr auto kBackward = AttentionPass::kBackward;
constexpr auto kBhnd = Axes::kBatchHeadsLength;
constexpr auto kBnhd = Axes::kBatchLengthHeads;
constexpr std::array kSignatures = {
    Signature{"aten::_scaled_dot_product_cudnn_attention", kForward, kBhnd, 0, 5, 6, false, false},
    Signature{"aten::_scaled_dot_product_efficient_attention", kForward, kBhnd, 0, 5, 6, false,
              false},
    Signature{"aten::_scaled_dot_product_flash_attention", kForward, kBhnd, 0, 3, 4, true, false},
    Signature{"FlashAttnFunc", kForward, kBnhd, 0, 3, 5, true, true},
    Signature{"flash_attn::_flash_attn_forward", kForward, kBnhd, 0, 3, 5, true, true},
    Signature{"flash_attn::_flash_attn_backward", kBackward, kBnhd, 1, 9, 11, true, true},
    Signature{"flash_attn_3::fwd", kForward, kBnhd, 0, kNone, 24, true, false},
    Signature{"aiter::_flash_attn_forward", kForward, kBnhd, 0, 3, 5, true, false},
    Signature{"aiter::_flash_attn_backward", kBackward, kBnhd, 1, 10, 12, true, false},
    Signature{"aiter::mha_fwd", kForward, kBnhd, 0, 3, 5, true, false},
    Signature{"aiter::fmha_v3_fwd", kForward, kBnhd, 0, 3, 5, true, false},
    Signature{"aiter::mha_bwd", kBackward, kBnhd, 1, 6, 8, true, false},
    Signature{"aiter::wrapper_fmha_v3_fwd", kForward, kBnhd, 1, 4, 6, true, false},
    Signature{"aiter::wrapper_fmha_v3_bwd", kBackward, kBnhd, 1, 7, 9, true, false},
};

core::Result<Shape> ordered_shape(const OperatorCall& call, std::size_t position, Axes axes) {
  Shape shape = ASSAY_TRY(call.shape(position, 4));
  if (axes == Axes::kBatchLengthHeads) std::swap(shape[1], shape[2]);
  return shape;
}

core::Result<Estimate> attention(const OperatorCall& call) {
  const auto* const signature =
      std::find_if(kSignatures.begin(), kSignatures.end(),
                   [&](const Signature& candidate) { return candidate.name == call.name; });
  ASSAY_CHECK(signature != kSignatures.end(), "a registered attention has a signature");
  const std::size_t q = signature->query;
  const AttentionShapes shapes =
      ASSAY_TRY(checked_shapes(call, {ASSAY_TRY(ordered_shape(call, q, signature->axes)),
                                      ASSAY_TRY(ordered_shape(call, q + 1, signature->axes)),
                                      ASSAY_TRY(ordered_shape(call, q + 2, signature->axes))}));
  Attention attention = attention_of(shapes);
  attention.causal = call.flag(signature->causal);
  attention.flash = signature->flash;
  attention.diagonal = signature->axes == Axes::kBatchHeadsLength ? CausalDiagonal::kTopLeft
                                                                  : CausalDiagonal::kBottomRight;
  if (attention.causal && attention.queries != attention.keys && call.like_public_tool())
    return core::Error{std::string(call.name) + ": causal with unequal lengths"};

  Estimate estimate{
      attention_parameters(shapes), compute_spec(ComputeUnit::kMatrix, call.type(q)), {}};
  if (signature->strides) add_attention_strides(estimate.parameters, call, q);
  add_attention_flags(estimate.parameters, call, {q, signature->dropout, signature->causal},
                      signature->flash);
  const std::optional<double> bytes = attention_element_bytes(call, q);
  estimate.work = attention_work(attention, signature->pass, bytes);
  if (signature->pass == AttentionPass::kForward)
    estimate.backward_work = attention_work(attention, AttentionPass::kBackward, bytes);
  return estimate;
}

// EvoformerAttention(Q, K, V, mask, bias): [batch, sequences, residues, heads, width]; attention
// runs over the residues.
core::Result<Estimate> evoformer(const OperatorCall& call) {
  const Shape q = ASSAY_TRY(call.shape(0, 5));
  const Shape all = {q[0] * q[1], q[3], q[2], q[4]};
  const AttentionShapes shapes = ASSAY_TRY(checked_shapes(call, {all, all, all}));
  const Attention attention = attention_of(shapes);
  Estimate estimate{
      attention_parameters(shapes), compute_spec(ComputeUnit::kMatrix, call.type(0)), {}};
  estimate.parameters.push_back({"causal", Argument{false}});
  estimate.parameters.push_back({"flash_impl", Argument{false}});
  estimate.parameters.push_back({"dtype_A_B", text_tuple({call.type(0)}), Brackets::kList});
  const std::optional<double> bytes = attention_element_bytes(call, 0);
  estimate.work = attention_work(attention, AttentionPass::kForward, bytes);
  estimate.backward_work = attention_work(attention, AttentionPass::kBackward, bytes);
  return estimate;
}

const OperatorFamily kAttentionForward{
    "attention forward",
    "aten::_scaled_dot_product_cudnn_attention aten::_scaled_dot_product_efficient_attention"
    " aten::_scaled_dot_product_flash_attention FlashAttnFunc flash_attn::_flash_attn_forward"
    " flash_attn_3::fwd aiter::_flash_attn_forward aiter::mha_fwd aiter::fmha_v3_fwd"
    " aiter::wrapper_fmha_v3_fwd",
    "SDPA_fwd",
    "SDPA_bwd",
    "SDPA",
    &attention};
ASSAY_REGISTER(OperatorFamily, kAttentionForward);

const OperatorFamily kAttentionBackward{
    "attention backward",
    "flash_attn::_flash_attn_backward aiter::_flash_attn_backward aiter::mha_bwd"
    " aiter::wrapper_fmha_v3_bwd",
    "SDPA_bwd",
    "SDPA_bwd",
    "SDPA",
    &attention};
ASSAY_REGISTER(OperatorFamily, kAttentionBackward);

const OperatorFamily kEvoformer{
    "evoformer attention", "EvoformerAttention", "SDPA_fwd", "SDPA_bwd", "SDPA", &evoformer};
ASSAY_REGISTER(OperatorFamily, kEvoformer);

// Without a model of their own: autograd links them to a forward operator that has one.
const OperatorFamily kUnmodelledAttentionBackward{
    "attention backward without model",
    "aten::_scaled_dot_product_cudnn_attention_backward"
    " aten::_scaled_dot_product_efficient_attention_backward"
    " aten::_scaled_dot_product_flash_attention_backward aten::_efficient_attention_backward"
    " FlashAttnFuncBackward FusedAttnFuncBackward",
    "SDPA_bwd"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledAttentionBackward);

const OperatorFamily kUnmodelledAttentionForward{"attention forward without model",
                                                 "aten::_efficient_attention_forward", "SDPA_fwd"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledAttentionForward);

}  // namespace
}  // namespace assay::trace
