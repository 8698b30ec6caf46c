// Runs a command under every setting of a plan, one run after the other, and keeps the outcome of
// each. A run that fails or hangs does not affect the others.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "sweep/observer.h"
#include "sweep/plan.h"
#include "sweep/run_record.h"
#include "sweep/sweep_folder.h"

namespace assay::sweep {

struct SweepOptions {
  std::optional<std::chrono::milliseconds> deadline = std::nullopt;  // for each run
  std::chrono::milliseconds grace{10'000};                           // between SIGTERM and SIGKILL
  enum class Failed { kKeep, kRetry } failed = Failed::kKeep;
  ObserverSources sources = {};
  std::vector<std::string> changed = {};  // since the sweep began, told with each run
};

// Returns a deadline or a grace period, rounded up to whole milliseconds. Fails if it is longer
// than a year: nobody waits that long, and the clock cannot add much longer times.
core::Result<std::chrono::milliseconds> time_limit(double seconds);

// The progress of a sweep.
struct Standing {
  std::size_t position = 0;  // position of the run, from 1
  std::size_t total = 0;
  std::string title;  // title of the run
  double run_seconds = 0;
  std::optional<double> left_seconds = std::nullopt;  // estimated from the successful runs
};

struct SweepHooks {
  // Judges the traces below a run's folder.
  std::function<TraceCheck(const std::filesystem::path&)> check_traces;
  std::function<void(const Standing&)> on_tick;
  std::function<void(const Standing&, const RunRecord&)> on_end;
  // Is called after every run, with all records so far in the order of the sweep.
  std::function<core::Status(std::span<const RunRecord>)> on_records;
};

// A run of a sweep that has to be started.
struct PendingRun {
  std::size_t position = 0;  // in the order of the sweep, from 1
  PlannedRun run;
};

// Returns the runs that run_sweep() would start, in the order of the sweep: those that have no
// record in the folder yet, and with Failed::kRetry also those that failed.
std::vector<PendingRun> pending_runs(const std::filesystem::path& folder,
                                     const Plan& plan,
                                     SweepOptions::Failed failed);

// Makes the runs that pending_runs() returns. Returns all records in the order of the sweep. Fails
// if the command cannot be started at all, if the sweep's folder cannot be written, or if the
// program is interrupted.
core::Result<std::vector<RunRecord>> run_sweep(const SweepFolder& folder,
                                               const Plan& plan,
                                               const SweepOptions& options,
                                               const SweepHooks& hooks);

}  // namespace assay::sweep
