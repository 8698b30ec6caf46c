// Calibrations as a file: one for each engine, version, model and system that was measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "plan/calibrate/calibration.h"

namespace assay::plan {

struct CalibrationEntry {
  std::string engine;   // "vllm"
  std::string version;  // "" where the measurements do not tell it
  std::string model;    // as the measurements name it: "Qwen/Qwen3-32B"
  std::string system;   // "h100_sxm"
  FittedCalibration fitted = {};
  // The measured rows that told it, as their table names them; nobody may judge it by these.
  std::vector<std::string> rows = {};
};

std::string calibrations_json(const std::vector<CalibrationEntry>& entries);

// Error: the text is of no such file, or of one that a later assay wrote, or damaged; it names the
// field.
core::Result<std::vector<CalibrationEntry>> parse_calibrations(std::string_view json,
                                                               const std::string& name);

// What is asked for; a version that is "" matches any.
struct CalibratedDeployment {
  std::string engine;
  std::string version;
  std::string model;
  std::string system;
};

// The entry of this engine, model and system: of this version, else of the newest. A model matches
// by the last part of its name, whatever its case. Null if there is none.
const CalibrationEntry* find_calibration(const std::vector<CalibrationEntry>& entries,
                                         const CalibratedDeployment& asked);

// A calibration that answers are made with, and how they name it; "" where there is none.
struct UsedCalibration {
  std::optional<CalibrationEntry> entry = std::nullopt;
  std::string text = {};

  [[nodiscard]] Calibration calibration() const {
    return entry ? entry->fitted.calibration : Calibration();
  }

  [[nodiscard]] std::optional<CalibrationErrors> errors() const {
    return entry ? errors_of(entry->fitted) : std::nullopt;
  }
};

// Error: there is no such entry; it names those that `file` has.
core::Result<UsedCalibration> calibration_for(const std::vector<CalibrationEntry>& entries,
                                              const CalibratedDeployment& asked,
                                              const std::string& file);

}  // namespace assay::plan
