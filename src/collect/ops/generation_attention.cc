#include <algorithm>

#include "collect/kernels/kernel_cost.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kPageTokens = 64;

AttentionSpec generation_spec(const Case& point) {
  AttentionSpec spec = attention_spec(point);
  spec.page_size = kPageTokens;
  return spec;
}

// With a window, engines read the last tokens alone: older pages are freed or passed over. A kernel
// that masks the older ones reads them all (H200: 175 us where 18 do, for one request of 32,768
// tokens and a window of 8,192).
AttentionSpec windowed_spec(const Case& point) {
  AttentionSpec spec = generation_spec(point);
  if (spec.window > 0) spec.kv_length = std::min(spec.kv_length, spec.window);
  spec.window = 0;
  return spec;
}

// The public collector has a budget of cached tokens times heads. It takes a length when at least
// four batch sizes fit into the budget; large batches leave out the longest length that fits.
bool takes_generation(const Case& point) {
  constexpr double kMultiHeadBudget = 8192.0 * 1024;
  constexpr double kGroupedBudget = 2 * kMultiHeadBudget;
  constexpr double kFourthBatch = 8;
  constexpr std::int64_t kLargeBatch = 256;
  constexpr std::int64_t kLongest = 131072;
  const AttentionSpec spec = generation_spec(point);
  const bool is_multi_head = spec.kv_heads == spec.heads;
  if (is_multi_head && spec.window > 0) return false;
  const double budget = is_multi_head ? kMultiHeadBudget : kGroupedBudget;
  const double request = static_cast<double>(spec.kv_length) * static_cast<double>(spec.heads);
  const double all = request * static_cast<double>(spec.batch);
  if (all > budget || request * kFourthBatch > budget) return false;
  return spec.batch < kLargeBatch || (2 * spec.kv_length <= kLongest && 2 * all <= budget);
}

// Servers fill their memory with caches, which the public collector's budget leaves out: 128
// requests of 8,192 tokens with 8 heads of 128 elements are 4 GiB a layer.
bool takes_generation_for_models(const Case& point) {
  constexpr std::int64_t kKeyElements = 1024 * 1024 * 1024;
  constexpr std::int64_t kTokens = 4 * 1024 * 1024;
  const AttentionSpec spec = generation_spec(point);
  const std::int64_t tokens = spec.batch * spec.kv_length;
  const bool fits = tokens <= kTokens && tokens * spec.kv_heads * spec.head_dim <= kKeyElements;
  return fits || takes_generation(point);
}

AxisGroup::Rows generation_heads() {
  AxisGroup::Rows rows = multi_head({1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64});
  for (auto& row : grouped_query({2, 4, 8, 16, 32, 64, 96, 128}))
    rows.push_back(std::move(row));
  return rows;
}

AttentionGrid generation_grid() {
  return {
      .batch_size = {.column = "batch_size",
                     .option = "",
                     .help = "requests",
                     .unit = "requests",
                     .common = powers(1, 2048),
                     .coarse = powers(1, 1024, 4),
                     .models = powers(1, 1024)},
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
               .models = decoding_steps_for_models(),
               .least = 0},
      .heads = generation_heads(),
      .heads_coarse = integer_rows({{8, 8}, {32, 32}, {8, 1}, {64, 1}, {8, 4}, {64, 8}}),
      .types = {texts({"bfloat16", "bfloat16"}), texts({"bfloat16", "fp8"})},
  };
}

const Operator kGenerationAttention{
    .name = "generation_attention",
    .summary = "attention of one new token a request to a paged cache: MHA, GQA and MQA",
    .table = "generation_attention_perf",
    .axes = attention_axes(generation_grid()),
    .takes = takes_generation,
    .takes_for_models = takes_generation_for_models,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(windowed_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(windowed_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{{"generation_attention", "generation_attention_perf",
                                    attention_key(point), windowed_spec(point)}};
        },
    .groups = attention_groups(generation_grid()),
    .alias = "attention_generation",
};
ASSAY_REGISTER(Operator, kGenerationAttention);

}  // namespace
}  // namespace assay::collect
