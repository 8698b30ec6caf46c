#include "collect/plan/module.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "core/run_program.h"
#include "core/text.h"

namespace assay::collect {
namespace {

using nlohmann::json;

// The last line that is a JSON object: what the module itself prints comes before it.
json last_answer(const std::string& output) {
  for (std::size_t end = output.size(); end > 0;) {
    const std::size_t before = output.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    json answer = json::parse(output.substr(begin, end - begin), nullptr, false);
    if (answer.is_object()) return answer;
    end = begin == 0 ? 0 : begin - 1;
  }
  return {};
}

core::Error not_of_kind(const ModuleProgram& program,
                        const char* field,
                        const char* kind,
                        const json& value) {
  constexpr std::size_t kMostShown = 80;
  return core::Error{
      fmt::format("{}: what the module lists has a field '{}' that is not {}: {}",
                  program.module.string(), field, kind,
                  value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, kMostShown))};
}

core::Result<std::string> text_of(const json& object,
                                  const char* field,
                                  const ModuleProgram& program) {
  const auto found = object.find(field);
  const json value = found == object.end() ? json() : *found;
  if (!value.is_string()) return not_of_kind(program, field, "a text", value);
  return value.get<std::string>();
}

core::Result<ModuleOperator> operator_of(const json& listed, const ModuleProgram& program) {
  if (!listed.is_object()) return not_of_kind(program, "operators", "a list of objects", listed);
  ModuleOperator made;
  made.name = ASSAY_TRY(text_of(listed, "name", program));
  const auto cases = listed.find("cases");
  if (cases == listed.end() || !cases->is_array()) {
    return not_of_kind(program, "cases", "a list", cases == listed.end() ? json() : *cases);
  }
  for (const json& arguments : *cases) {
    if (!arguments.is_array()) return not_of_kind(program, "cases", "a list of lists", arguments);
    made.cases.push_back(arguments.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  return made;
}

std::vector<PlannedCase> planned_cases(const ModuleOperator& op) {
  std::vector<PlannedCase> cases;
  for (const std::string& arguments : op.cases)
    cases.push_back({.operator_name = op.name, .id = op.name + " " + arguments, .json = arguments});
  return cases;
}

bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> ModuleProgram::worker(const std::string& device) const {
  return {python, script.string(), module.string(), "--device",
          device, "--engine",      engine.string()};
}

core::Result<ModuleListing> list_module(const ModuleProgram& program) {
  const core::ToolEnd end = ASSAY_TRY(core::run_tool(
      {program.python, program.script.string(), program.module.string(), "--list"}, ""));
  const json answer = last_answer(end.output);
  if (answer.contains("fatal")) {
    return core::Error{ASSAY_TRY(text_of(answer, "fatal", program))};
  }
  if (!answer.contains("operators")) {
    return core::Error{fmt::format("{}: {} ended with exit code {}: {}", program.module.string(),
                                   program.python, end.exit_code, end.output)};
  }
  const json& listed = answer["operators"];
  if (!listed.is_array()) return not_of_kind(program, "operators", "a list", listed);
  ModuleListing listing;
  for (const json& each : listed)
    listing.operators.push_back(ASSAY_TRY(operator_of(each, program)));
  const json notes = answer.value("notes", json::array());
  if (!notes.is_array()) return not_of_kind(program, "notes", "a list", notes);
  for (const json& note : notes) {
    if (!note.is_string()) return not_of_kind(program, "notes", "a list of texts", note);
    listing.notes.push_back(note.get<std::string>());
  }
  return listing;
}

core::Result<Plan> make_module_plan(const std::vector<ModuleOperator>& operators,
                                    const std::vector<std::string>& names,
                                    const PlanOptions& options) {
  std::vector<std::string> known;
  for (const ModuleOperator& op : operators)
    known.push_back(op.name);
  for (const std::string& name : names) {
    if (is_named(known, name)) continue;
    return core::Error{
        fmt::format("the module has no operator '{}'; it has {}", name, core::join(known, ", "))};
  }
  PlanOptions chosen = options;
  chosen.check_every = 0;  // only the module knows what is right
  Plan plan;
  for (const ModuleOperator& op : operators) {
    if (!is_named(names, op.name)) continue;
    for (PlannedCase& planned : select_cases(planned_cases(op), chosen))
      plan.cases.push_back(std::move(planned));
  }
  plan.hash = plan_hash(plan.cases);
  return plan;
}

}  // namespace assay::collect
