// What one process's file of profiler events says: prof_<pid>.jsonl.
#pragma once

#include <filesystem>
#include <optional>

#include "core/result.h"
#include "goal/inputs/process_recording.h"

namespace assay::goal {

// Nothing for a file without the event that begins a communicator. Operations whose times cannot
// be trusted are left out and counted.
core::Result<std::optional<ProcessRecording>> read_event_file(const std::filesystem::path& file);

}  // namespace assay::goal
