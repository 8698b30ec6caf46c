#include "plan/calibrate/calibration_report.h"

#include <cstdint>

namespace assay::plan {

model::Table calibrations_table(const std::vector<CalibrationEntry>& entries,
                                const std::string& title) {
  model::Table table{.name = "calibration",
                     .title = title,
                     .columns = {{.name = "engine"},
                                 {.name = "version"},
                                 {.name = "model"},
                                 {.name = "system"},
                                 {.name = "rows"},
                                 {.name = "glue", .unit = "ms"},
                                 {.name = "operators x"},
                                 {.name = "prompts x"},
                                 {.name = "TTFT x"},
                                 {.name = "TPOT error", .unit = "%"},
                                 {.name = "TTFT error", .unit = "%"}}};
  table.notes.emplace_back("errors are medians on the rows that calibrate; others are farther off");
  for (const CalibrationEntry& entry : entries) {
    const FittedCalibration& fitted = entry.fitted;
    table.add_row({entry.engine, entry.version, entry.model, entry.system,
                   static_cast<std::int64_t>(fitted.points), fitted.calibration.glue_ms,
                   fitted.calibration.kernel_factor, fitted.calibration.prompt_factor,
                   fitted.calibration.ttft_factor, 100 * fitted.tpot_error,
                   100 * fitted.ttft_error});
  }
  return table;
}

void add_calibration(const UsedCalibration& used, model::Book& book) {
  if (used.entry) book.tables.push_back(calibrations_table({*used.entry}, used.text));
}

}  // namespace assay::plan
