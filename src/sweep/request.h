// What `assay sweep run` is asked for, and the sweep that follows from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "sweep/plan.h"

namespace assay::sweep {

struct Request {
  std::vector<std::string> command = {};
  std::string config = {};  // a file for {config}; "": none
  std::optional<std::string> preset;
  std::string pairs = {};              // of the preset; "": its own
  std::vector<std::string> axes = {};  // "NAME=v1,v2"
  std::optional<int> repeats;
  std::optional<std::uint64_t> seed;
  std::filesystem::path expected_library = {};
  std::filesystem::path folder = {};  // "": a new one below experiments/
  enum class Mode { kNew, kResume } mode = Mode::kNew;
};

struct PreparedSweep {
  Plan plan;
  std::filesystem::path folder;
  bool extended = false;  // a resumed sweep with more repeats than it began with
};

// What is wrong with the request by itself, whatever the machine holds.
core::Status check(const Request& request);

// Checks everything that can be checked without starting or writing anything. A resumed sweep
// takes what is not asked for from its plan, and refuses what differs from it.
core::Result<PreparedSweep> prepare(const Request& request);

// A row a run that would be started: its setting, variables, folder and whole command.
model::Table planned_runs(const PreparedSweep& sweep);

// The same as lines that a shell could run.
std::string plan_script(const PreparedSweep& sweep);

}  // namespace assay::sweep
