// Adds facts from NCCL's logs to a job whose recording lacks them: rings, trees, and the algorithms
// that NCCL chose.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <tuple>
#include <vector>

#include "core/result.h"
#include "goal/input.h"
#include "goal/inputs/nccl_log.h"
#include "model/job.h"

namespace assay::goal {

// Returns the logs that the options name, otherwise those in the folders of the recording's files.
std::vector<std::filesystem::path> nccl_logs_beside(const std::vector<std::filesystem::path>& files,
                                                    const InputOptions& options);

// Reads those logs and adds their rings and trees; does nothing when there are none.
core::Status add_logged_topology(const std::vector<std::filesystem::path>& files,
                                 const InputOptions& options,
                                 model::Job& job);

// Sets algorithm, protocol and number of channels of collectives that have none, from what the log
// says about the n-th call of the same function and size in the communicator, or else about any
// such call, or else about all such calls of the communicator's rank 0 where those agree. Without a
// log, assumes the ring, with LL up to 32 KiB per rank and SIMPLE above, and
// counts that in the warnings.
void add_choices(const NcclLog& log, model::Job& job);

}  // namespace assay::goal
