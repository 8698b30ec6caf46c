#include "collect/kernels/kernel_cost.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

// The public collector bounds the time of a case and keeps to 32-bit indices.
bool takes_context(const Case& point) {
  constexpr std::int64_t kMultiHeadTokens = 65536;
  constexpr std::int64_t kMultiHeadBatch = 128;
  constexpr std::int64_t kGroupedTokens = 131072;
  constexpr double kKeyBytes = 2147483647;
  const AttentionSpec spec = attention_spec(point);
  const std::int64_t tokens = spec.batch * spec.kv_length;
  const double row_bytes = 2 * static_cast<double>(spec.kv_heads * spec.head_dim);
  if (static_cast<double>(tokens) * row_bytes >= kKeyBytes) return false;
  if (spec.kv_heads < spec.heads) return tokens <= kGroupedTokens;
  return tokens <= kMultiHeadTokens && spec.batch <= kMultiHeadBatch;
}

AxisGroup::Rows context_heads() {
  AxisGroup::Rows rows = multi_head({1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 96});
  for (auto& row : grouped_query({1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 96})) {
    rows.push_back(std::move(row));
  }
  return rows;
}

AttentionGrid context_grid() {
  return {
      .batch_size = {.column = "batch_size",
                     .option = "",
                     .help = "requests",
                     .unit = "requests",
                     .common = powers(1, 256),
                     .coarse = powers(1, 256, 4)},
      .isl = {.column = "isl",
              .option = "",
              .help = "new tokens of a request",
              .unit = "tokens",
              .common = integers({1, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144,
                                  8192, 10240, 12288, 16384, 262144}),
              .coarse = joined(integers({1}), powers(16, 16384, 4)),
              .models = joined(integers({1, 16, 64}), powers(128, 16384))},
      .step = {.column = "step",
               .option = "",
               .help = "tokens of a request that are in the cache already",
               .unit = "tokens",
               .common = integers({0}),
               .least = 0},
      .heads = context_heads(),
      .heads_coarse = integer_rows({{8, 8}, {32, 32}, {8, 1}, {64, 1}, {8, 4}, {64, 8}}),
      .types = {texts({"bfloat16", "bfloat16"}), texts({"bfloat16", "fp8"}), texts({"fp8", "fp8"})},
  };
}

const Operator kContextAttention{
    .name = "context_attention",
    .summary = "causal attention of new requests: MHA, GQA and MQA",
    .table = "context_attention_perf",
    .axes = attention_axes(context_grid()),
    .takes = takes_context,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(attention_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(attention_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{{"context_attention", "context_attention_perf",
                                    attention_key(point), attention_spec(point)}};
        },
    .groups = attention_groups(context_grid()),
    .alias = "attention_context",
};
ASSAY_REGISTER(Operator, kContextAttention);

}  // namespace
}  // namespace assay::collect
