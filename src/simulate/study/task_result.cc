#include "simulate/study/task_result.h"

#include "core/json_fields.h"
#include "core/text.h"

namespace assay::simulate {

namespace fields = core::fields;

std::string json_of(const TaskResult& result) {
  nlohmann::ordered_json json{{"assay_study_task", 1}};
  if (!result.error.empty()) json["error"] = core::valid_utf8(result.error);
  if (result.error.empty()) {
    json["ranks"] = result.ranks;
    json["end_ns"] = result.end_ns;
  }
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) json[name] = *value;
  };
  add("contention_percent", result.contention_percent);
  add("lost_percent", result.lost_percent);
  add("replaced_percent", result.replaced_percent);
  if (!result.warnings.empty()) {
    for (const std::string& warning : result.warnings)
      json["warnings"].push_back(core::valid_utf8(warning));
  }
  json["cpu_seconds"] = result.cpu_seconds;
  json["peak_mb"] = result.peak_mb;
  return json.dump(1) + "\n";
}

core::Result<TaskResult> parse_task_result(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("assay_study_task")) {
    return core::Error{"this is no result of a study's task"};
  }
  TaskResult result;
  ASSAY_TRY(fields::read(json, "error", result.error));
  if (result.error.empty()) {
    result.ranks = ASSAY_TRY(fields::field<std::int64_t>(json, "ranks"));
    result.end_ns = ASSAY_TRY(fields::field<std::int64_t>(json, "end_ns"));
  }
  ASSAY_TRY(fields::read(json, "contention_percent", result.contention_percent));
  ASSAY_TRY(fields::read(json, "lost_percent", result.lost_percent));
  ASSAY_TRY(fields::read(json, "replaced_percent", result.replaced_percent));
  ASSAY_TRY(fields::read(json, "warnings", result.warnings));
  ASSAY_TRY(fields::read(json, "cpu_seconds", result.cpu_seconds));
  ASSAY_TRY(fields::read(json, "peak_mb", result.peak_mb));
  return result;
}

}  // namespace assay::simulate
