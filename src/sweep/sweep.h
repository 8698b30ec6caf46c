// Runs a command under every setting of a plan, one run after the other, and keeps what came of
// each. A run that fails or hangs costs only itself.
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
  std::optional<std::chrono::milliseconds> deadline = std::nullopt;  // of each run
  std::chrono::milliseconds grace{10'000};                           // between SIGTERM and SIGKILL
  enum class Failed { kKeep, kRetry } failed = Failed::kKeep;
  ObserverSources sources = {};
};

// How far a sweep is.
struct Standing {
  std::size_t position = 0;  // of the run, from 1
  std::size_t total = 0;
  std::string title;  // of the run
  double run_seconds = 0;
  std::optional<double> left_seconds = std::nullopt;  // guessed from the runs that went well
};

struct SweepHooks {
  // Judges the traces below a run's folder.
  std::function<TraceCheck(const std::filesystem::path&)> check_traces;
  std::function<void(const Standing&)> on_tick;
  std::function<void(const Standing&, const RunRecord&)> on_end;
  // After every run, with all records so far in the order of the sweep.
  std::function<core::Status(std::span<const RunRecord>)> on_records;
};

// Runs what has no record yet; with Failed::kRetry also what has no good one. Returns all records
// in the order of the sweep. Fails when the command cannot be started at all, when the sweep's
// folder cannot be written, and when interrupted.
core::Result<std::vector<RunRecord>> run_sweep(const SweepFolder& folder,
                                               const Plan& plan,
                                               const SweepOptions& options,
                                               const SweepHooks& hooks);

}  // namespace assay::sweep
