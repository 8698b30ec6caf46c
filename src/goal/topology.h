// Completes the rings and trees of a communicator. Keeps those that were recorded where they are
// consistent, and otherwise makes those that NCCL would build on one machine.
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
  std::vector<std::int32_t> ring_index;    // by rank: place in the ring, counted from rank 0
};

struct Topology {
  std::uint32_t num_ranks = 0;
  std::vector<ChannelTopology> channels;  // at least one

  // An operation may use more channels than were recorded; the topologies then repeat.
  [[nodiscard]] const ChannelTopology& channel(std::uint32_t index) const {
    return channels[index % channels.size()];
  }
};

// The algorithms that the communicator's operations use. Only faults in those are worth a warning.
struct Routes {
  bool rings = true;
  bool trees = true;
};

// `nodes` has the node of each rank. Counts in `warnings` what was not recorded or is inconsistent.
Topology make_topology(const model::Communicator& communicator,
                       const std::vector<std::string>& nodes,
                       const Routes& routes,
                       model::Warnings& warnings);

// One of the two trees of the double binary tree: a binary tree and its mirror (for an even number
// of nodes) or its shift (for an odd number), so that no node is an inner node of both.
enum class BinaryTree { kFirst, kSecond };

// NCCL builds both trees for every ring that it found: the first half of the channels uses the
// first tree, the other half the second.
BinaryTree tree_of_channel(std::size_t channel, std::size_t num_channels);

// Links NCCL's trees: a chain through the ranks of a node, and a binary tree over the first ranks
// of the nodes.
void link_trees(std::vector<model::ChannelLinks>& links,
                const std::vector<std::string>& nodes,
                BinaryTree tree);

}  // namespace assay::goal
