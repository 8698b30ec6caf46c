#include "plan/search/pool_prices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "plan/cache_transfer.h"
#include "plan/schedule/workload.h"

namespace assay::plan {
namespace {

constexpr std::int64_t kMostPoolBatch = 1024;      // requests of a group that decode
constexpr std::int64_t kMostPromptTokens = 16384;  // of prompts that are computed at once

// 1 to 24, then on in steps of a twelfth: rates of prompts and of decoding match the better, the
// finer they are.
std::vector<std::int64_t> pool_batches(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t batch = 1; batch <= most; batch += std::max<std::int64_t>(1, batch / 12))
    sizes.push_back(batch);
  return sizes;
}

double fixed_bytes(const MemoryUse& memory) {
  return memory.weight_bytes + memory.activation_bytes + memory.communication_bytes +
         memory.runtime_bytes;
}

// Prices every worker of a pool.
class PoolPricer {
 public:
  PoolPricer(const serving::Model& model,
             const SearchRequest& request,
             const PoolSystem& system,
             BoundPrices& bound)
      : model_(model), request_(request), system_(system), bound_(bound) {}

  template <typename Add>
  PricedPool price(const Add& add) {
    const std::int64_t most_gpus = request_.most_gpus_of_copy() - 1;
    const std::int64_t most =
        std::min(most_gpus, request_.most_gpus_of_stage(system_.facts->gpus_per_node));
    Workers workers = workers_of(model_, request_.engine, request_.precision, most);
    for (ExcludedWorker& excluded : workers.excluded)
      pool_.refused.push_back({excluded.worker, std::move(excluded.reason)});
    Workers staged = staged_workers_of(model_, workers.possible, request_.most_stages, most_gpus);
    for (ExcludedWorker& excluded : staged.excluded)
      pool_.refused.push_back({excluded.worker, std::move(excluded.reason)});
    workers.possible.insert(workers.possible.end(), staged.possible.begin(), staged.possible.end());
    for (const Worker& worker : workers.possible) {
      ServedWorker served = served_instance(model_, request_.engine, request_.precision, worker,
                                            system_, request_.speculation);
      served.deployment.most_tokens = request_.prompt_tokens + request_.output_tokens;
      if (core::Status done = add(*this, worker, served); !done.ok())
        pool_.refused.push_back({worker, done.error().message});
    }
    return std::move(pool_);
  }

  core::Status add_prefill(const Worker& worker, const ServedWorker& served) {
    const ClosedLoop load = load_of(served.batches());
    if (const auto alone = prefill_limits(model_, served, 1, load); !alone.ok())
      return alone.error();
    const BoundPrices::Priced priced = ASSAY_TRY(priced_of(worker, served));
    const MemoryUse memory = memory_of_worker(model_, served, load);
    const MeanLengths mean = mean_lengths(request_);
    for (std::int64_t batch = 1; batch == 1 || batch * request_.prompt_tokens <= kMostPromptTokens;
         batch *= 2) {
      const core::Result<Limits> limits = prefill_limits(model_, served, batch, load);
      const std::int64_t needed =
          memory.shared_tokens + batch * (request_.prompt_tokens - memory.shared_tokens);
      if (!limits.ok() || limits.value().kv_tokens < needed) break;
      const double ms = prompts_ms(*priced.cost, batch, mean.prompt_tokens, request_.cached_prefix,
                                   limits.value().max_tokens);
      const std::vector<OperatorCost> step = step_of_prompts(*priced.prices, batch);
      pool_.choices.push_back(
          {.worker = worker,
           .served = served,
           .prices = priced.prices,
           .cost = priced.cost,
           .batch = batch,
           .ms = ms,
           .requests_per_s = 1000 * static_cast<double>(batch * served.batches()) / ms,
           .memory_bytes =
               fixed_bytes(memory) + memory.bytes_of(batch * served.pp, request_.prompt_tokens),
           .parts = parts_of(step),
           .energy = energy_of(step)});
    }
    return {};
  }

  // A cache that comes shares nothing.
  core::Status add_decode(const Worker& worker, const ServedWorker& served) {
    ClosedLoop load = load_of(served.batches());
    load.prefix_tokens = 0;
    const Limits limits = ASSAY_TRY(limits_of(model_, served, load));
    const BoundPrices::Priced priced = ASSAY_TRY(priced_of(worker, served));
    const MemoryUse memory = memory_of_worker(model_, served, load);
    const MeanLengths mean = mean_lengths(request_);
    const double sent = sent_bytes_per_token(model_, served, mean.prompt_tokens);
    const std::int64_t tokens = request_.prompt_tokens + request_.output_tokens;
    const std::int64_t further = std::max<std::int64_t>(1, mean.output_tokens - 1);
    const auto further_tokens = static_cast<double>(further);
    const double steps_per_token = expected_steps(request_.speculation, further) / further_tokens;
    const double cached = static_cast<double>(mean.prompt_tokens) + 0.5 * further_tokens;
    for (const std::int64_t batch :
         pool_batches(std::min(kMostPoolBatch, limits.kv_tokens / tokens))) {
      const std::vector<OperatorCost> step =
          priced.prices->powered_operators(decoding_of(request_, batch));
      const double ms =
          steps_per_token * priced.cost->ms({.decodes = batch, .decode_cached = cached});
      pool_.choices.push_back(
          {.worker = worker,
           .served = served,
           .prices = priced.prices,
           .cost = priced.cost,
           .batch = batch,
           .ms = ms,
           .requests_per_s =
               1000 * static_cast<double>(batch * served.batches()) / (further_tokens * ms),
           .memory_bytes = fixed_bytes(memory) + memory.bytes_of(batch * served.pp, tokens),
           .sent_bytes_per_token = sent,
           .parts = parts_of(step),
           .energy = energy_of(step)});
    }
    return {};
  }

 private:
  [[nodiscard]] ClosedLoop load_of(std::int64_t concurrency) const {
    return {.concurrency = concurrency,
            .prompt_tokens = request_.prompt_tokens,
            .output_tokens = request_.output_tokens,
            .least_length = request_.least_length,
            .prefix_tokens = request_.cached_prefix};
  }

  [[nodiscard]] std::vector<OperatorCost> step_of_prompts(const StepPrices& prices,
                                                          std::int64_t batch) const {
    const Chunks prompts = prompts_of(request_, batch);
    return prices.powered_operators({.chunks = std::span(&prompts, 1), .finished_prompts = batch});
  }

  core::Result<BoundPrices::Priced> priced_of(const Worker& worker, const ServedWorker& served) {
    return bound_.of(model_, served.deployment, worker, system_);
  }

  const serving::Model& model_;
  const SearchRequest& request_;
  const PoolSystem& system_;
  BoundPrices& bound_;
  PricedPool pool_;
};

}  // namespace

core::Result<const StepPrices*> BoundPrices::prices_of(const serving::Model& model,
                                                       const serving::Deployment& deployment,
                                                       const Worker& stage,
                                                       Tables& tables) {
  auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.worker == stage && entry.tables == &tables;
  });
  if (known == entries_.end()) {
    entries_.push_back({stage, &tables, StepPrices::bind(model, deployment, tables)});
    known = std::prev(entries_.end());
  }
  if (!known->prices.ok()) return known->prices.error();
  return &known->prices.value();
}

core::Result<BoundPrices::Priced> BoundPrices::of(const serving::Model& model,
                                                  const serving::Deployment& deployment,
                                                  const Worker& worker,
                                                  const PoolSystem& system) {
  Worker stage = worker;
  stage.pp = 1;
  const StepPrices* prices = ASSAY_TRY(prices_of(model, deployment, stage, *system.tables));
  const auto link = [&](std::int64_t gpus) { return stage_link(*system.facts, gpus); };
  const Pipeline pipeline =
      ASSAY_TRY(pipeline_of(model, worker, system.facts->gpus_per_node, link));
  costs_.push_back(std::make_unique<const Cost>(*prices, pipeline, system.calibration));
  return Priced{prices, &costs_.back()->calibrated};
}

ServedWorker served_instance(const serving::Model& model,
                             Engine engine,
                             const serving::Precision& precision,
                             const Worker& worker,
                             const PoolSystem& system,
                             const Speculation& speculation) {
  serving::Deployment deployment = deployment_of(model, worker, precision, speculation.tokens);
  deployment.head_norm = head_norm_of(engine, system.version);
  return {.engine = engine,
          .deployment = deployment,
          .groups = worker.dp,
          .memory = memory_of_gpu(*system.facts, worker.gpus()),
          .pp = worker.pp,
          .speculation = speculation,
          .kept = kept_cache(engine, system.version, Caches::kSent, model.family)};
}

MeanLengths mean_lengths(const SearchRequest& request) {
  const auto of = [&](std::int64_t tokens) {
    return std::llround(mean_tokens(static_cast<double>(tokens), request.least_length));
  };
  return {.prompt_tokens = of(request.prompt_tokens), .output_tokens = of(request.output_tokens)};
}

Chunks prompts_of(const SearchRequest& request, std::int64_t batch) {
  const std::int64_t computed = mean_lengths(request).prompt_tokens - request.cached_prefix;
  return {.requests = batch,
          .new_tokens = std::max<std::int64_t>(1, computed),
          .cached_tokens = request.cached_prefix};
}

Step decoding_of(const SearchRequest& request, std::int64_t batch) {
  const MeanLengths mean = mean_lengths(request);
  return {.decodes = batch,
          .decode_cached = static_cast<double>(mean.prompt_tokens) +
                           0.5 * static_cast<double>(mean.output_tokens)};
}

PricedPool price_prefill(const serving::Model& model,
                         const SearchRequest& request,
                         const PoolSystem& system,
                         BoundPrices& bound) {
  return PoolPricer(model, request, system, bound)
      .price([](PoolPricer& pricer, const Worker& worker, const ServedWorker& served) {
        return pricer.add_prefill(worker, served);
      });
}

PricedPool price_decode(const serving::Model& model,
                        const SearchRequest& request,
                        const PoolSystem& system,
                        BoundPrices& bound) {
  return PoolPricer(model, request, system, bound)
      .price([](PoolPricer& pricer, const Worker& worker, const ServedWorker& served) {
        return pricer.add_decode(worker, served);
      });
}

void visit_prompt_steps(std::int64_t prompts,
                        std::int64_t prompt_tokens,
                        std::int64_t cached_prefix,
                        std::int64_t max_tokens,
                        const VisitStep& visit) {
  const std::int64_t computed = std::max<std::int64_t>(1, prompt_tokens - cached_prefix);
  const auto visit_one = [&](std::int64_t requests, std::int64_t tokens, std::int64_t cached,
                             double times) {
    const std::array<Chunks, 1> chunks = {
        Chunks{.requests = requests, .new_tokens = tokens, .cached_tokens = cached}};
    const bool ends = cached + tokens == cached_prefix + computed;
    visit({.chunks = chunks, .finished_prompts = ends ? requests : 0}, times);
  };
  if (computed > max_tokens) {
    for (std::int64_t done = 0; done < computed; done += max_tokens)
      visit_one(1, std::min(max_tokens, computed - done), cached_prefix + done,
                static_cast<double>(prompts));
    return;
  }
  const std::int64_t at_once = std::min(prompts, max_tokens / computed);
  for (std::int64_t left = prompts; left > 0; left -= at_once)
    visit_one(std::min(at_once, left), computed, cached_prefix, 1);
}

double prompts_ms(const StepCost& cost,
                  std::int64_t prompts,
                  std::int64_t prompt_tokens,
                  std::int64_t cached_prefix,
                  std::int64_t max_tokens) {
  double sum = 0;
  visit_prompt_steps(prompts, prompt_tokens, cached_prefix, max_tokens,
                     [&](const Step& step, double times) { sum += times * cost.ms(step); });
  return sum;
}

}  // namespace assay::plan
