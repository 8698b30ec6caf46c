// The outcome of one run, which is kept in the run's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"
#include "model/facts.h"
#include "model/table.h"
#include "sweep/observer.h"

namespace assay::sweep {

enum class RunStatus {
  kOk,
  kFailed,     // ended with an exit code other than 0, or by a signal
  kHung,       // was stopped at its deadline
  kNoTraces,   // exited with 0 and left no traces
  kBadTraces,  // a rank's trace is missing, cut off, unreadable or without GPU work
};

// The result of the check of a run's traces.
struct TraceCheck {
  int whole = 0;             // ranks whose trace is complete and has GPU work
  int expected = 0;          // ranks of the run, according to its traces
  std::string problem = {};  // "" if that is every rank
};

struct RunRecord {
  std::string setting = {};
  int repeat = 1;
  int position = 0;  // in the planned order of the sweep, from 1; made_order() has the real one
  RunStatus status = RunStatus::kOk;
  std::string detail = {};  // describes what is wrong
  int exit_code = 0;
  int signal = 0;
  std::string started = {};  // local time with microseconds, ISO 8601
  double duration_s = 0;
  TraceCheck traces = {};
  Observation seen = {};
  std::filesystem::path folder = {};  // its present place, which the file does not hold
};

// Returns "ok", "failed", "hung", "no traces" or "bad traces".
const char* status_text(RunStatus status);

core::Status write_record(const RunRecord& record, const std::filesystem::path& folder);

// `folder` is the folder of a run. Fails if it holds no record or the record cannot be read.
core::Result<RunRecord> read_record(const std::filesystem::path& folder);

}  // namespace assay::sweep
