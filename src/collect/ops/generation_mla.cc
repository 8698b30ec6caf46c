#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/mla.h"

namespace assay::collect {
namespace {

// All heads attend to the one latent, whose first part serves as their values.
AttentionSpec spec_of(const Case& of) {
  return {.batch = of.integer("batch_size"),
          .query_length = of.integer("isl"),
          .kv_length = of.integer("isl") + of.integer("step"),
          .heads = of.integer("num_heads"),
          .kv_heads = 1,
          .head_dim = kMlaLatentDim + kMlaRopeDim,
          .value_dim = kMlaLatentDim,
          .values_in_keys = true,
          .type = of.type("mla_dtype"),
          .kv_type = of.type("kv_cache_dtype")};
}

bool takes(const Case& of) {
  constexpr std::int64_t kCachedTokens = 16777216;
  return of.integer("batch_size") * (of.integer("isl") + of.integer("step")) <= kCachedTokens;
}

std::vector<Axis> axes() {
  return mla_axes({.column = "batch_size",
                   .option = "",
                   .help = "requests",
                   .unit = "requests",
                   .common = powers(1, 1024),
                   .coarse = powers(1, 1024, 4)},
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
                   .least = 0});
}

const Operator kGenerationMla{
    .name = "generation_mla",
    .summary = "latent attention of one new token a request to a cache without pages",
    .table = "generation_mla_perf",
    .axes = axes(),
    .takes = takes,
    .skip = [](const Case& of, const DeviceFacts& facts) { return limit_of(spec_of(of), facts); },
    .cost = [](const Case& of) { return cost_of(spec_of(of)); },
    .parts =
        [](const Case& of) {
          return std::vector<Part>{
              {"mla_generation", "generation_mla_perf", key_of(of), spec_of(of)}};
        },
    .groups = mla_groups(),
    .alias = "mla_generation",
};
ASSAY_REGISTER(Operator, kGenerationMla);

}  // namespace
}  // namespace assay::collect
