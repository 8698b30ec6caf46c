// Instances of a pool, priced by their mean step at every batch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/price/step_prices.h"
#include "plan/search/disaggregated.h"
#include "plan/serve_disaggregated.h"

namespace assay::plan {

// One worker at one batch.
struct PoolChoice {
  Worker worker = {};
  ServedWorker served = {};
  const StepPrices* prices = nullptr;
  std::int64_t batch = 1;     // of a group
  double ms = 0;              // until a batch of prompts is computed, or of a step that decodes
  double requests_per_s = 0;  // of the instance
  double memory_bytes = 0;    // of a GPU, with the cache that the batch needs
  double sent_bytes_per_token = 0;  // to an instance that decodes
};

// Prices of workers, each bound once for both pools of one system.
class BoundPrices {
 public:
  // Error: no table answers for an operator.
  core::Result<const StepPrices*> of(const serving::Model& model,
                                     const serving::Deployment& deployment,
                                     const Worker& worker,
                                     Tables& tables);

 private:
  struct Entry {
    Worker worker;
    const Tables* tables;
    core::Result<StepPrices> prices;
  };

  std::deque<Entry> entries_;
};

struct PricedPool {
  std::vector<PoolChoice> choices = {};
  std::vector<Refused> refused = {};
};

// Prompts and answers of the mean length that the request's clients send.
struct MeanLengths {
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
};

MeanLengths mean_lengths(const SearchRequest& request);

PricedPool price_prefill(const serving::Model& model,
                         const SearchRequest& request,
                         const PoolSystem& system,
                         BoundPrices& bound);

PricedPool price_decode(const serving::Model& model,
                        const SearchRequest& request,
                        const PoolSystem& system,
                        BoundPrices& bound);

// The time of the steps that compute so many prompts.
double prompts_ms(const StepCost& cost,
                  std::int64_t prompts,
                  std::int64_t prompt_tokens,
                  std::int64_t cached_prefix,
                  std::int64_t max_tokens);

}  // namespace assay::plan
