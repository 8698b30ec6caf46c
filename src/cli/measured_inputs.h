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
class Option;
class PlanInputs;
struct PriceSources;
struct ServedModel;

// Declares FILE.csv|DIR, --systems-paths, --store and what clients are assumed to send.
void add_measured_options(App& app,
                          std::filesystem::path& input,
                          PriceSources& prices,
                          plan::AssumedClients& clients);

// Reads a table of measured deployments, or a folder of 'plan files' with its results, and prints
// what is doubtful in it.
core::Result<std::vector<plan::MeasuredDeployment>> read_measured(
    const std::filesystem::path& input);

// `inputs` must outlive what it gives.
plan::ValidationInputs validation_inputs(PlanInputs& inputs);

// Declares --calibration FILE.
Option* add_calibration_option(App& app, std::filesystem::path& file);

// The calibration that --calibration names for a deployment; none if the name is empty. Error: the
// file has none of this model by this engine on this system.
core::Result<plan::UsedCalibration> read_calibration(const std::filesystem::path& file,
                                                     const ServedModel& served,
                                                     const std::string& model);

// The entries of a file that 'plan calibrate' wrote; none if the name is empty.
core::Result<std::vector<plan::CalibrationEntry>> read_calibrations(
    const std::filesystem::path& file);

}  // namespace assay::cli
