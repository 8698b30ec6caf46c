#include "plan/load_costs.h"

namespace assay::plan {

LoadCosts costs_of_load(const StepPrices& prices, const SteadyLoad& load) {
  const SteadySteps steps = steady_steps(load);
  LoadCosts costs{.steps = steps,
                  .decoding = prices.operators(steps.decoding()),
                  .mixed = prices.operators(steps.mixed())};
  if (load.prompts == PromptSteps::kApart)
    costs.prompts_apart = prices.operators({.chunks = steps.chunks, .finished_prompts = 1});
  return costs;
}

}  // namespace assay::plan
