// What came of one run; kept in its folder.
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
  kHung,       // was ended at its deadline
  kNoTraces,   // ended well and left none
  kBadTraces,  // a rank's trace is missing, cut off or unreadable
};

// What the check of a run's traces says.
struct TraceCheck {
  int whole = 0;             // ranks whose trace is whole
  int expected = 0;          // ranks that the run has, as far as its traces tell
  std::string problem = {};  // "" when every rank's trace is whole
};

struct RunRecord {
  std::string setting = {};
  int repeat = 1;
  int position = 0;  // in the order of the sweep, from 1
  RunStatus status = RunStatus::kOk;
  std::string detail = {};  // what is wrong, in words
  int exit_code = 0;
  int signal = 0;
  std::string started = {};  // local time, ISO 8601
  double duration_s = 0;
  TraceCheck traces = {};
  Observation seen = {};
  std::filesystem::path folder = {};  // where it is now; not part of the file
};

// "ok", "failed", "hung", "no traces", "bad traces".
const char* status_text(RunStatus status);

core::Status write_record(const RunRecord& record, const std::filesystem::path& folder);

// `folder` is that of a run. An error when there is no record, or none that can be read.
core::Result<RunRecord> read_record(const std::filesystem::path& folder);

}  // namespace assay::sweep
