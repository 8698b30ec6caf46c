// Runs a command so that libassay_recorder.so records what its processes do with NCCL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::recorder {

struct RecordOptions {
  std::vector<std::string> command;
  std::filesystem::path folder = "assay-recording";
  std::string events = {};           // ASSAY_RECORDER_EVENTS; "" for the default
  std::optional<unsigned> limit_mb;  // of a process's file
  enum class NcclLog { kKeep, kOff } nccl_log = NcclLog::kKeep;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct RecordPlan {
  std::filesystem::path folder;  // absolute
  Environment variables;         // to set for the command
  std::vector<std::string> notes;
};

// Finds the recorder and says what to set. Fails when the folder holds a recording already, when
// there is no recorder beside this program, or when the environment names another plugin.
core::Result<RecordPlan> plan_recording(const RecordOptions& options);

struct Recorded {
  int exit_code = 0;  // the command's, as a shell has it
  std::uint64_t processes = 0;
  std::uint64_t operations = 0;
  std::uint64_t kernels = 0;
  std::uint64_t size_bytes = 0;
  std::vector<std::string> warnings;
};

// Runs the command with our standard streams and waits for its end. `more` are variables besides
// the plan's. Fails when the command cannot be started.
core::Result<Recorded> record(const RecordOptions& options,
                              const RecordPlan& plan,
                              const Environment& more);

}  // namespace assay::recorder
