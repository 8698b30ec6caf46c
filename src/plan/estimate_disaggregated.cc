#include "plan/estimate_disaggregated.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "plan/cache_transfer.h"
#include "plan/estimate.h"
#include "plan/search/pool_prices.h"

namespace assay::plan {
namespace {

constexpr double kMsPerSecond = 1e3;

struct PricedInstance {
  ServedWorker served;
  StepPrices prices;
};

core::Result<PricedInstance> price_instance(const serving::Model& model,
                                            const PoolsEstimate& request,
                                            const Worker& worker,
                                            const PoolSystem& system) {
  const serving::Precision precision = served_precision(request.engine, model.precision);
  ServedWorker served{
      .engine = request.engine,
      .deployment = deployment_of(model, worker, precision),
      .groups = worker.dp,
      .memory = {.capacity_bytes = system.facts->memory_bytes,
                 .communication_bytes = system.facts->nccl_bytes_of(worker.gpus())}};
  StepPrices prices = ASSAY_TRY(StepPrices::bind(model, served.deployment, *system.tables));
  return PricedInstance{std::move(served), std::move(prices)};
}

// Whether the caches of so many requests fit what the weights leave.
core::Status check_room(const Limits& limits, const PoolsEstimate& request) {
  const std::int64_t tokens = request.prompt_tokens + request.output_tokens;
  if (request.decode_batch * tokens <= limits.kv_tokens) return {};
  return core::Error{
      fmt::format("--batch {}: an instance that decodes has room for {} requests of "
                  "{} tokens a group",
                  request.decode_batch, limits.kv_tokens / tokens, tokens)};
}

CachePath path_of_pools(const PoolsEstimate& request) {
  const std::int64_t gpus = request.prefill.instances * request.prefill.worker.gpus() +
                            request.decode.instances * request.decode.worker.gpus();
  const bool is_within = request.prefill_system.facts == request.decode_system.facts &&
                         gpus <= request.decode_system.facts->gpus_per_node;
  return is_within ? CachePath::kWithinNode : CachePath::kBetweenNodes;
}

}  // namespace

core::Result<model::Book> estimate_disaggregated_book(const serving::Model& model,
                                                      const PoolsEstimate& request) {
  const PricedInstance prefill =
      ASSAY_TRY(price_instance(model, request, request.prefill.worker, request.prefill_system));
  const PricedInstance decode =
      ASSAY_TRY(price_instance(model, request, request.decode.worker, request.decode_system));
  const ClosedLoop load{.concurrency = request.decode_batch * decode.served.groups,
                        .prompt_tokens = request.prompt_tokens,
                        .output_tokens = request.output_tokens};
  const Limits of_prefill =
      ASSAY_TRY(prefill_limits(model, prefill.served, request.prefill_batch, load));
  ASSAY_TRY(check_room(ASSAY_TRY(limits_of(model, decode.served, load)), request));
  const CachePath path = path_of_pools(request);
  const CacheTransfer transfer =
      ASSAY_TRY(cache_transfer(sent_bytes_per_token(model, decode.served, request.prompt_tokens),
                               {request.prefill.worker.gpus(), request.prefill_system.facts},
                               {request.decode.worker.gpus(), request.decode_system.facts}, path));
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, request.output_tokens - 1));
  const Step step{.decodes = request.decode_batch,
                  .decode_cached = static_cast<double>(request.prompt_tokens) + 0.5 * steps};
  const double prompt = prompts_ms(prefill.prices, request.prefill_batch, request.prompt_tokens, 0,
                                   of_prefill.max_tokens);
  const double sent = transfer_ms(transfer, request.prompt_tokens);
  const double tpot = decode.prices.ms(step);
  const double prompts_per_s = kMsPerSecond *
                               static_cast<double>(request.prefill_batch * prefill.served.groups *
                                                   request.prefill.instances) /
                               prompt;
  const double decodes_per_s =
      kMsPerSecond *
      static_cast<double>(request.decode_batch * decode.served.groups * request.decode.instances) /
      (steps * tpot);
  constexpr double kGiga = 1e9;
  model::Table table{.name = "estimate",
                     .title = request.title,
                     .columns = {{.name = "figure"}, {.name = "value"}, {.name = "unit"}}};
  table.add_row({"prompts computed", prompt, "ms"});
  table.add_row({"cache sent", sent, "ms"});
  table.add_row({"TTFT without waiting", prompt + sent, "ms"});
  table.add_row({"TPOT", tpot, "ms"});
  table.add_row({"cache of a prompt",
                 transfer.bytes_per_token * static_cast<double>(request.prompt_tokens) / kGiga,
                 "GB"});
  table.add_row({path == CachePath::kWithinNode ? "links of an instance, within a node"
                                                : "links of an instance, between nodes",
                 transfer.gbps, "GB/s"});
  table.add_row({"prompts that are computed", prompts_per_s, "1/s"});
  table.add_row({"requests that are decoded", decodes_per_s, "1/s"});
  table.add_row({"requests", std::min(prompts_per_s, decodes_per_s), "1/s"});
  table.notes.emplace_back(prompts_per_s < decodes_per_s
                               ? "prompts bound it: fewer requests than --batch are being decoded"
                               : "decoding bounds it");
  table.notes.emplace_back("links have their own figures; no transfer of caches was measured");
  const std::array<Chunks, 1> chunks = {
      Chunks{.requests = 1, .new_tokens = std::min(request.prompt_tokens, of_prefill.max_tokens)}};
  model::Book book{.title = request.title};
  book.tables.push_back(std::move(table));
  book.tables.push_back(operators_table("decoding", "A step that decodes", decode.prices, step));
  book.tables.push_back(operators_table("prompt",
                                        "A step that computes one prompt, or a part of it",
                                        prefill.prices, {.chunks = chunks, .finished_prompts = 1}));
  return book;
}

}  // namespace assay::plan
