// The request of `assay sweep run`, and the sweep that follows from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "sweep/plan.h"
#include "sweep/sweep.h"

namespace assay::sweep {

struct Request {
  std::vector<std::string> command = {};
  std::string config = {};  // the file for {config}, or ""
  std::optional<std::string> preset = std::nullopt;
  std::optional<std::string> pairs = std::nullopt;  // for the preset; its own pairs if not given
  std::vector<std::string> axes = {};               // each of the form "NAME=v1,v2"
  std::optional<int> repeats = std::nullopt;
  std::optional<std::uint64_t> seed = std::nullopt;
  std::filesystem::path expected_library = {};
  std::filesystem::path folder = {};  // "" for a new one below experiments/
  enum class Mode { kNew, kResume } mode = Mode::kNew;
  enum class Purpose { kRun, kShow } purpose = Purpose::kRun;  // kShow reads no files' conditions
};

struct PreparedSweep {
  Plan plan;
  std::filesystem::path folder;
  bool extended = false;                   // resumed with more repeats than it began with
  std::vector<std::string> warnings = {};  // what is suspicious about the command
  std::vector<std::string> changed = {};   // since the sweep began
};

// Checks only the request itself, not whether it fits the machine.
core::Status check(const Request& request);

// Checks everything that can be checked without starting or writing anything. If a sweep is
// resumed, the stored plan fills in what the request leaves out, and a request that differs from it
// fails.
core::Result<PreparedSweep> prepare(const Request& request);

// Returns one row for each run that would be started, with its position in the order of the sweep,
// setting, variables, folder and whole command. Runs that have a record are not among them, except
// those that failed when `failed` is kRetry.
model::Table planned_runs(const PreparedSweep& sweep, SweepOptions::Failed failed);

// Returns the same runs as lines that a shell could run.
std::string plan_script(const PreparedSweep& sweep, SweepOptions::Failed failed);

}  // namespace assay::sweep
