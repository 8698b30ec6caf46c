#include "collect/kernels/kernel_cost.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

// All heads attend to the same latent, whose first part serves as their values.
AttentionSpec generation_mla_spec(const Case& point) {
  return {.batch = point.integer("batch_size"),
          .query_length = point.integer("isl"),
          .kv_length = point.integer("isl") + point.integer("step"),
          .heads = point.integer("num_heads"),
          .kv_heads = 1,
          .head_dim = kMlaLatentDim + kMlaRopeDim,
          .value_dim = kMlaLatentDim,
          .values_in_keys = true,
          .type = point.type("mla_dtype"),
          .kv_type = point.type("kv_cache_dtype")};
}

bool takes_generation_mla(const Case& point) {
  constexpr std::int64_t kCachedTokens = 16777216;
  return point.integer("batch_size") * (point.integer("isl") + point.integer("step")) <=
         kCachedTokens;
}

std::vector<Axis> generation_mla_axes() {
  return mla_axes({.column = "batch_size",
                   .option = "",
                   .help = "requests",
                   .unit = "requests",
                   .common = powers(1, 1024),
                   .coarse = powers(1, 1024, 4),
                   .models = powers(1, 1024)},
                  {.column = "isl",
                   .option = "",
                   .help = "new tokens of a request",
                   .unit = "tokens",
                   .common = integers({1})},
                  {.column = "step",
                   .option = "",
                   .help = "tokens in the cache, without the new one",
                   .unit = "tokens",
                   .common = decoding_steps(2),
                   .coarse = decoding_steps(4),
                   .models = decoding_steps_for_models(),
                   .least = 0});
}

const Operator kGenerationMla{
    .name = "generation_mla",
    .summary = "latent attention of one new token a request to a cache without pages",
    .table = "generation_mla_perf",
    .axes = generation_mla_axes(),
    .takes = takes_generation_mla,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(generation_mla_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(generation_mla_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{
              {"mla_generation", "generation_mla_perf", key_of(point), generation_mla_spec(point)}};
        },
    .groups = mla_groups(),
    .alias = "mla_generation",
};
ASSAY_REGISTER(Operator, kGenerationMla);

}  // namespace
}  // namespace assay::collect
