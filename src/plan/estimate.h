// One deployment, priced: its steps operator by operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/calibrate/calibration.h"
#include "plan/closed_form.h"
#include "plan/price/staged_cost.h"
#include "plan/price/step_prices.h"
#include "plan/serve.h"
#include "plan/uncertainty/error_bars.h"

namespace assay::plan {

struct EstimateRequest {
  std::string title;  // "qwen3-32b on h200_sxm, trtllm, tp 4"
  ServedWorker worker;
  ClosedLoop loop;  // of all its batches
  Pipeline pipeline = {};
  Calibration calibration = {};  // of latencies; operators are shown as tables have them
  std::optional<CalibrationErrors> calibration_errors = std::nullopt;
  std::int64_t gpus_of_stage = 1;  // of a group, that compute a layer for a batch
  // The mean TTFT of a benchmark under this load, simulated; the interval of TTFT is of this one.
  std::optional<double> benchmark_ttft_ms = std::nullopt;
  // Of a GPU; without columns: not told.
  model::Table memory = {};
};

// The operators of a step that decodes, and of one that computes a prompt, under the load. Times
// are those of a whole step.
std::vector<model::Table> operators_tables(const StepPrices& prices, const SteadyLoad& load);

// Latencies under the load, memory, energy, and these operators.
model::Book estimate_book(const StepPrices& prices, const EstimateRequest& request);

// A step operator by operator, as a table.
model::Table operators_table(const char* name,
                             const std::string& title,
                             const StepPrices& prices,
                             const Step& step);

}  // namespace assay::plan
