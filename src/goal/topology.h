// Completes the rings and trees of a communicator. Keeps those that were recorded where they are
// consistent, and otherwise makes those that NCCL would build on one machine.
#pragma once

#include <array>
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

// The ranks of each node, as ranks of the communicator. The rank at place i of a node is the head
// of rail i: it speaks to the heads of the other nodes at place i.
struct NodeLayout {
  std::vector<std::vector<std::int32_t>> ranks;  // by node, in the order of their first ranks
  std::vector<std::int32_t> node_of;             // by rank
  std::vector<std::int32_t> place_of;            // by rank: its place in its node
  // By how many nodes a peer is further: the place of that distance in the order in which NCCL
  // takes the sends and receives of a group.
  std::vector<std::int32_t> round_of = {};

  // Every node has as many heads.
  [[nodiscard]] std::int32_t num_heads() const;
};

NodeLayout make_layout(const std::vector<std::string>& nodes);

// Returns a number by which NCCL orders the pairs of `from` and `to` within a group. In one round
// each rank sends to one rank and receives from one, so that not all send to the same one at first:
// to the ranks of the same node as far ahead as from those as far behind, then to those of other
// nodes.
std::int64_t pair_round(const NodeLayout& nodes, std::int32_t from, std::int32_t to);

struct Topology {
  std::uint32_t num_ranks = 0;
  std::vector<ChannelTopology> channels;  // at least one
  NodeLayout nodes;

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

struct TreePlace {
  std::int32_t up = -1;
  std::array<std::int32_t, 2> down = {-1, -1};
};

// Returns the neighbours of a node in a tree over `num_nodes` nodes; -1 for none.
TreePlace binary_tree_of(std::int32_t node, std::int32_t num_nodes, BinaryTree tree);

// NCCL builds both trees for every ring that it found: the first half of the channels uses the
// first tree, the other half the second.
BinaryTree tree_of_channel(std::size_t channel, std::size_t num_channels);

// Links NCCL's trees: a chain through the ranks of a node, and a binary tree over the ranks where
// the chains begin. Those are the ranks at place `head` of their nodes, counted around; NCCL begins
// another channel at another GPU where each has its own network card.
void link_trees(std::vector<model::ChannelLinks>& links,
                const std::vector<std::string>& nodes,
                BinaryTree tree,
                std::size_t head = 0);

// Returns as many rings as every node has heads, since NCCL leaves a node by each GPU's network
// card; within one node, all rings are alike.
std::size_t rings_over(const NodeLayout& layout);

// Links so many rings, or as many as NCCL has channels for, over `nodes`, the node of each rank:
// from node to node, which another ring leaves at another rank. For each there is a channel with
// NCCL's first tree and one with the second.
std::vector<std::vector<model::ChannelLinks>> link_channels(const std::vector<std::string>& nodes,
                                                            std::size_t most_rings);

}  // namespace assay::goal
