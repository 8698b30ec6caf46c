// Tables of calibrations.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "plan/calibrate/calibration_file.h"

namespace assay::plan {

model::Table calibrations_table(const std::vector<CalibrationEntry>& entries,
                                const std::string& title);

// Names the calibration that an answer was made with, in every format; nothing where there is none.
void add_calibration(const UsedCalibration& used, model::Book& book);

}  // namespace assay::plan
