// Makes a job of the execution traces of all its ranks.
//
// Nodes run in the order of their dependencies, of several that are free the one with the lowest
// number first: computation of a GPU, of a CPU and of memory each in a stream of its own, the
// collectives of a group in another, and messages in one for each peer and direction. NCCL's
// algorithms are those of collective_choice.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "goal/chakra/execution_trace.h"
#include "model/job.h"

namespace assay::goal {

struct RankTrace {
  std::string file;  // in errors
  std::vector<ChakraNode> nodes;
};

// The ranks of groups, by the groups' names.
using RankGroups = std::map<std::string, std::vector<std::uint32_t>>;

// A file of ASTRA-sim: {"1": [0, 1, 2, 3], …}. Errors call the text `name`.
core::Result<RankGroups> parse_rank_groups(std::string_view text, const std::string& name);

// Returns the groups that a rank's metadata tells as PyTorch's converter writes them.
RankGroups groups_in_metadata(const std::vector<ChakraNode>& nodes);

// `traces` by rank. Error: a rank's nodes wait for each other in a circle, or a collective's group
// is unknown.
core::Result<model::Job> job_of_traces(const std::vector<RankTrace>& traces,
                                       const RankGroups& groups,
                                       std::uint32_t gpus_per_node);

}  // namespace assay::goal
