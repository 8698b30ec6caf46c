#include "collect/kernels/kernel_cost.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

// Every head has keys and values of its own, which were made from the latent before.
AttentionSpec context_mla_spec(const Case& point) {
  return {.batch = point.integer("batch_size"),
          .query_length = point.integer("isl"),
          .kv_length = point.integer("isl") + point.integer("step"),
          .heads = point.integer("num_heads"),
          .kv_heads = point.integer("num_heads"),
          .head_dim = kMlaNopeDim + kMlaRopeDim,
          .value_dim = kMlaValueDim,
          .latent_dim = kMlaLatentDim + kMlaRopeDim,
          .type = point.type("mla_dtype"),
          .kv_type = point.type("kv_cache_dtype")};
}

bool takes_context_mla(const Case& point) {
  constexpr std::int64_t kTokens = 65536;
  return point.integer("batch_size") * (point.integer("isl") + point.integer("step")) <= kTokens;
}

std::vector<Axis> context_mla_axes() {
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
                   .coarse = joined(integers({1}), powers(16, 16384, 4)),
                   .models = joined(integers({1, 16, 64}), powers(128, 16384))},
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
    .axes = context_mla_axes(),
    .takes = takes_context_mla,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(context_mla_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(context_mla_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{
              {"mla_context", "context_mla_perf", key_of(point), context_mla_spec(point)}};
        },
    .groups = mla_groups(),
    .alias = "mla_context",
};
ASSAY_REGISTER(Operator, kContextMla);

}  // namespace
}  // namespace assay::collect
