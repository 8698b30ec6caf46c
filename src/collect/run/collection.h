// The run of `assay collect`: it measures the cases of a plan, and writes the results into the
// store of a folder and into reports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collect/plan/plan.h"
#include "collect/run/run_state.h"
#include "collect/run/supervisor.h"
#include "collect/run/tally.h"
#include "collect/worker/protocol.h"
#include "core/result.h"

namespace assay::collect {

struct CollectOptions {
  std::filesystem::path folder;
  Beginning beginning = Beginning::kNew;
  Settings settings = {};  // options that change cases or results, as given: "--l2": "cold"
  Settings record = {};    // more to note about the run, such as the command line

  // Returns the program of a worker and its arguments. `gpus` is empty for a worker of `place`.
  std::function<std::vector<std::string>(const std::vector<int>& gpus)> worker;
  core::EnvironmentChanges environment = {};  // of the workers alone
  std::vector<int> gpus = {};                 // one worker on each; empty: one worker at `place`
  std::string place = "the CPU";              // for messages
  Deadlines deadlines = {};
  CaseRequest request = {};  // how each case is measured
  std::string backend = {};  // the framework column; empty: the framework of the worker

  // The device of the earlier run from which the plan comes. The workers must have the same one.
  // Empty without an earlier run.
  Settings earlier_device = {};

  // Marks a plan that measures cases of an earlier run again. Such a run has its own kind and
  // changes no table.
  struct Again {
    std::string store_file;  // name in the folder
  };

  std::optional<Again> again = {};
};

struct CollectStanding {
  std::string doing;      // the operator that was measured last
  std::int64_t done = 0;  // number of cases, including those of the run that is resumed
  std::int64_t total = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
  double cases_per_second = 0;
  std::optional<double> left_seconds = {};
};

// "gemm: 120 of 1000 cases, 85.3 cases/s, 2 failed, 5 skipped, 10 s left".
std::string progress_text(const CollectStanding& standing);

struct CollectHooks {
  std::function<void(const std::string&)> on_notice;
  std::function<void(const CollectStanding&)> on_progress;
};

// The rows whose median is less certain than was asked for.
struct MissedCertainty {
  std::int64_t rows = 0;  // all that this call measured
  std::int64_t missed = 0;
  double worst = 0;             // half the width of the interval, as a part of the median
  std::string worst_case = {};  // its id
};

struct CollectResult {
  Tally tally;
  SupervisorEnd end = SupervisorEnd::kAllDone;
  std::vector<std::filesystem::path> files = {};  // the tables and reports that were written
  std::int64_t measured_now = 0;                  // number of cases that this call finished
  std::vector<CaseTime> times = {};               // of the cases that this call measured
  MissedCertainty uncertain = {};
  double wall_seconds = 0;
  std::int64_t run = 0;  // number in the store; 0: nothing was measured
};

// Every finished case is in the store, however the run ends. Errors: those of RunState; the store
// or a report cannot be written.
core::Result<CollectResult> run_collection(const CollectOptions& options,
                                           const Plan& plan,
                                           const CollectHooks& hooks);

}  // namespace assay::collect
