// Tables of how picks keep their limits.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "plan/validate/validate.h"

namespace assay::plan {

// Predictions of the same rows by one scheduler.
struct ScheduledPredictions {
  std::string scheduler;
  const std::vector<Prediction>* predictions = nullptr;
};

// Every scheduler by the prediction itself and with `confidence` (in (0, 1)), at usual limits and
// at measured ones; then the first scheduler's picks by limit, and by slice.
model::Book picks_book(const std::vector<ScheduledPredictions>& schedulers, double confidence);

}  // namespace assay::plan
