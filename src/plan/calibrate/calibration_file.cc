#include "plan/calibrate/calibration_file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

#include "core/json_fields.h"
#include "core/text.h"
#include "store/systems/version_order.h"

namespace assay::plan {
namespace {

using core::fields::field;
using nlohmann::json;

constexpr const char* kFormat = "assay calibrations";
constexpr std::int64_t kFormatVersion = 1;

json json_of(const CalibrationEntry& entry) {
  const FittedCalibration& fitted = entry.fitted;
  return {{"engine", entry.engine},
          {"version", entry.version},
          {"model", entry.model},
          {"system", entry.system},
          {"glue_ms", fitted.calibration.glue_ms},
          {"kernel_factor", fitted.calibration.kernel_factor},
          {"prompt_factor", fitted.calibration.prompt_factor},
          {"ttft_factor", fitted.calibration.ttft_factor},
          {"points", fitted.points},
          {"tpot_error", fitted.tpot_error},
          {"ttft_error", fitted.ttft_error},
          {"rows", entry.rows}};
}

core::Result<CalibrationEntry> entry_of(const json& object) {
  CalibrationEntry entry;
  entry.engine = ASSAY_TRY(field<std::string>(object, "engine"));
  entry.version = ASSAY_TRY(field<std::string>(object, "version"));
  entry.model = ASSAY_TRY(field<std::string>(object, "model"));
  entry.system = ASSAY_TRY(field<std::string>(object, "system"));
  Calibration& calibration = entry.fitted.calibration;
  calibration.glue_ms = ASSAY_TRY(field<double>(object, "glue_ms"));
  calibration.kernel_factor = ASSAY_TRY(field<double>(object, "kernel_factor"));
  calibration.prompt_factor = ASSAY_TRY(field<double>(object, "prompt_factor"));
  calibration.ttft_factor = ASSAY_TRY(field<double>(object, "ttft_factor"));
  entry.fitted.points = ASSAY_TRY(field<std::uint64_t>(object, "points"));
  entry.fitted.tpot_error = ASSAY_TRY(field<double>(object, "tpot_error"));
  entry.fitted.ttft_error = ASSAY_TRY(field<double>(object, "ttft_error"));
  ASSAY_TRY(core::fields::read(object, "rows", entry.rows));
  if (calibration.glue_ms < 0 || calibration.kernel_factor <= 0 || calibration.prompt_factor <= 0 ||
      calibration.ttft_factor <= 0)
    return core::Error{"glue_ms is below 0, or a factor is not above it"};
  return entry;
}

std::string last_part(const std::string& model) {
  return core::lower_case(model.substr(model.rfind('/') + 1));
}

core::Status check_format(const json& file) {
  if (!file.is_object() || file.value("format", json()) != kFormat)
    return core::Error{"no file of 'assay plan calibrate'"};
  const auto version = ASSAY_TRY(field<std::int64_t>(file, "version"));
  if (version > kFormatVersion)
    return core::Error{fmt::format("a later assay wrote it, in format {}; this one reads format {}",
                                   version, kFormatVersion)};
  const json* list = core::fields::find(file, "calibrations");
  if (list == nullptr || !list->is_array()) return core::Error{"no list 'calibrations'"};
  return {};
}

// A version that is no version comes first.
bool is_newer(const CalibrationEntry& a, const CalibrationEntry& b) {
  return store::Version::parse(a.version) > store::Version::parse(b.version);
}

// "Qwen/Qwen3-32B by vllm 0.12.0 on h100_sxm"
std::string subject_of(const CalibrationEntry& entry) {
  return core::printable_line(fmt::format("{} by {}{}{} on {}", entry.model, entry.engine,
                                          entry.version.empty() ? "" : " ", entry.version,
                                          entry.system));
}

std::string subjects_of(const std::vector<CalibrationEntry>& entries) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> all;
  for (const CalibrationEntry& entry : entries) {
    if (all.size() < kMost) all.push_back(subject_of(entry));
  }
  if (all.empty()) return "nothing";
  const std::size_t others = entries.size() - all.size();
  return core::join(all, "; ") + (others == 0 ? "" : fmt::format("; and {} others", others));
}

std::string text_of(const CalibrationEntry& entry,
                    const CalibratedDeployment& asked,
                    const std::string& file) {
  const Calibration& by = entry.fitted.calibration;
  std::string text = fmt::format(
      "Calibrated by {}, {} measured deployment{} of {}: {:.3g} ms a step beside the operators, "
      "operators x {:.3g}, prompts x {:.3g}, TTFT x {:.3g}",
      file, entry.fitted.points, entry.fitted.points == 1 ? "" : "s", subject_of(entry), by.glue_ms,
      by.kernel_factor, by.prompt_factor, by.ttft_factor);
  if (!asked.version.empty() && asked.version != entry.version)
    text += fmt::format("; version {} was asked for", asked.version);
  return core::printable_line(text);
}

}  // namespace

std::string calibrations_json(const std::vector<CalibrationEntry>& entries) {
  json list = json::array();
  for (const CalibrationEntry& entry : entries)
    list.push_back(json_of(entry));
  return json{{"format", kFormat}, {"version", kFormatVersion}, {"calibrations", list}}.dump(
             2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

core::Result<std::vector<CalibrationEntry>> parse_calibrations(std::string_view text,
                                                               const std::string& name) {
  const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (const core::Status good = check_format(file); !good.ok()) return good.error().context(name);
  std::vector<CalibrationEntry> entries;
  for (const json& object : file["calibrations"]) {
    core::Result<CalibrationEntry> entry =
        object.is_object() ? entry_of(object) : core::Error{"not an object"};
    if (!entry.ok())
      return entry.error().context(fmt::format("{}: calibration {}", name, entries.size() + 1));
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
    if (entry.version == asked.version) return &entry;
    if (found == nullptr || is_newer(entry, *found)) found = &entry;
  }
  return found;
}

core::Result<UsedCalibration> calibration_for(const std::vector<CalibrationEntry>& entries,
                                              const CalibratedDeployment& asked,
                                              const std::string& file) {
  const CalibrationEntry* entry = find_calibration(entries, asked);
  if (entry == nullptr) {
    return core::Error{fmt::format("{}: no calibration of {} by {} on {}; it has {}", file,
                                   asked.model, asked.engine, asked.system, subjects_of(entries))};
  }
  return UsedCalibration{*entry, text_of(*entry, asked, file)};
}

}  // namespace assay::plan
