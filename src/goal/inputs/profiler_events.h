// Reads the events of an NCCL profiler plugin, which are JSON lines: prof_<pid>.jsonl, one file per
// process.
#pragma once

#include <optional>
#include <string>

#include "core/byte_source.h"
#include "core/result.h"
#include "goal/inputs/join_processes.h"

namespace assay::goal {

// Reads the events of one process, whose file errors and warnings call `name`. Returns std::nullopt
// when the event is missing that begins a communicator. Operations whose times cannot be trusted
// are left out and counted.
core::Result<std::optional<ProcessRecording>> read_events(core::ByteSource& source,
                                                          const std::string& name);

}  // namespace assay::goal
