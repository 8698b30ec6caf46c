// The traces of a run that reports read, for commands that look at them as files.
#pragma once

#include <filesystem>
#include <vector>

namespace assay::cli {

// Returns the newest trace of each rank; nothing where the folder has none.
std::vector<std::filesystem::path> rank_traces(const std::filesystem::path& run);

}  // namespace assay::cli
