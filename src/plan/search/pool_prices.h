// Instances of a pool, priced by their mean step at every batch.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/energy.h"
#include "plan/price/staged_cost.h"
#include "plan/price/step_prices.h"
#include "plan/search/disaggregated.h"
#include "plan/serve_disaggregated.h"
#include "plan/uncertainty/step_parts.h"

namespace assay::plan {

// One worker at one batch.
struct PoolChoice {
  Worker worker = {};
  ServedWorker served = {};
  const StepPrices* prices = nullptr;
  const StepCost* cost = nullptr;  // of these, with the pipeline's stages and the calibration
  std::int64_t batch = 1;          // of a group, or of each of its batches where there are stages
  double ms = 0;  // until a batch of prompts is computed, or between the tokens of a request
  double requests_per_s = 0;        // of the instance
  double memory_bytes = 0;          // of a GPU, with the cache that the batch needs
  double sent_bytes_per_token = 0;  // to an instance that decodes
  // Of a step with the batch's prompts, or of one in the middle of its answers.
  StepParts parts = {};
  StepEnergy energy = {};
};

// Prices of workers, each bound once for both pools of one system.
class BoundPrices {
 public:
  struct Priced {
    const StepPrices* prices = nullptr;  // of the whole model
    const StepCost* cost = nullptr;
  };

  // Error: no table answers for an operator, or a link's bandwidth is unknown.
  core::Result<Priced> of(const serving::Model& model,
                          const serving::Deployment& deployment,
                          const Worker& worker,
                          const PoolSystem& system);

 private:
  struct Entry {
    Worker worker;
    const Tables* tables;
    core::Result<StepPrices> prices;
  };

  // A pool's steps: staged, then calibrated.
  struct Cost {
    Cost(const StepPrices& prices, const Pipeline& pipeline, const Calibration& calibration)
        : staged(prices, pipeline), calibrated(staged, calibration) {}

    StagedCost staged;
    CalibratedCost calibrated;
  };

  core::Result<const StepPrices*> prices_of(const serving::Model& model,
                                            const serving::Deployment& deployment,
                                            const Worker& stage,
                                            Tables& tables);

  std::deque<Entry> entries_;
  std::deque<std::unique_ptr<const Cost>> costs_;
};

// A worker as an instance of a pool.
ServedWorker served_instance(const serving::Model& model,
                             Engine engine,
                             const serving::Precision& precision,
                             const Worker& worker,
                             const PoolSystem& system,
                             const Speculation& speculation);

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

// The prompts of a batch, each without its cached prefix.
Chunks prompts_of(const SearchRequest& request, std::int64_t batch);

// A step that decodes a batch in the middle of its answers.
Step decoding_of(const SearchRequest& request, std::int64_t batch);

PricedPool price_prefill(const serving::Model& model,
                         const SearchRequest& request,
                         const PoolSystem& system,
                         BoundPrices& bound);

PricedPool price_decode(const serving::Model& model,
                        const SearchRequest& request,
                        const PoolSystem& system,
                        BoundPrices& bound);

// Gives the steps that compute so many prompts, with how often each counts.
using VisitStep = std::function<void(const Step& step, double times)>;
void visit_prompt_steps(std::int64_t prompts,
                        std::int64_t prompt_tokens,
                        std::int64_t cached_prefix,
                        std::int64_t max_tokens,
                        const VisitStep& visit);

// The time of these steps.
double prompts_ms(const StepCost& cost,
                  std::int64_t prompts,
                  std::int64_t prompt_tokens,
                  std::int64_t cached_prefix,
                  std::int64_t max_tokens);

}  // namespace assay::plan
