#include "recorder/record.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "core/counted.h"
#include "core/files.h"
#include "core/own_files.h"
#include "core/run_program.h"
#include "model/recording_file.h"

namespace assay::recorder {
namespace {

namespace fs = std::filesystem;
namespace rec = model::recording;

core::Result<std::vector<fs::path>> recordings_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    if (rec::is_recording(folder / name)) files.push_back(folder / name);
  }
  return files;
}

void count(const fs::path& path, const rec::File& file, Recorded& recorded) {
  ++recorded.processes;
  // NCCL's timers come with channels of kernels, of which each is a plan.
  const bool by_nccl = file.header().kernel_times == rec::kNcclTimer;
  const rec::Kind timed = by_nccl ? rec::Kind::kPlan : rec::Kind::kKernel;
  for (const rec::RecordView& record : file.records()) {
    const rec::Kind kind = record.kind();
    if (kind == rec::Kind::kColl || kind == rec::Kind::kP2p) ++recorded.operations;
    if (kind == timed) ++recorded.kernels;
  }
  std::error_code error;
  recorded.size_bytes += fs::file_size(path, error);
}

void count_notes(const rec::File& file, std::map<std::string, int>& notes) {
  for (const rec::RecordView& record : file.records()) {
    if (record.kind() != rec::Kind::kNote) continue;
    ++notes[std::string(record.text<rec::Note>(record.as<rec::Note>().length))];
  }
  if (file.header().stopped > 1) ++notes["recording ended before the process did"];
}

}  // namespace

core::Status check_unused(const fs::path& folder) {
  if (!core::is_folder(folder)) {
    std::error_code error;
    if (!fs::exists(folder, error)) return {};
    return core::Error{folder.string() + " is no folder"};
  }
  const auto files = ASSAY_TRY(recordings_in(folder));
  if (files.empty()) return {};
  return core::Error{fmt::format("{} holds a recording already ({}): name another folder with -o",
                                 folder.string(), files.front().filename().string())};
}

Recorded count_recorded(const fs::path& folder) {
  Recorded recorded;
  std::map<std::string, int> notes;
  const auto paths = recordings_in(folder);
  if (!paths.ok()) recorded.warnings.push_back(paths.error().message);
  for (const fs::path& path : paths.ok() ? paths.value() : std::vector<fs::path>{}) {
    const auto file = rec::File::read(path);
    if (!file.ok()) {
      recorded.warnings.push_back(file.error().message);
      continue;
    }
    if (file.value().empty()) continue;
    count(path, file.value(), recorded);
    count_notes(file.value(), notes);
  }
  for (const auto& [note, processes] : notes)
    recorded.warnings.push_back(
        fmt::format("{} ({})", note, core::counted(processes, "process", "processes")));
  return recorded;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libassay_recorder.so";
constexpr const char* kPluginVariable = "NCCL_PROFILER_PLUGIN";
constexpr const char* kOutputVariable = "ASSAY_RECORDER_OUTPUT";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

core::Status check_plugin(const fs::path& library) {
  const std::string named = variable(kPluginVariable);
  if (named.empty() || named == library.string()) return {};
  return core::Error{fmt::format("{} is set to '{}', and NCCL takes one plugin: unset it",
                                 kPluginVariable, named)};
}

// The recorder and NCCL put the host and the process for %h and %p, so that each process would
// write elsewhere.
core::Status check_letters(const fs::path& folder) {
  const std::string name = folder.string();
  for (const char* letters : {"%h", "%p"})
    if (name.find(letters) != std::string::npos)
      return core::Error{fmt::format("'{}' holds {}, which stands for each {}: name one folder",
                                     name, letters, letters[1] == 'h' ? "host" : "process")};
  return {};
}

// Variables that the user has set for NCCL's log stay as they are.
void add_log(RecordPlan& plan) {
  const Environment wanted = {
      {"NCCL_DEBUG", "INFO"},
      {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH,TUNING"},
      {"NCCL_DEBUG_FILE", (plan.folder / "nccl_%h_%p.log").string()},
  };
  std::string kept;
  for (const auto& [name, value] : wanted) {
    if (variable(name.c_str()).empty()) {
      plan.variables.emplace_back(name, value);
    } else {
      kept += (kept.empty() ? "" : ", ") + name;
    }
  }
  if (kept.empty()) return;
  plan.notes.push_back(fmt::format(
      "{} of your environment stays as it is; rings and trees are known only from a log with "
      "INIT and GRAPH in {}",
      kept, plan.folder.string()));
}

}  // namespace

core::Result<RecordPlan> plan_recording(const RecordOptions& options) {
  const fs::path library = ASSAY_TRY(core::find_own_library(kLibrary));
  ASSAY_TRY(check_plugin(library));
  std::error_code error;
  RecordPlan plan;
  plan.folder = fs::absolute(options.folder, error).lexically_normal();
  ASSAY_TRY(check_unused(plan.folder));
  ASSAY_TRY(check_letters(plan.folder));
  plan.variables = {{kPluginVariable, library.string()}, {kOutputVariable, plan.folder.string()}};
  if (!options.events.empty()) plan.variables.emplace_back("ASSAY_RECORDER_EVENTS", options.events);
  if (!options.kernel_times.empty())
    plan.variables.emplace_back("ASSAY_RECORDER_KERNEL_TIMES", options.kernel_times);
  if (options.limit_mb)
    plan.variables.emplace_back("ASSAY_RECORDER_LIMIT_MB", std::to_string(*options.limit_mb));
  if (options.nccl_log == RecordOptions::NcclLog::kKeep) add_log(plan);
  return plan;
}

core::Result<Recorded> record(const RecordOptions& options,
                              const RecordPlan& plan,
                              const Environment& more) {
  const core::FileLock lock =
      ASSAY_TRY(core::FileLock::acquire_folder(plan.folder, std::chrono::milliseconds(0)));
  ASSAY_TRY(check_unused(plan.folder));
  core::ForegroundLaunch launch{
      .arguments = options.command,
      .mark = fmt::format("{}={}", kOutputVariable, plan.folder.string()),
  };
  for (const Environment* variables : {&plan.variables, &more})
    launch.environment.insert(launch.environment.end(), variables->begin(), variables->end());
  const core::ForegroundEnd end = core::run_in_foreground(launch);
  Recorded recorded = count_recorded(plan.folder);
  recorded.exit_code = end.exit_code;
  recorded.not_started = end.not_started;
  return recorded;
}

}  // namespace assay::recorder
