#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kPageTokens = 64;

AttentionSpec spec_of(const Case& of) {
  AttentionSpec spec = attention_spec(of);
  spec.page_size = kPageTokens;
  return spec;
}

// The public collector's budget of cached heads. A length is taken when four batch sizes fit it;
// large batches leave out the longest one that fits them.
bool takes(const Case& of) {
  constexpr double kMultiHeadBudget = 8192.0 * 1024;
  constexpr double kGroupedBudget = 2 * kMultiHeadBudget;
  constexpr double kFourthBatch = 8;
  constexpr std::int64_t kLargeBatch = 256;
  constexpr std::int64_t kLongest = 131072;
  const AttentionSpec spec = spec_of(of);
  const bool is_multi_head = spec.kv_heads == spec.heads;
  if (is_multi_head && spec.window > 0) return false;
  const double budget = is_multi_head ? kMultiHeadBudget : kGroupedBudget;
  const double request = static_cast<double>(spec.kv_length) * static_cast<double>(spec.heads);
  const double all = request * static_cast<double>(spec.batch);
  if (all > budget || request * kFourthBatch > budget) return false;
  return spec.batch < kLargeBatch || (2 * spec.kv_length <= kLongest && 2 * all <= budget);
}

AxisGroup::Rows all_heads() {
  AxisGroup::Rows rows = multi_head({1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64});
  for (auto& row : grouped_query({2, 4, 8, 16, 32, 64, 96, 128}))
    rows.push_back(std::move(row));
  return rows;
}

AttentionGrid grid() {
  return {
      .batch_size = {.column = "batch_size",
                     .option = "",
                     .help = "requests",
                     .unit = "requests",
                     .common = powers(1, 2048),
                     .coarse = powers(1, 1024, 4)},
      .isl = {.column = "isl",
              .option = "",
              .help = "new tokens of a request",
              .unit = "tokens",
              .common = integers({1})},
      .step = {.column = "step",
               .option = "",
               .help = "tokens in the cache, without the new one",
               .unit = "tokens",
               .common = decoding_steps(2),
               .coarse = decoding_steps(4),
               .least = 0},
      .heads = all_heads(),
      .heads_coarse = integer_rows({{8, 8}, {32, 32}, {8, 1}, {64, 1}, {8, 4}, {64, 8}}),
      .types = {texts({"bfloat16", "bfloat16"}), texts({"bfloat16", "fp8"})},
  };
}

const Operator kGenerationAttention{
    .name = "generation_attention",
    .summary = "attention of one new token a request to a paged cache: MHA, GQA and MQA",
    .table = "generation_attention_perf",
    .axes = attention_axes(grid()),
    .takes = takes,
    .skip = [](const Case& of, const DeviceFacts& facts) { return limit_of(spec_of(of), facts); },
    .cost = [](const Case& of) { return cost_of(spec_of(of)); },
    .parts =
        [](const Case& of) {
          return std::vector<Part>{{"generation_attention", "generation_attention_perf",
                                    attention_key(of), spec_of(of)}};
        },
    .groups = attention_groups(grid()),
    .alias = "attention_generation",
};
ASSAY_REGISTER(Operator, kGenerationAttention);

}  // namespace
}  // namespace assay::collect
