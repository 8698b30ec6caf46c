// Writes a job as execution traces of Chakra, which ASTRA-sim and others run: a node of computation
// for the time before each launch, and one for each collective, send and receive.
//
// Times of nodes are whole microseconds; what a rank's nodes lose by that, later ones get back. The
// collectives themselves have no time: whoever runs the trace gives them one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/timeline.h"
#include "model/job.h"
#include "model/table.h"
#include "model/warnings.h"

namespace assay::goal {

struct WrittenTraces {
  std::uint64_t ranks = 0;
  std::uint64_t computations = 0;
  std::uint64_t collectives = 0;
  std::uint64_t messages = 0;  // sends and receives
  std::vector<std::filesystem::path> files;
  model::Warnings warnings;
};

model::Book summary_of(const WrittenTraces& written);

// Writes output.RANK.et for each GPU and comm_group.json into a folder, which is made if missing.
core::Result<WrittenTraces> write_traces(const model::Job& job,
                                         const StreamOptions& streams,
                                         const std::filesystem::path& folder);

}  // namespace assay::goal
