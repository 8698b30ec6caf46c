// Attention over packed sequences of unequal lengths, forward and backward.
#include <array>
#include <cmath>

#include "trace/perf/attention_work.h"

namespace assay::trace {
namespace {

// Sequences of unequal lengths, packed without padding: [tokens, heads, width].
struct PackedSignature {
  AttentionPass pass;
  std::size_t query;
  std::size_t lengths;     // cumulative lengths of queries, then of keys
  std::size_t max_length;  // longest query, longest key, dropout, scale, causal
};

constexpr PackedSignature kPackedForward{AttentionPass::kForward, 0, 3, 5};
constexpr PackedSignature kPackedBackward{AttentionPass::kBackward, 1, 9, 11};

// The lengths are not recorded: one sequence is the longest, the others share the rest equally.
Work packed_work(Attention all,
                 const PackedSignature& signature,
                 const std::array<std::int64_t, 2>& sequences,
                 const std::array<double, 2>& longest) {
  const auto flops = [&](const Attention& some) {
    return attention_work(some, signature.pass, std::nullopt).flops;
  };
  Attention part = all;
  part.queries = longest[0];
  part.keys = longest[1];
  Work work{flops(part)};
  if (sequences[0] > 1 && sequences[1] > 1) {
    const auto others = static_cast<double>(sequences[0] - 1);
    part.queries = std::floor((all.queries - longest[0]) / others);
    part.keys = std::floor((all.keys - longest[1]) / static_cast<double>(sequences[1] - 1));
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
  attention.flash = true;
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
