#include "sweep/request.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "core/counted.h"
#include "core/files.h"
#include "core/registry.h"
#include "core/text.h"
#include "sweep/command_line.h"
#include "sweep/preset.h"
#include "sweep/sweep_folder.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostSeeds = 1'000'000;  // short enough to type again

core::Result<const PresetSpec*> find_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const PresetSpec* preset : core::Registry<PresetSpec>::all()) {
    if (name == preset->name) return preset;
    names.emplace_back(preset->name);
  }
  return core::Error{fmt::format("no preset '{}'; there are {}", name, core::join(names, ", "))};
}

bool asks_for_settings(const Request& request) {
  return request.preset || request.pairs || !request.axes.empty();
}

bool uses_preset(const Request& request) {
  return request.preset || request.pairs || request.axes.empty();
}

core::Result<Settings> requested_settings(const Request& request) {
  Settings settings;
  Settings own;  // of the preset; they name all of its variables, which the given pairs may not
  if (uses_preset(request)) {
    const PresetSpec& preset = *ASSAY_TRY(find_preset(request.preset.value_or(kDefaultPreset)));
    own = ASSAY_TRY(preset_settings(preset, preset.default_pairs));
    settings = request.pairs ? ASSAY_TRY(preset_settings(preset, *request.pairs)) : own;
  }
  for (const std::string& text : request.axes)
    settings = with_axis(settings, ASSAY_TRY(parse_axis(text)));
  ASSAY_TRY(complete(settings, own));
  return settings;
}

// Returns a name such as "experiments/rccl_warp_speed_20251120_212921".
fs::path new_folder(const Request& request) {
  std::string name = uses_preset(request) ? request.preset.value_or(kDefaultPreset) : "sweep";
  std::replace(name.begin(), name.end(), '-', '_');
  const std::tm now = fmt::localtime(std::time(nullptr));
  return fs::path("experiments") / fmt::format("{}_{:%Y%m%d_%H%M%S}", name, now);
}

bool is_program(const fs::path& path) {
  return core::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
}

// Searches for the program as execvp() does.
core::Status find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return {};
    return core::Error{fmt::format("'{}' is no program that can be started", name)};
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_program(fs::path(folder) / name)) return {};
  return core::Error{fmt::format("there is no program '{}' in PATH", name)};
}

core::Status check_config(const Request& request) {
  if (request.config.empty() || core::is_regular_file(request.config)) return {};
  return core::Error{fmt::format("there is no file '{}'", request.config)};
}

core::Status check_command(const Request& request) {
  if (request.command.empty()) {
    return core::Error{"no command to run: write it after '--'"};
  }
  for (const std::string& argument : request.command) {
    if (core::valid_utf8(argument) == argument) continue;
    return core::Error{fmt::format("the argument '{}' is not UTF-8", core::valid_utf8(argument))};
  }
  if (request.config.empty() || mentions(request.command, "config")) return {};
  return core::Error{
      "--config is given, but the command does not use {config}: write it where the path belongs"};
}

Conditions conditions_of(const Plan& plan, const Request& request) {
  if (request.purpose == Request::Purpose::kShow) return {};
  std::vector<std::string> files = plan.command;
  files.push_back(plan.config);
  return present_conditions(files, plan.settings);
}

core::Result<Plan> new_plan(const Request& request) {
  ASSAY_TRY(check_config(request));
  Plan plan{.id = fmt::format("{:016x}", random_number()),
            .command = request.command,
            .config = request.config,
            .settings = ASSAY_TRY(requested_settings(request)),
            .repeats = request.repeats.value_or(1),
            .seed = request.seed.value_or(random_number() % kMostSeeds),
            .expected_library = request.expected_library};
  const RunPlace place{plan.settings.front(), 1, fs::absolute("run"), plan.config};
  ASSAY_TRY(find_program(filled_in(plan.command, place).front()));
  plan.conditions = conditions_of(plan, request);
  return plan;
}

// Returns the stored plan, in which the values that the request gives replace its own.
core::Result<Plan> asked_plan(const Plan& stored, const Request& request) {
  Plan asked = stored;
  if (!request.command.empty()) {
    asked.command = request.command;
    asked.config = request.config;
  }
  if (asks_for_settings(request)) asked.settings = ASSAY_TRY(requested_settings(request));
  if (request.repeats) asked.repeats = *request.repeats;
  if (request.seed) asked.seed = *request.seed;
  if (!request.expected_library.empty()) asked.expected_library = request.expected_library;
  return asked;
}

std::vector<std::string> warnings_of_runs(const Request& request, const Plan& stored) {
  std::vector<std::string> warnings;
  for (const RunRecord& record : read_records(request.folder, stored))
    warnings.insert(warnings.end(), record.seen.warnings.begin(), record.seen.warnings.end());
  return warnings;
}

core::Result<PreparedSweep> prepare_resumed(const Request& request) {
  const Plan stored = ASSAY_TRY(read_plan(request.folder));
  const Plan asked = ASSAY_TRY(asked_plan(stored, request));
  if (const std::string difference = plan_difference(stored, asked); !difference.empty()) {
    return core::Error{fmt::format("cannot go on with '{}': {}\nname another folder to begin anew",
                                   request.folder.string(), difference)};
  }
  PreparedSweep sweep{
      .plan = asked, .folder = request.folder, .extended = asked.repeats > stored.repeats};
  if (request.purpose == Request::Purpose::kRun)
    sweep.changed =
        differences(stored.conditions,
                    without_files_of_runs(conditions_of(asked, request), stored.conditions,
                                          request.folder, warnings_of_runs(request, stored)));
  return sweep;
}

core::Result<PreparedSweep> prepare_new(const Request& request) {
  Plan plan = ASSAY_TRY(new_plan(request));
  const fs::path folder = request.folder.empty() ? new_folder(request) : request.folder;
  ASSAY_TRY(check_new_folder(folder));
  return PreparedSweep{.plan = std::move(plan), .folder = folder};
}

// Returns the run's command with its variables, as a shell takes it.
std::string shell_line(const PreparedSweep& sweep, const PlannedRun& run) {
  const Setting& setting = sweep.plan.settings[run.setting];
  const fs::path folder = fs::absolute(sweep.folder / run_folder(sweep.plan, run));
  const RunPlace place{setting, run.repeat, folder, sweep.plan.config};
  return env_text(setting.variables) + shell_text(filled_in(sweep.plan.command, place));
}

}  // namespace

core::Status check(const Request& request) {
  const bool resumed = request.mode == Request::Mode::kResume;
  if (!resumed || !request.command.empty()) ASSAY_TRY(check_command(request));
  if (resumed && request.folder.empty()) {
    return core::Error{"--resume needs the sweep's folder: name it with --output"};
  }
  const auto settings = requested_settings(request);
  return settings.ok() ? core::Status() : core::Status(settings.error());
}

core::Result<PreparedSweep> prepare(const Request& request) {
  PreparedSweep sweep = request.mode == Request::Mode::kResume ? ASSAY_TRY(prepare_resumed(request))
                                                               : ASSAY_TRY(prepare_new(request));
  const RunPlace place{sweep.plan.settings.front(), 1, sweep.folder, sweep.plan.config};
  for (std::string& warning : placeholder_warnings(sweep.plan.command, place))
    sweep.warnings.push_back(std::move(warning));
  return sweep;
}

model::Table planned_runs(const PreparedSweep& sweep, SweepOptions::Failed failed) {
  model::Table table{.name = "runs",
                     .title = "Runs that would be started, in this order",
                     .columns = {{.name = "run"},
                                 {.name = "setting"},
                                 {.name = "repeat"},
                                 {.name = "folder"},
                                 {.name = "command"}}};
  for (const auto& [position, run] : pending_runs(sweep.folder, sweep.plan, failed)) {
    const Setting& setting = sweep.plan.settings[run.setting];
    const fs::path folder = sweep.folder / run_folder(sweep.plan, run);
    table.add_row({static_cast<std::int64_t>(position), setting.name, std::int64_t{run.repeat},
                   folder.string(), shell_line(sweep, run)});
  }
  return table;
}

std::string plan_script(const PreparedSweep& sweep, SweepOptions::Failed failed) {
  std::string script = fmt::format("# order by seed {}; sweep in {}\n", sweep.plan.seed,
                                   core::printable_line(sweep.folder.string()));
  const std::size_t all = run_order(sweep.plan).size();
  const std::vector<PendingRun> pending = pending_runs(sweep.folder, sweep.plan, failed);
  for (const auto& [position, run] : pending)
    script += fmt::format("# {} of {}: {}\n{}\n", position, all, run_title(sweep.plan, run),
                          shell_line(sweep, run));
  if (pending.empty())
    script += fmt::format("# none of {} is left to start\n", core::counted(all, "run"));
  return script;
}

}  // namespace assay::sweep
