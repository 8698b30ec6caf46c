#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/mla.h"

namespace assay::collect {
namespace {

// Keys and values of every head, made from the latent before.
AttentionSpec spec_of(const Case& of) {
  return {.batch = of.integer("batch_size"),
          .query_length = of.integer("isl"),
          .kv_length = of.integer("isl") + of.integer("step"),
          .heads = of.integer("num_heads"),
          .kv_heads = of.integer("num_heads"),
          .head_dim = kMlaNopeDim + kMlaRopeDim,
          .value_dim = kMlaValueDim,
          .latent_dim = kMlaLatentDim + kMlaRopeDim,
          .type = of.type("mla_dtype"),
          .kv_type = of.type("kv_cache_dtype")};
}

bool takes(const Case& of) {
  constexpr std::int64_t kTokens = 65536;
  return of.integer("batch_size") * (of.integer("isl") + of.integer("step")) <= kTokens;
}

std::vector<Axis> axes() {
  return mla_axes({.column = "batch_size",
                   .option = "",
                   .help = "requests",
                   .unit = "requests",
                   .common = powers(1, 256),
                   .coarse = powers(1, 256, 4)},
                  {.column = "isl",
                   .option = "",
                   .help = "new tokens of a request",
                   .unit = "tokens",
                   .common = integers({1, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096,
                                       6144, 8192, 10240, 12288, 16384, 32768}),
                   .coarse = joined(integers({1}), powers(16, 16384, 4))},
                  {.column = "step",
                   .option = "",
                   .help = "tokens of a request that are in the cache already",
                   .unit = "tokens",
                   .common = integers({0}),
                   .least = 0});
}

const Operator kContextMla{
    .name = "context_mla",
    .summary = "causal latent attention of new requests",
    .table = "context_mla_perf",
    .axes = axes(),
    .takes = takes,
    .skip = [](const Case& of, const DeviceFacts& facts) { return limit_of(spec_of(of), facts); },
    .cost = [](const Case& of) { return cost_of(spec_of(of)); },
    .parts =
        [](const Case& of) {
          return std::vector<Part>{{"mla_context", "context_mla_perf", key_of(of), spec_of(of)}};
        },
    .groups = mla_groups(),
    .alias = "mla_context",
};
ASSAY_REGISTER(Operator, kContextMla);

}  // namespace
}  // namespace assay::collect
