#include "plan/estimate_disaggregated.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan/cache_transfer.h"
#include "plan/energy.h"
#include "plan/estimate.h"
#include "plan/estimate_memory.h"
#include "plan/search/pool_prices.h"
#include "plan/search/sent_states.h"
#include "plan/uncertainty/step_parts.h"
#include "plan/workload_report.h"

namespace assay::plan {
namespace {

constexpr double kMsPerSecond = 1e3;

// Both instances, priced. What the costs refer to lives as long as it does.
struct PricedPools {
  BoundPrices bound;
  ServedWorker prefill;
  ServedWorker decode;
  BoundPrices::Priced prompts;
  BoundPrices::Priced steps;
};

core::Status price_pools(const serving::Model& model,
                         const PoolsEstimate& request,
                         std::int64_t most_tokens,
                         PricedPools& pools) {
  const serving::Precision precision = served_precision(request.engine, model, request.cache);
  const auto price = [&](const Worker& worker, const PoolSystem& system, ServedWorker& served,
                         BoundPrices::Priced& priced) -> core::Status {
    ASSAY_TRY(check_worker(model, request.engine, precision, worker));
    served = served_instance(model, request.engine, precision, worker, system, request.speculation);
    served.deployment.most_tokens = most_tokens;
    priced = ASSAY_TRY(pools.bound.of(model, served.deployment, worker, system));
    return {};
  };
  ASSAY_TRY(check_pools(request.engine, request.prefill.worker, request.decode.worker));
  ASSAY_TRY(check_sent_states(model, request.engine, request.prefill_system.version,
                              request.prefill.worker, request.decode.worker));
  ASSAY_TRY(price(request.prefill.worker, request.prefill_system, pools.prefill, pools.prompts));
  return price(request.decode.worker, request.decode_system, pools.decode, pools.steps);
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

CachePath path_of_pools(const PoolsEstimate& request, std::int64_t copies) {
  const std::int64_t gpus = request.prefill.instances * request.prefill.worker.gpus() +
                            request.decode.instances * request.decode.worker.gpus();
  // Each copy may lie where it has a place within a node.
  return path_of_copies(request.prefill_system, request.decode_system, gpus, copies,
                        copies * request.decode_system.facts->gpus_per_node);
}

core::Result<CacheTransfer> transfer_of(const serving::Model& model,
                                        const PoolsEstimate& request,
                                        const ServedWorker& decode,
                                        CachePath path) {
  return cache_transfer(sent_bytes_per_token(model, decode, request.prompt_tokens),
                        {request.prefill.worker.gpus(), request.prefill_system.facts},
                        {request.decode.worker.gpus(), request.decode_system.facts}, path);
}

std::string bound_note_of(const PricedPools& pools, const PoolsEstimate& request) {
  const std::array<Chunks, 1> chunks = {Chunks{.requests = 1, .new_tokens = request.prompt_tokens}};
  const Step decoding{.decodes = request.decode_batch,
                      .decode_cached = static_cast<double>(request.prompt_tokens)};
  const LoadParts parts =
      parts_of_pools(*pools.prompts.prices, {.chunks = chunks, .finished_prompts = 1},
                     *pools.steps.prices, decoding);
  return bound_note(parts.mean);
}

LoadEnergy energy_of_prompts_and_step(const PoolsEstimate& request,
                                      const PricedPools& pools,
                                      const Step& decoding,
                                      double steps_of_request,
                                      std::int64_t max_prompt_tokens) {
  StepEnergy prompts;
  visit_prompt_steps(request.prefill_batch, request.prompt_tokens, 0, max_prompt_tokens,
                     [&](const Step& step, double times) {
                       prompts.add(energy_of(pools.prompts.prices->powered_operators(step)), times);
                     });
  return energy_of_pools(
      {.step = prompts, .gpus = request.prefill.worker.tp, .requests = request.prefill_batch},
      {.step = energy_of(pools.steps.prices->powered_operators(decoding)),
       .steps = steps_of_request,
       .gpus = request.decode.worker.tp,
       .requests = request.decode_batch},
      static_cast<double>(request.output_tokens));
}

// A request after the other, with --batch of them a group that decodes.
struct SteadyPools {
  std::int64_t further = 1;  // tokens of a request beyond the first
  double steps = 1;          // that decode them
  Step step;
  double prompt_ms = 0;
  double sent_ms = 0;
  double step_ms = 0;
  double prompts_per_s = 0;
  double decodes_per_s = 0;
};

SteadyPools steady_pools(const PoolsEstimate& request,
                         const PricedPools& pools,
                         std::int64_t max_prompt_tokens,
                         const CacheTransfer& transfer) {
  SteadyPools steady;
  steady.further = std::max<std::int64_t>(1, request.output_tokens - 1);
  steady.steps = expected_steps(request.speculation, steady.further);
  steady.step = {.decodes = request.decode_batch,
                 .decode_cached = static_cast<double>(request.prompt_tokens) +
                                  0.5 * static_cast<double>(steady.further)};
  steady.prompt_ms = prompts_ms(*pools.prompts.cost, request.prefill_batch, request.prompt_tokens,
                                0, max_prompt_tokens);
  steady.sent_ms = transfer_ms(transfer, request.prompt_tokens);
  steady.step_ms = pools.steps.cost->ms(steady.step);
  const std::int64_t prompts =
      request.prefill_batch * pools.prefill.batches() * request.prefill.instances;
  const std::int64_t decodes =
      request.decode_batch * pools.decode.batches() * request.decode.instances;
  steady.prompts_per_s = kMsPerSecond * static_cast<double>(prompts) / steady.prompt_ms;
  steady.decodes_per_s =
      kMsPerSecond * static_cast<double>(decodes) / (steady.steps * steady.step_ms);
  return steady;
}

model::Table steady_table(const PoolsEstimate& request,
                          const SteadyPools& steady,
                          const CacheTransfer& transfer,
                          CachePath path) {
  constexpr double kGiga = 1e9;
  const double ttft_factor = request.prefill_system.calibration.ttft_factor;
  const auto further = static_cast<double>(steady.further);
  model::Table table{.name = "estimate",
                     .title = request.title,
                     .columns = {{.name = "figure"}, {.name = "value"}, {.name = "unit"}}};
  table.add_row({"prompts computed", steady.prompt_ms, "ms"});
  table.add_row({"cache sent", steady.sent_ms, "ms"});
  table.add_row({"TTFT without waiting", ttft_factor * (steady.prompt_ms + steady.sent_ms), "ms"});
  if (request.output_tokens > 1)
    table.add_row({"TPOT", steady.step_ms * (steady.steps / further), "ms"});
  if (request.speculation.tokens > 0) {
    table.add_row({"step that decodes", steady.step_ms, "ms"});
    table.add_row({"tokens per step", further / steady.steps, "of a request"});
    table.notes.push_back(speculation_note(request.speculation));
  }
  table.add_row({"cache of a prompt",
                 transfer.bytes_per_token * static_cast<double>(request.prompt_tokens) / kGiga,
                 "GB"});
  table.add_row({path == CachePath::kWithinNode ? "links of an instance, within a node"
                                                : "links of an instance, between nodes",
                 transfer.gbps, "GB/s"});
  table.add_row({"prompts that are computed", steady.prompts_per_s, "1/s"});
  table.add_row({"requests that are decoded", steady.decodes_per_s, "1/s"});
  table.add_row({"requests", std::min(steady.prompts_per_s, steady.decodes_per_s), "1/s"});
  table.notes.emplace_back(steady.prompts_per_s < steady.decodes_per_s
                               ? "prompts bound it: fewer requests than --batch are being decoded"
                               : "decoding bounds it");
  table.notes.push_back(transfer_source(*request.prefill_system.facts, path));
  return table;
}

}  // namespace

core::Result<model::Book> estimate_disaggregated_book(const serving::Model& model,
                                                      const PoolsEstimate& request) {
  PricedPools pools;
  ASSAY_TRY(price_pools(model, request, request.prompt_tokens + request.output_tokens, pools));
  const ClosedLoop load{.concurrency = request.decode_batch * pools.decode.batches(),
                        .prompt_tokens = request.prompt_tokens,
                        .output_tokens = request.output_tokens};
  const Limits of_prefill =
      ASSAY_TRY(prefill_limits(model, pools.prefill, request.prefill_batch, load));
  ASSAY_TRY(check_room(ASSAY_TRY(limits_of(model, pools.decode, load)), request));
  const CachePath path = path_of_pools(request, 1);
  const CacheTransfer transfer = ASSAY_TRY(transfer_of(model, request, pools.decode, path));
  const SteadyPools steady = steady_pools(request, pools, of_prefill.max_tokens, transfer);
  const std::array<Chunks, 1> chunks = {
      Chunks{.requests = 1, .new_tokens = std::min(request.prompt_tokens, of_prefill.max_tokens)}};
  model::Book book{.title = request.title};
  book.tables.push_back(steady_table(request, steady, transfer, path));
  add_note(bound_note_of(pools, request), book.tables.back());
  ServedWorker of_prompts = pools.prefill;
  of_prompts.max_tokens = of_prefill.max_tokens;
  of_prompts.max_batch = request.prefill_batch;
  book.tables.push_back(memory_table(
      model, of_prompts,
      {.batch = request.prefill_batch, .prompt_tokens = request.prompt_tokens, .is_named = false},
      "Memory of a GPU that computes prompts"));
  book.tables.push_back(memory_table(
      model, pools.decode, {request.decode_batch, request.prompt_tokens, request.output_tokens},
      "Memory of a GPU that decodes"));
  book.tables.back().name = "memory of decoding";
  add_energy(
      energy_of_prompts_and_step(request, pools, steady.step, steady.steps, of_prefill.max_tokens),
      book);
  book.tables.push_back(
      operators_table("decoding", "A step that decodes", *pools.steps.prices, steady.step));
  book.tables.push_back(
      operators_table("prompt", "A step that computes one prompt, or a part of it",
                      *pools.prompts.prices, {.chunks = chunks, .finished_prompts = 1}));
  return book;
}

core::Result<PoolsWorkloadEstimate> estimate_pools_workload(const serving::Model& model,
                                                            const PoolsEstimate& request,
                                                            const PoolsWorkload& load) {
  PricedPools pools;
  const WorkloadLengths lengths = workload_lengths(load.workload);
  ASSAY_TRY(price_pools(model, request, lengths.request_most, pools));
  PoolsEstimate mean = request;
  mean.prompt_tokens = lengths.prompt_mean;
  mean.output_tokens = lengths.output_mean;
  const CachePath path = path_of_pools(mean, load.copies);
  const CacheTransfer transfer = ASSAY_TRY(transfer_of(model, mean, pools.decode, path));
  const Calibration& calibration = request.prefill_system.calibration;
  StepLog prompt_steps;
  StepLog decode_steps;
  const WorkloadMetrics metrics =
      ASSAY_TRY(serve_workload(model,
                               {.prefill = {pools.prefill, request.prefill.instances},
                                .prefill_batch = load.most_prefill_batch,
                                .decode = {pools.decode, request.decode.instances},
                                .transfer = transfer},
                               *pools.prompts.cost, *pools.steps.cost, load.workload,
                               {.copies = load.copies,
                                .max_batch = load.most_batch,
                                .level = before_calibration(load.level, calibration),
                                .steps = &decode_steps,
                                .prompt_steps = &prompt_steps}));
  const std::int64_t gpus = request.prefill.instances * request.prefill.worker.gpus() +
                            request.decode.instances * request.decode.worker.gpus();
  PoolsWorkloadEstimate made{.book = {.title = request.title},
                             .good_share = metrics.serving.good_share};
  made.book.tables = workload_tables(metrics, {.title = request.title,
                                               .gpus = load.copies * gpus,
                                               .level = load.level,
                                               .ttft_factor = calibration.ttft_factor});
  made.book.tables[1].notes.emplace_back(
      "prompts are found in the caches of the instances that compute them; the whole cache of a "
      "prompt is sent");
  made.book.tables[1].notes.push_back(transfer_source(*request.prefill_system.facts, path));
  add_note(bound_note_of(pools, mean), made.book.tables[1]);
  add_energy(energy_of_run({pools.prompts.prices, &prompt_steps, request.prefill.worker.tp},
                           {pools.steps.prices, &decode_steps, request.decode.worker.tp},
                           served_requests(load.workload)),
             made.book);
  const double batches = static_cast<double>(pools.decode.batches());
  const std::array<Chunks, 1> chunks = {Chunks{.requests = 1, .new_tokens = lengths.prompt_mean}};
  made.book.tables.push_back(operators_table(
      "decoding", "A step that decodes", *pools.steps.prices,
      {.decodes = std::max<std::int64_t>(1, std::llround(metrics.serving.mean_batch / batches)),
       .decode_cached = static_cast<double>(lengths.prompt_mean) +
                        0.5 * static_cast<double>(lengths.output_mean)}));
  made.book.tables.push_back(operators_table("prompt", "A step that computes one prompt",
                                             *pools.prompts.prices,
                                             {.chunks = chunks, .finished_prompts = 1}));
  return made;
}

}  // namespace assay::plan
