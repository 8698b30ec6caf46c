// Which NCCL logs accompany a recording.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"
#include "goal/input.h"
#include "goal/inputs/nccl_log.h"
#include "model/job.h"

namespace assay::goal {

// The logs that the options name, else those in the folders of the recording's files.
std::vector<std::filesystem::path> nccl_logs_beside(const std::vector<std::filesystem::path>& files,
                                                    const InputOptions& options);

// Reads them and adds what they know of the communicators; does nothing when there are none.
core::Status add_logged_topology(const std::vector<std::filesystem::path>& files,
                                 const InputOptions& options,
                                 model::Job& job);

}  // namespace assay::goal
