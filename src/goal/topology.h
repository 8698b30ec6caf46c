// The rings and trees of a communicator, complete and consistent: those that were recorded where
// they hold together, otherwise those that NCCL would build on one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/warnings.h"

namespace assay::goal {

struct ChannelTopology {
  std::vector<model::ChannelLinks> links;  // by rank
  std::vector<std::int32_t> ring_index;    // by rank: its place in the ring, rank 0 first
};

struct Topology {
  std::uint32_t num_ranks = 0;
  std::vector<ChannelTopology> channels;  // at least one

  // Operations may use more channels than were recorded: the topologies then repeat.
  [[nodiscard]] const ChannelTopology& channel(std::uint32_t index) const {
    return channels[index % channels.size()];
  }
};

// What the communicator's operations go by: only that is worth a warning.
struct Routes {
  bool rings = true;
  bool trees = true;
};

// `nodes`: the node of each rank. Counts in `warnings` what was not recorded or does not hold
// together.
Topology make_topology(const model::Communicator& communicator,
                       const std::vector<std::string>& nodes,
                       const Routes& routes,
                       model::Warnings& warnings);

// Of the double binary tree: a binary tree and its mirror (an even number of nodes) or shift (an
// odd one), so that no node is inside both.
enum class BinaryTree { kFirst, kSecond };

// NCCL builds both trees for every ring that it found: the first half of the channels takes the
// first tree, the other half the second.
BinaryTree tree_of_channel(std::size_t channel, std::size_t num_channels);

// NCCL's trees: a chain through the ranks of a node, a binary tree over the first ranks of the
// nodes.
void link_trees(std::vector<model::ChannelLinks>& links,
                const std::vector<std::string>& nodes,
                BinaryTree tree);

}  // namespace assay::goal
