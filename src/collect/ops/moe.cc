#include <charconv>
#include <optional>
#include <utility>

#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

constexpr std::string_view kBalanced = "balanced";
constexpr std::string_view kPowerLaw = "power_law_";

// 1.01 for "power_law_1.01"; std::nullopt for another name.
std::optional<double> exponent_of(std::string_view distribution) {
  if (distribution.substr(0, kPowerLaw.size()) != kPowerLaw) return std::nullopt;
  distribution.remove_prefix(kPowerLaw.size());
  double exponent = 0;
  const char* const end = distribution.data() + distribution.size();
  const auto [stopped, error] = std::from_chars(distribution.data(), end, exponent);
  if (error != std::errc() || stopped != end || !(exponent > 0 && exponent < 10)) {
    return std::nullopt;
  }
  return exponent;
}

MoeSpec moe_spec(const Case& point) {
  const std::optional<double> exponent = exponent_of(point.text("distribution"));
  return {.tokens = point.integer("num_tokens"),
          .hidden = point.integer("hidden_size"),
          .intermediate = point.integer("inter_size"),
          .top_k = point.integer("topk"),
          .experts = point.integer("num_experts"),
          .tp = point.integer("moe_tp_size"),
          .ep = point.integer("moe_ep_size"),
          .routing = exponent ? Routing::kPowerLaw : Routing::kBalanced,
          .exponent = exponent.value_or(0),
          .type = point.type("moe_dtype")};
}

// Takes the cases of the public collector, and gpt-oss in bfloat16 beside the model's own 4-bit
// weights, which no other model has.
bool takes_moe(const Case& point) {
  constexpr std::int64_t kMostGpus = 256;
  constexpr std::int64_t kGptOssHidden = 2880;
  constexpr std::int64_t kSmallIntermediate = 768;  // Qwen3-30B-A3B
  constexpr std::int64_t kSmallMostTp = 4;
  const MoeSpec spec = moe_spec(point);
  if (spec.tp * spec.ep > kMostGpus) return false;
  if (spec.intermediate % spec.tp != 0 || spec.experts % spec.ep != 0) return false;
  if (spec.intermediate == kSmallIntermediate && spec.tp > kSmallMostTp) return false;
  if (spec.type == DataType::kBfloat16) return true;
  return (spec.type == DataType::kMxfp4) == (spec.hidden == kGptOssHidden);
}

// hidden_size, inter_size, topk and num_experts of models whose experts have a gate. Nemotron 3,
// which the public collector has too, has none.
AxisGroup::Rows moe_models() {
  return integer_rows({
      {4096, 14336, 2, 8},   // Mixtral 8x7B
      {6144, 16384, 2, 8},   // Mixtral 8x22B
      {7168, 2048, 8, 256},  // DeepSeek-V3
      {4096, 1536, 8, 128},  // Qwen3-235B-A22B
      {6144, 2560, 8, 160},  // Qwen3-Coder-480B-A35B
      {7168, 2048, 8, 384},  // Kimi-K2
      {2048, 768, 8, 128},   // Qwen3-30B-A3B
      {2880, 2880, 4, 128},  // gpt-oss-120b
      {2880, 2880, 4, 32},   // gpt-oss-20b
  });
}

AxisGroup::Rows coarse_moe_models() {
  return integer_rows(
      {{4096, 14336, 2, 8}, {7168, 2048, 8, 256}, {4096, 1536, 8, 128}, {2048, 768, 8, 128}});
}

Axis size_axis(const char* column, const char* help, const char* unit, std::size_t index) {
  return {.column = column,
          .option = "",
          .help = help,
          .unit = unit,
          .common = column_of(moe_models(), index),
          .coarse = column_of(coarse_moe_models(), index)};
}

Axis gpus_axis(const char* column,
               const char* option,
               const char* help,
               std::vector<model::PerfValue> common,
               std::vector<model::PerfValue> coarse) {
  return {.column = column,
          .option = option,
          .help = help,
          .unit = "GPUs",
          .common = std::move(common),
          .coarse = std::move(coarse)};
}

std::vector<Axis> moe_axes() {
  return {
      {.column = "moe_dtype",
       .option = "dtype",
       .help = "type of tokens and weights in the products",
       .unit = "",
       .common = texts({"bfloat16", "fp8", "fp8_block", "w4a16_mxfp4"})},
      {.column = "num_tokens",
       .option = "",
       .help = "tokens of all GPUs",
       .unit = "tokens",
       .common = integers({1,    2,    4,    8,    16,   32,    48,    64,    80,    96,
                           128,  160,  192,  256,  320,  384,   512,   768,   1024,  1536,
                           2048, 3072, 4096, 6144, 8192, 12288, 16384, 20480, 32768, 65536}),
       .coarse = joined(powers(1, 64), powers(256, 16384, 4)),
       .models = powers(1, 16384),
       .nesting = Nesting::kInner},
      size_axis("hidden_size", "elements of a token", "elements", 0),
      size_axis("inter_size", "elements between an expert's products", "elements", 1),
      size_axis("topk", "experts that a token goes to", "experts", 2),
      size_axis("num_experts", "experts of all GPUs", "experts", 3),
      gpus_axis("moe_tp_size", "tp", "GPUs that share an expert; one is measured", powers(1, 32),
                powers(1, 4, 4)),
      gpus_axis("moe_ep_size", "ep", "GPUs that share out the experts; one is measured",
                powers(1, 256), powers(1, 64, 8)),
      {.column = "distribution",
       .option = "",
       .help = "how tokens are routed: balanced, or power_law_ and its exponent",
       .unit = "",
       .common = texts({"balanced", "power_law_1.01", "power_law_1.2"}),
       .coarse = texts({"balanced", "power_law_1.2"}),
       .nesting = Nesting::kInner,
       .accepts = [](std::string_view name) { return name == kBalanced || exponent_of(name); }},
  };
}

const Operator kMoe{
    .name = "moe",
    .summary = "mixture of experts: routing, two products with gated SiLU, weighted sum",
    .table = "moe_perf",
    .axes = moe_axes(),
    .takes = takes_moe,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(moe_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(moe_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{{"moe", "moe_perf", key_of(point), moe_spec(point)}};
        },
    .groups = {{.columns = {"hidden_size", "inter_size", "topk", "num_experts"},
                .common = moe_models(),
                .coarse = coarse_moe_models()}},
};
ASSAY_REGISTER(Operator, kMoe);

}  // namespace
}  // namespace assay::collect
