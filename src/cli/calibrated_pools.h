// The systems of disaggregated deployments, with what a calibration says of each.
#pragma once

#include <filesystem>
#include <string>

#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "core/result.h"
#include "model/table.h"
#include "plan/calibrate/calibration_file.h"
#include "plan/search/disaggregated.h"

namespace assay::cli {

struct CalibratedPools {
  plan::PoolSystem system = {};  // of prompts, and of aggregated workers
  plan::PoolSystem decode_system = {};
  plan::UsedCalibration calibration = {};
  plan::UsedCalibration decode_calibration = {};
  bool is_one_system = true;

  // Names the calibrations that the answer was made with.
  void add_calibrations(model::Book& book) const;
};

// `decode_system` is "" where it is the other one. Errors: as pool_system(), and a calibration that
// has nothing of one of the systems.
core::Result<CalibratedPools> calibrated_pools(PlanInputs& inputs,
                                               const ServedModel& served,
                                               const std::string& decode_system,
                                               const std::filesystem::path& calibration,
                                               const std::string& model);

}  // namespace assay::cli
