#include "trace/perf/attention_work.h"

#include <algorithm>
#include <cmath>

namespace assay::trace {
namespace {

double causal_fraction(const Attention& a) {
  if (!a.causal) return 1;
  if (a.queries == a.keys) return 0.5;
  const double shorter = std::min(a.queries, a.keys);
  const double triangle = shorter * shorter / 2;
  const bool more_queries = a.queries > a.keys;
  // The part of the rectangle beside the triangle is kept or masked as a whole.
  const double beside = a.queries * a.keys - shorter * shorter;
  const bool kept = more_queries == (a.diagonal == CausalDiagonal::kTopLeft);
  return (triangle + (kept ? beside : 0)) / (a.queries * a.keys);
}

double forward_flops(const Attention& a) {
  const double pairs = a.batch * a.query_heads * a.queries * a.keys;
  return 2 * pairs * (a.key_width + a.value_width) * causal_fraction(a);
}

// dV and dP cost what P·V does, dQ and dK what Q·Kᵀ does; then dK and dV of the query heads that
// share a key head are added up.
double backward_flops(const Attention& a) {
  const double pairs = a.batch * a.query_heads * a.queries * a.keys;
  const double shared_heads = std::floor(a.query_heads / a.key_heads) - 1;
  const double products = 2 * pairs * (2 * a.value_width + (a.flash ? 3 : 2) * a.key_width);
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

}  // namespace

Work attention_work(const Attention& attention,
                    AttentionPass pass,
                    std::optional<double> element_size) {
  const bool forward = pass == AttentionPass::kForward;
  Work work{forward ? forward_flops(attention) : backward_flops(attention)};
  if (element_size)
    work.bytes = *element_size * (forward ? forward_elements : backward_elements)(attention);
  return work;
}

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

void add_attention_flags(std::vector<Parameter>& parameters,
                         const OperatorCall& call,
                         const AttentionArguments& at,
                         bool flash) {
  parameters.push_back({"dropout", Argument{call.number(at.dropout).value_or(0)}});
  parameters.push_back({"causal", Argument{call.flag(at.causal)}});
  parameters.push_back({"flash_impl", Argument{flash}});
  // The public tool records the types of the first two arguments, which of a backward operator
  // are not query and key.
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

std::optional<double> attention_element_bytes(const OperatorCall& call, std::size_t position) {
  return call.like_public_tool() ? 2 : element_bytes(call.type(position));
}

}  // namespace assay::trace
