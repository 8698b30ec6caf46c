// Linear attention by the gated delta net, as in three of four layers of Qwen3-Next: the causal
// convolution over the last tokens, and the gated delta rule.
#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kMostNetTokens = 262144;
constexpr std::int64_t kMostPrompts = 64;

bool is_generation(const Case& point) {
  return point.text("phase") == "generation";
}

DeltaNetSpec delta_net_spec(const Case& point, DeltaNetSpec::Part part) {
  using Phase = DeltaNetSpec::Phase;
  return {.part = part,
          .phase = is_generation(point) ? Phase::kDecode : Phase::kPrompt,
          .batch = point.integer("batch_size"),
          .length = point.integer("seq_len"),
          .key_heads = point.integer("num_k_heads"),
          .key_dim = point.integer("head_k_dim"),
          .value_heads = point.integer("num_v_heads"),
          .value_dim = point.integer("head_v_dim"),
          .taps = point.integer("d_conv")};
}

// A request that decodes has one token.
bool takes_delta_net(const Case& point) {
  const std::int64_t batch = point.integer("batch_size");
  const std::int64_t length = point.integer("seq_len");
  if (is_generation(point)) return length == 1;
  return batch <= kMostPrompts && batch * length <= kMostNetTokens;
}

// Of Qwen3-Next-80B on 1, 2, 4 and 8 GPUs.
AxisGroup::Rows delta_net_heads() {
  return integer_rows({{16, 32}, {8, 16}, {4, 8}, {2, 4}});
}

// The kernels do not depend on d_model, which readers of the public table want.
std::vector<Axis> delta_net_axes() {
  return {
      {.column = "phase",
       .option = "",
       .help = "context for prompts without a state, generation for one token a request",
       .unit = "",
       .common = texts({"context", "generation"}),
       .accepts =
           [](std::string_view phase) { return phase == "context" || phase == "generation"; }},
      {.column = "batch_size",
       .option = "",
       .help = "requests",
       .unit = "requests",
       .common = powers(1, 1024),
       .coarse = powers(1, 1024, 4)},
      {.column = "seq_len",
       .option = "",
       .help = "new tokens of a request",
       .unit = "tokens",
       .common = powers(1, 32768),
       .coarse = joined(integers({1}), powers(16, 16384, 4))},
      {.column = "d_model",
       .option = "",
       .help = "hidden size of the model",
       .unit = "elements",
       .common = integers({2048})},
      {.column = "d_conv",
       .option = "",
       .help = "tokens of the convolution",
       .unit = "tokens",
       .common = integers({4}),
       .least = 2},
      {.column = "num_k_heads",
       .option = "",
       .help = "heads of queries and keys of a GPU",
       .unit = "heads",
       .common = column_of(delta_net_heads(), 0)},
      {.column = "head_k_dim",
       .option = "",
       .help = "elements of a head's queries and keys",
       .unit = "elements",
       .common = integers({128})},
      {.column = "num_v_heads",
       .option = "",
       .help = "heads of values of a GPU",
       .unit = "heads",
       .common = column_of(delta_net_heads(), 1)},
      {.column = "head_v_dim",
       .option = "",
       .help = "elements of a head's values",
       .unit = "elements",
       .common = integers({128})},
  };
}

std::vector<Part> delta_net_parts(const Case& point) {
  return {
      {"gdn_conv", "gdn_perf", key_of(point),
       delta_net_spec(point, DeltaNetSpec::Part::kConvolution)},
      {"gdn_rule", "gdn_perf", key_of(point), delta_net_spec(point, DeltaNetSpec::Part::kRule)}};
}

// The cost is that of the larger part, the delta rule.
const Operator kGatedDeltaNet{
    .name = "gdn",
    .summary = "linear attention: convolution and gated delta rule",
    .table = "gdn_perf",
    .axes = delta_net_axes(),
    .takes = takes_delta_net,
    .skip =
        [](const Case& point, const DeviceFacts& facts) {
          return limit_of(delta_net_spec(point, DeltaNetSpec::Part::kRule), facts);
        },
    .cost =
        [](const Case& point) { return cost_of(delta_net_spec(point, DeltaNetSpec::Part::kRule)); },
    .parts = delta_net_parts,
    .groups = {{.columns = {"num_k_heads", "num_v_heads"}, .common = delta_net_heads()}},
};
ASSAY_REGISTER(Operator, kGatedDeltaNet);

}  // namespace
}  // namespace assay::collect
