// What commands on measured deployments share: their options, and how they read them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "plan/calibrate/calibration_file.h"
#include "plan/validate/measured.h"
#include "plan/validate/validate.h"

namespace assay::cli {

class App;
class PlanInputs;

// Declares FILE.csv|DIR, --systems-paths and what clients are assumed to send.
void add_measured_options(App& app,
                          std::filesystem::path& input,
                          std::filesystem::path& systems,
                          plan::AssumedClients& clients);

// Reads a table of measured deployments, or a folder of 'plan files' with its results, and prints
// what is doubtful in it.
core::Result<std::vector<plan::MeasuredDeployment>> read_measured(
    const std::filesystem::path& input);

// `inputs` must outlive what it gives.
plan::ValidationInputs validation_inputs(PlanInputs& inputs);

// Declares --calibration.
void add_calibration_option(App& app, std::filesystem::path& file);

// The entries of a file that 'plan calibrate' wrote; none if the name is empty.
core::Result<std::vector<plan::CalibrationEntry>> read_calibrations(
    const std::filesystem::path& file);

}  // namespace assay::cli
