// The benchmarks and their targets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "child_process.h"
#include "inputs.h"

namespace assay::bench {

struct Target {
  double cpu_s = 0;
  std::optional<double> peak_mb = std::nullopt;
};

struct Case {
  std::string name;
  std::function<core::Result<Usage>(Inputs&)> measure;
  std::optional<Target> target = std::nullopt;
  double input_mb = 0;  // for rates; 0 where a rate would mean nothing
};

// Whole commands, as users run them.
std::vector<Case> command_cases();

// Parts of the commands, and lower bounds for them: the same bytes only read, or only scanned.
std::vector<Case> part_cases();

// Schedules of recorded runs: making, checking, converting and simulating them.
std::vector<Case> goal_cases();

// Simulations of GOAL schedules that are made in memory; making them does not count.
std::vector<Case> simulate_cases();

// Questions to the performance database.
std::vector<Case> query_cases();

// Simulations of serving engines.
std::vector<Case> schedule_cases();

}  // namespace assay::bench
