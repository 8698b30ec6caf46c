// Mixture of experts: the exchange of tokens between ranks, and the products of the experts in one
// operator or in two.
#include <cmath>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

// MoEDispatch and MoECombine(tokens[count, hidden], …) move tokens and compute nothing.
core::Result<Estimate> exchange(const OperatorCall& call) {
  const Shape tokens = ASSAY_TRY(call.shape(0, 2));
  const std::optional<double> element = element_bytes(call.type(0));
  Estimate estimate{{{"num_tokens", Argument{tokens[0]}},
                     {"hidden_dim", Argument{tokens[1]}},
                     {"bpe", element ? Argument{static_cast<std::int64_t>(*element)} : Argument{}}},
                    "",
                    {}};
  if (element) estimate.work.bytes = element_count(tokens) * *element;
  estimate.backward_work = estimate.work;
  return estimate;
}

struct Experts {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t inner = 0;
  std::int64_t count = 0;
  std::int64_t top = 0;  // experts per token
  bool gated = false;    // whether the first product also gives a gate
  std::string input_type;
  std::string weight_type;
  std::string output_type;
};

// Returns the expected number of experts that at least one token chose, if all choices are equally
// likely.
double active_experts(const Experts& e) {
  const auto count = static_cast<double>(e.count);
  const double others = (count - static_cast<double>(e.top)) / count;
  return count * (1 - std::pow(others, static_cast<double>(e.tokens)));
}

struct ExpertSizes {
  double tokens, choices, hidden, inner, gate;
  double weights;  // elements of the active experts' weights in one product
};

ExpertSizes sizes_of(const Experts& e) {
  const auto tokens = static_cast<double>(e.tokens);
  const auto hidden = static_cast<double>(e.hidden);
  const auto inner = static_cast<double>(e.inner);
  return {tokens,
          tokens * static_cast<double>(e.top),
          hidden,
          inner,
          e.gated ? 2.0 : 1.0,
          active_experts(e) * hidden * inner};
}

std::vector<Parameter> parameters_of(const Experts& e) {
  return {{"num_tokens", Argument{e.tokens}},
          {"hidden_dim", Argument{e.hidden}},
          {"inter_dim", Argument{e.inner}},
          {"num_experts", Argument{e.count}},
          {"topk", Argument{e.top}},
          {"gated", Argument{e.gated}},
          {"input_dtype", to_argument(e.input_type)},
          {"weight_dtype", to_argument(e.weight_type)}};
}

Estimate estimate_of(const Experts& e) {
  return {parameters_of(e), compute_spec(ComputeUnit::kMatrix, e.input_type), {}};
}

core::Error unfit(const OperatorCall& call) {
  return core::Error{std::string(call.name) + ": tokens and weights do not fit together"};
}

// Reads the weights w1[E, inner·(gated+1), hidden] and w2[E, hidden, inner]. Both may be packed
// along their last dimension.
core::Result<Experts> read_weights(const OperatorCall& call, std::size_t w1, std::size_t w2) {
  const Shape up = ASSAY_TRY(call.shape(w1, 3));
  const Shape down = ASSAY_TRY(call.shape(w2, 3));
  if (up[2] <= 0 || down[1] % up[2] != 0 || up[0] != down[0] || up[0] <= 0) return unfit(call);
  Experts e;
  e.count = up[0];
  e.hidden = down[1];
  e.inner = down[2] * (down[1] / up[2]);
  e.gated = up[1] == 2 * e.inner;
  if (!e.gated && up[1] != e.inner) return unfit(call);
  e.weight_type = call.type(w1);
  return e;
}

core::Result<Experts> with_top(const OperatorCall& call, Experts e, std::size_t position) {
  const std::optional<double> top = call.number(position);
  if (!top || *top < 1 || *top > static_cast<double>(e.count))
    return core::Error{std::string(call.name) + ": experts a token are not recorded"};
  e.top = static_cast<std::int64_t>(*top);
  return e;
}

// fmoe_*_g1u1(out[M,K], input, w1, w2, sorted ids, weights, experts, valid, top, …) multiplies the
// results of a token's experts with weights and sums them.
core::Result<Estimate> fused_experts(const OperatorCall& call) {
  Experts e = ASSAY_TRY(with_top(call, ASSAY_TRY(read_weights(call, 2, 3)), 8));
  const Shape out = ASSAY_TRY(call.shape(0, 2));
  if (out[1] != e.hidden) return unfit(call);
  e.tokens = out[0];
  e.input_type = call.type(1);
  e.output_type = call.type(0);
  Estimate estimate = estimate_of(e);
  estimate.parameters.push_back({"output_dtype", to_argument(e.output_type)});
  const ExpertSizes s = sizes_of(e);
  estimate.work.flops =
      2 * s.choices * s.hidden * s.inner * (s.gate + 1) + s.hidden * (2 * s.choices - s.tokens);
  const std::optional<double> in_bytes = element_bytes(e.input_type);
  const std::optional<double> weight_bytes = element_bytes(e.weight_type);
  const std::optional<double> out_bytes = element_bytes(e.output_type);
  if (in_bytes && weight_bytes && out_bytes)
    estimate.work.bytes =
        s.tokens * s.hidden * (*in_bytes + *out_bytes) + s.weights * (s.gate + 1) * *weight_bytes;
  return estimate;
}

enum class Stage { kUp, kDown };

// The work of one of the two products: it reads `in` elements and writes `out` elements.
Estimate stage_estimate(const Experts& e, Stage stage) {
  const ExpertSizes s = sizes_of(e);
  const bool up = stage == Stage::kUp;
  Estimate estimate = estimate_of(e);
  estimate.work.flops = 2 * s.choices * s.hidden * s.inner * (up ? s.gate : 1);
  const std::optional<double> in_bytes = element_bytes(e.input_type);
  const std::optional<double> weight_bytes = element_bytes(e.weight_type);
  const std::optional<double> out_bytes = element_bytes(e.output_type);
  const double in = up ? s.tokens * s.hidden : s.choices * s.inner;
  const double out = up ? s.choices * s.inner : s.tokens * s.hidden;
  if (in_bytes && weight_bytes && out_bytes)
    estimate.work.bytes =
        in * *in_bytes + s.weights * (up ? s.gate : 1) * *weight_bytes + out * *out_bytes;
  return estimate;
}

// ck_moe_stage1(hidden[M,K], w1, w2, sorted ids, experts, valid, out[M,top,N], top, …)
core::Result<Estimate> first_stage(const OperatorCall& call) {
  Experts e = ASSAY_TRY(with_top(call, ASSAY_TRY(read_weights(call, 1, 2)), 7));
  const Shape tokens = ASSAY_TRY(call.shape(0, 2));
  e.tokens = tokens[0];
  e.input_type = call.type(0);
  e.output_type = call.type(6);
  return stage_estimate(e, Stage::kUp);
}

// ck_moe_stage2(inner[M,top,N], w1, w2, sorted ids, experts, valid, out[M,K], top, …)
core::Result<Estimate> second_stage(const OperatorCall& call) {
  Experts e = ASSAY_TRY(with_top(call, ASSAY_TRY(read_weights(call, 1, 2)), 7));
  const Shape out = ASSAY_TRY(call.shape(6, 2));
  e.tokens = out[0];
  e.input_type = call.type(0);
  e.weight_type = call.type(2);
  e.output_type = call.type(6);
  return stage_estimate(e, Stage::kDown);
}

const OperatorFamily kExchange{"moe exchange", "MoEDispatch MoECombine",
                               "MoE_comm_fwd", "MoE_comm_bwd",
                               "MoE_comm",     &exchange};
ASSAY_REGISTER(OperatorFamily, kExchange);

const OperatorFamily kUnmodelledExchange{"moe exchange without model",
                                         "TokenPermuteMaskMap _OperationFuserAutogradFunction",
                                         "MoE_comm_fwd"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledExchange);

const OperatorFamily kExchangeBackward{
    "moe exchange backward",
    "MoEDispatchBackward MoECombineBackward TokenPermuteMaskMapBackward"
    " _OperationFuserAutogradFunctionBackward",
    "MoE_comm_bwd"};
ASSAY_REGISTER(OperatorFamily, kExchangeBackward);

const OperatorFamily kFusedExperts{"moe fused", "aiter::fmoe_fp8_blockscale_g1u1 aiter::fmoe_g1u1",
                                   "MoE_fused", "",
                                   "MoE_fused", &fused_experts};
ASSAY_REGISTER(OperatorFamily, kFusedExperts);

const OperatorFamily kFirstStage{
    "moe first stage", "aiter::ck_moe_stage1", "MoE_unfused", "", "MoE_unfused", &first_stage};
ASSAY_REGISTER(OperatorFamily, kFirstStage);

const OperatorFamily kSecondStage{"moe second stage", "aiter::ck_moe_stage2", "MoE_unfused", "",
                                  "MoE_unfused",      &second_stage};
ASSAY_REGISTER(OperatorFamily, kSecondStage);

}  // namespace
}  // namespace assay::trace
