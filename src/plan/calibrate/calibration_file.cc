#include "plan/calibrate/calibration_file.h"

#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "core/text.h"

namespace assay::plan {
namespace {

using core::fields::field;
using nlohmann::json;

constexpr const char* kFormat = "assay calibrations";

json json_of(const CalibrationEntry& entry) {
  const FittedCalibration& fitted = entry.fitted;
  return {{"engine", entry.engine},
          {"version", entry.version},
          {"model", entry.model},
          {"system", entry.system},
          {"glue_ms", fitted.calibration.glue_ms},
          {"prompt_factor", fitted.calibration.prompt_factor},
          {"ttft_factor", fitted.calibration.ttft_factor},
          {"points", fitted.points},
          {"tpot_error", fitted.tpot_error},
          {"ttft_error", fitted.ttft_error}};
}

core::Result<CalibrationEntry> entry_of(const json& object) {
  CalibrationEntry entry{.engine = ASSAY_TRY(field<std::string>(object, "engine")),
                         .version = ASSAY_TRY(field<std::string>(object, "version")),
                         .model = ASSAY_TRY(field<std::string>(object, "model")),
                         .system = ASSAY_TRY(field<std::string>(object, "system"))};
  Calibration& calibration = entry.fitted.calibration;
  calibration.glue_ms = ASSAY_TRY(field<double>(object, "glue_ms"));
  calibration.prompt_factor = ASSAY_TRY(field<double>(object, "prompt_factor"));
  calibration.ttft_factor = ASSAY_TRY(field<double>(object, "ttft_factor"));
  entry.fitted.points = ASSAY_TRY(field<std::uint64_t>(object, "points"));
  entry.fitted.tpot_error = ASSAY_TRY(field<double>(object, "tpot_error"));
  entry.fitted.ttft_error = ASSAY_TRY(field<double>(object, "ttft_error"));
  if (calibration.glue_ms < 0 || calibration.prompt_factor <= 0 || calibration.ttft_factor <= 0)
    return core::Error{"glue_ms is below 0, or a factor is not above it"};
  return entry;
}

std::string last_part(const std::string& model) {
  return core::lower_case(model.substr(model.rfind('/') + 1));
}

}  // namespace

std::string calibrations_json(const std::vector<CalibrationEntry>& entries) {
  json list = json::array();
  for (const CalibrationEntry& entry : entries)
    list.push_back(json_of(entry));
  return json{{"format", kFormat}, {"version", 1}, {"calibrations", list}}.dump(2) + "\n";
}

core::Result<std::vector<CalibrationEntry>> parse_calibrations(std::string_view text,
                                                               const std::string& name) {
  const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const json* list =
      file.is_object() && file.value("format", json()) == kFormat && file.contains("calibrations")
          ? &file["calibrations"]
          : nullptr;
  if (list == nullptr || !list->is_array())
    return core::Error{name + ": no file of 'assay plan calibrate'"};
  std::vector<CalibrationEntry> entries;
  for (const json& object : *list) {
    auto entry = object.is_object() ? entry_of(object) : core::Error{"an entry is no object"};
    if (!entry.ok()) return entry.error().context(name);
    entries.push_back(std::move(entry).value());
  }
  return entries;
}

const CalibrationEntry* find_calibration(const std::vector<CalibrationEntry>& entries,
                                         const CalibratedDeployment& asked) {
  const CalibrationEntry* found = nullptr;
  for (const CalibrationEntry& entry : entries) {
    if (entry.engine != asked.engine || entry.system != asked.system ||
        last_part(entry.model) != last_part(asked.model))
      continue;
    if (found == nullptr || entry.version == asked.version) found = &entry;
  }
  return found;
}

}  // namespace assay::plan
