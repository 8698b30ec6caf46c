// The operators of the steps of a load, each priced once for all that is told of them.
#pragma once

#include <vector>

#include "plan/closed_form.h"
#include "plan/price/step_prices.h"

namespace assay::plan {

struct LoadCosts {
  SteadySteps steps;
  std::vector<OperatorCost> decoding;
  std::vector<OperatorCost> mixed;
  std::vector<OperatorCost> prompts_apart = {};  // only where the load's prompts are
};

// Refers to `prices`.
LoadCosts costs_of_load(const StepPrices& prices, const SteadyLoad& load);

}  // namespace assay::plan
