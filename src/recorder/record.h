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
  std::string kernel_times = {};     // ASSAY_RECORDER_KERNEL_TIMES; "" for the default
  std::optional<unsigned> limit_mb;  // for the file of a process
  enum class NcclLog { kKeep, kOff } nccl_log = NcclLog::kKeep;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct RecordPlan {
  std::filesystem::path folder;  // absolute
  Environment variables;         // set for the command
  std::vector<std::string> notes;
};

// Finds the recorder and decides what to set. Fails when the folder holds a recording already, when
// there is no recorder beside this program, or when the environment names another plugin.
core::Result<RecordPlan> plan_recording(const RecordOptions& options);

struct Recorded {
  int exit_code = 0;        // exit code of the command, as a shell sees it
  std::string not_started;  // why the command did not start, or ""
  std::uint64_t processes = 0;
  std::uint64_t operations = 0;
  std::uint64_t kernels = 0;
  std::uint64_t size_bytes = 0;
  std::vector<std::string> warnings;
};

// Runs the command with our standard streams and waits for its end. `more` are variables in
// addition to the plan's.
core::Result<Recorded> record(const RecordOptions& options,
                              const RecordPlan& plan,
                              const Environment& more);

// Fails when the folder is a file, or holds recordings of an earlier command.
core::Status check_unused(const std::filesystem::path& folder);

// Counts the content of the files (everything but how the command ended). What cannot be read is a
// warning.
Recorded count_recorded(const std::filesystem::path& folder);

}  // namespace assay::recorder
