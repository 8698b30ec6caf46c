// Scaled dot-product attention, forward and backward, over sequences of one length and over packed
// sequences of unequal lengths. Softmax is not counted: it is smaller than the products by the
// order of the head dimension.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

// Which pairs a causal mask keeps when there are more queries than keys or the reverse: the mask's
// diagonal starts at the first query and key (top left) or ends at the last ones (bottom right).
enum class CausalDiagonal { kTopLeft, kBottomRight };
enum class AttentionPass { kForward, kBackward };

struct Attention {
  double batch = 1;
  double queries = 0;  // sequence lengths
  double keys = 0;
  double query_heads = 0;
  double key_heads = 0;
  double key_width = 0;  // elements per head
  double value_width = 0;
  bool causal = false;
  bool scores_again = false;  // whether the backward pass computes Q·Kᵀ again
  CausalDiagonal diagonal = CausalDiagonal::kTopLeft;
};

// The shape [batch, heads, length, width] of each operand.
struct AttentionShapes {
  Shape query;
  Shape key;
  Shape value;
};

// The positions of a call's arguments.
struct AttentionArguments {
  std::size_t query = 0;  // key and value follow
  std::size_t dropout = 0;
  std::size_t causal = 0;
};

// Returns the share of the query-key pairs that the mask keeps.
double causal_fraction(const Attention& a) {
  if (!a.causal) return 1;
  if (a.queries == a.keys) return 0.5;
  const double shorter = std::min(a.queries, a.keys);
  const double triangle = shorter * shorter / 2;
  const bool more_queries = a.queries > a.keys;
  // The part of the rectangle outside the triangle's square is kept or masked as a whole.
  const double beside = a.queries * a.keys - shorter * shorter;
  const bool kept = more_queries == (a.diagonal == CausalDiagonal::kTopLeft);
  return (triangle + (kept ? beside : 0)) / (a.queries * a.keys);
}

double forward_flops(const Attention& a) {
  const double pairs = a.batch * a.query_heads * a.queries * a.keys;
  return 2 * pairs * (a.key_width + a.value_width) * causal_fraction(a);
}

// dV and dP each cost as much as P·V, dQ and dK each as much as Q·Kᵀ. Then the dK and dV of the
// query heads that share a key head are summed.
double backward_flops(const Attention& a) {
  const double pairs = a.batch * a.query_heads * a.queries * a.keys;
  const double shared_heads = std::floor(a.query_heads / a.key_heads) - 1;
  const double products = 2 * pairs * (2 * a.value_width + (a.scores_again ? 3 : 2) * a.key_width);
  const double sums = a.batch * a.keys * shared_heads * (a.key_width + a.value_width);
  return (products + sums) * causal_fraction(a);
}

double forward_elements(const Attention& a) {
  return a.batch * (a.queries * a.query_heads * (a.key_width + a.value_width) +
                    a.keys * a.key_heads * (a.key_width + a.value_width));
}

// Q, K, V and dO are read, dQ, dK and dV written.
double backward_elements(const Attention& a) {
  return a.batch * (a.queries * a.query_heads * (2 * a.key_width + a.value_width) +
                    a.keys * a.key_heads * 2 * (a.key_width + a.value_width));
}

Work attention_work(const Attention& attention,
                    AttentionPass pass,
                    std::optional<double> element_size) {
  const bool forward = pass == AttentionPass::kForward;
  Work work{forward ? forward_flops(attention) : backward_flops(attention)};
  if (element_size)
    work.bytes = *element_size * (forward ? forward_elements : backward_elements)(attention);
  return work;
}

// Fails unless query, key and value fit together.
core::Result<AttentionShapes> checked_shapes(const OperatorCall& call, AttentionShapes shapes) {
  const auto& [query, key, value] = shapes;
  const bool agree = query[0] == key[0] && key[0] == value[0] && key[1] == value[1] &&
                     key[2] == value[2] && query[3] == key[3] && key[1] > 0;
  if (!agree)
    return core::Error{std::string(call.name) + ": query, key and value do not fit together"};
  return shapes;
}

Attention attention_of(const AttentionShapes& shapes) {
  const auto extent = [](std::int64_t value) { return static_cast<double>(value); };
  return {.batch = extent(shapes.query[0]),
          .queries = extent(shapes.query[2]),
          .keys = extent(shapes.key[2]),
          .query_heads = extent(shapes.query[1]),
          .key_heads = extent(shapes.key[1]),
          .key_width = extent(shapes.query[3]),
          .value_width = extent(shapes.value[3])};
}

std::vector<Parameter> attention_parameters(const AttentionShapes& shapes) {
  return {{"B", Argument{shapes.query[0]}},    {"N_Q", Argument{shapes.query[2]}},
          {"H_Q", Argument{shapes.query[1]}},  {"N_KV", Argument{shapes.key[2]}},
          {"H_KV", Argument{shapes.key[1]}},   {"d_h_qk", Argument{shapes.query[3]}},
          {"d_h_v", Argument{shapes.value[3]}}};
}

// Adds "dropout", "causal", "flash_impl" and "dtype_A_B".
void add_attention_flags(std::vector<Parameter>& parameters,
                         const OperatorCall& call,
                         const AttentionArguments& at,
                         bool flash) {
  parameters.push_back({"dropout", Argument{call.number(at.dropout).value_or(0)}});
  parameters.push_back({"causal", Argument{call.flag(at.causal)}});
  parameters.push_back({"flash_impl", Argument{flash}});
  // The public tool records the types of the first two arguments, which are not query and key in a
  // backward operator.
  const std::size_t first = call.like_public_tool() ? 0 : at.query;
  parameters.push_back({"dtype_A_B", text_tuple({call.type(first), call.type(first + 1)})});
}

void add_attention_strides(std::vector<Parameter>& parameters,
                           const OperatorCall& call,
                           std::size_t query) {
  parameters.push_back({"q_stride", call.stride(query)});
  parameters.push_back({"k_stride", call.stride(query + 1)});
  parameters.push_back({"v_stride", call.stride(query + 2)});
}

// Returns the bytes of one element of the argument. The public tool assumes two for every type.
std::optional<double> attention_element_bytes(const OperatorCall& call, std::size_t position) {
  return call.like_public_tool() ? 2 : element_bytes(call.type(position));
}

enum class Axes { kBatchHeadsLength, kBatchLengthHeads };

struct Signature {
  std::string_view name;
  AttentionPass pass;
  Axes axes;
  std::size_t query;  // position; key and value follow
  std::size_t dropout;
  std::size_t causal;
  bool flash;    // whether the public tool takes it for flash attention
  bool strides;  // whether the strides are parameters
};

constexpr std::size_t kNotRecorded = 99;  // beyond any operator's arguments

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
    Signature{"flash_attn_3::fwd", kForward, kBnhd, 0, kNotRecorded, 24, true, false},
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
  // No kernel of these operators keeps the scores. The public tool takes some for kernels that do.
  attention.scores_again = signature->flash || !call.like_public_tool();
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
  const Shape folded = {q[0] * q[1], q[3], q[2], q[4]};
  const AttentionShapes shapes = ASSAY_TRY(checked_shapes(call, {folded, folded, folded}));
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

// The argument positions of an operator on sequences of unequal lengths, which are packed without
// padding as [tokens, heads, width].
struct PackedSignature {
  AttentionPass pass;
  std::size_t query;
  std::size_t lengths;     // cumulative lengths of queries, then of keys
  std::size_t max_length;  // longest query, longest key, dropout, scale, causal
};

constexpr PackedSignature kPackedForward{AttentionPass::kForward, 0, 3, 5};
constexpr PackedSignature kPackedBackward{AttentionPass::kBackward, 1, 9, 11};

// The lengths are not recorded. So one sequence is taken to have the longest length, and the others
// to share the remaining tokens equally.
Work packed_work(const Attention& packed,
                 const PackedSignature& signature,
                 const std::array<std::int64_t, 2>& sequences,
                 const std::array<double, 2>& longest) {
  const auto flops = [&](const Attention& attention) {
    return attention_work(attention, signature.pass, std::nullopt).flops;
  };
  Attention part = packed;
  part.queries = longest[0];
  part.keys = longest[1];
  Work work{flops(part)};
  if (sequences[0] > 1 && sequences[1] > 1) {
    const auto others = static_cast<double>(sequences[0] - 1);
    part.queries = std::floor((packed.queries - longest[0]) / others);
    part.keys = std::floor((packed.keys - longest[1]) / static_cast<double>(sequences[1] - 1));
    if (part.queries > 0 && part.keys > 0) work.flops += others * flops(part);
  }
  return work;
}

core::Result<Shape> packed_shape(const OperatorCall& call, std::size_t position) {
  const Shape shape = ASSAY_TRY(call.shape(position, 3));
  return Shape{1, shape[1], shape[0], shape[2]};
}

core::Result<Estimate> packed_attention(const OperatorCall& call) {
  const bool backward = call.name == "flash_attn::_flash_attn_varlen_backward";
  const PackedSignature& s = backward ? kPackedBackward : kPackedForward;
  const AttentionShapes shapes = ASSAY_TRY(checked_shapes(
      call, {ASSAY_TRY(packed_shape(call, s.query)), ASSAY_TRY(packed_shape(call, s.query + 1)),
             ASSAY_TRY(packed_shape(call, s.query + 2))}));
  const std::array<std::int64_t, 2> sequences = {ASSAY_TRY(call.shape(s.lengths, 1))[0] - 1,
                                                 ASSAY_TRY(call.shape(s.lengths + 1, 1))[0] - 1};
  const std::optional<double> longest_query = call.number(s.max_length);
  const std::optional<double> longest_key = call.number(s.max_length + 1);
  if (!longest_query || !longest_key)
    return core::Error{std::string(call.name) + ": the longest sequence is not recorded"};
  Attention attention = attention_of(shapes);
  attention.causal = call.flag(s.max_length + 4);
  attention.scores_again = true;
  attention.diagonal = CausalDiagonal::kBottomRight;

  Estimate estimate{
      attention_parameters(shapes), compute_spec(ComputeUnit::kMatrix, call.type(s.query)), {}};
  add_attention_strides(estimate.parameters, call, s.query);
  add_attention_flags(estimate.parameters, call, {s.query, s.max_length + 2, s.max_length + 4},
                      true);
  estimate.parameters.push_back({"num_seqs_q", Argument{sequences[0]}});
  estimate.parameters.push_back({"num_seqs_kv", Argument{sequences[1]}});
  estimate.parameters.push_back({"max_seqlen_q", Argument{*longest_query}});
  estimate.parameters.push_back({"max_seqlen_kv", Argument{*longest_key}});
  estimate.work = packed_work(attention, s, sequences, {*longest_query, *longest_key});
  estimate.work.bytes =
      attention_work(attention, s.pass, attention_element_bytes(call, s.query)).bytes;
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

// These have no model of their own, but autograd links them to a forward operator that has one.
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

const OperatorFamily kPackedAttentionForward{"packed attention forward",
                                             "flash_attn::_flash_attn_varlen_forward",
                                             "SDPA_fwd",
                                             "SDPA_bwd",
                                             "SDPA",
                                             &packed_attention};
ASSAY_REGISTER(OperatorFamily, kPackedAttentionForward);

const OperatorFamily kPackedAttentionBackward{"packed attention backward",
                                              "flash_attn::_flash_attn_varlen_backward",
                                              "SDPA_bwd",
                                              "SDPA_bwd",
                                              "SDPA",
                                              &packed_attention};
ASSAY_REGISTER(OperatorFamily, kPackedAttentionBackward);

}  // namespace

}  // namespace assay::trace
