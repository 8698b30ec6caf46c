// `assay collect`: measures the cases of a plan into the store of a folder, and reports.
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
  Settings settings = {};  // what changes cases or results, as people gave it: "--l2": "cold"
  Settings record = {};    // what else is noted: how it was called

  // The worker's program and its arguments, for these GPUs; for none, those of `place`.
  std::function<std::vector<std::string>(const std::vector<int>& gpus)> worker;
  std::vector<int> gpus = {};     // a worker on each; empty: one in all
  std::string place = "the CPU";  // where that one is, for messages
  Deadlines deadlines = {};
  CaseRequest request = {};  // how each case is measured
  std::string backend = {};  // the framework column; empty: as the worker says, "assay"

  // The device of the run that the plan comes from, which must be the same; empty: of none.
  Settings earlier_device = {};

  // Of a plan that measures cases of an earlier run again: a run of its own kind, which changes no
  // table.
  struct Again {
    std::string store_file;  // in the folder
  };

  std::optional<Again> again = {};
};

struct CollectStanding {
  std::string doing;      // the operator measured last
  std::int64_t done = 0;  // cases, those of an earlier run among them
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

struct CollectResult {
  Tally tally;
  SupervisorEnd end = SupervisorEnd::kAllDone;
  std::vector<std::filesystem::path> files = {};  // tables, reports
  std::int64_t measured_now = 0;                  // cases that this call finished
  std::vector<CaseTime> times = {};               // of those that it measured
  double wall_seconds = 0;
  std::int64_t run = 0;  // in the store; 0: nothing is in it
};

// What is finished is in the store whatever happens. Errors: see RunState; a store or a report that
// cannot be written.
core::Result<CollectResult> run_collection(const CollectOptions& options,
                                           const Plan& plan,
                                           const CollectHooks& hooks);

}  // namespace assay::collect
