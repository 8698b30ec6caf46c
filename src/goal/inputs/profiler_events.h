// Events of an NCCL profiler plugin as JSON lines: prof_<pid>.jsonl, one file a process.
#pragma once

#include <filesystem>

namespace assay::goal {

bool has_profiler_events(const std::filesystem::path& folder);

}  // namespace assay::goal
