// One deployment, priced: its steps operator by operator.
#pragma once

#include <cstdint>
#include <string>

#include "model/table.h"
#include "plan/closed_form.h"
#include "plan/price/step_prices.h"

namespace assay::plan {

struct EstimateRequest {
  std::string title;  // "qwen3-32b on h200_sxm, trtllm, tp 4"
  SteadyLoad load;
};

// Latencies under the load, and the operators of a step that decodes and of one that computes a
// prompt. Times are those of a whole step.
model::Book estimate_book(const StepPrices& prices, const EstimateRequest& request);

// A step operator by operator, as a table.
model::Table operators_table(const char* name,
                             const std::string& title,
                             const StepPrices& prices,
                             const Step& step);

}  // namespace assay::plan
