#include "goal/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

namespace assay::goal {
namespace {

using model::ChannelLinks;

bool is_rank(std::int32_t rank, std::size_t num_ranks) {
  return rank >= 0 && static_cast<std::size_t>(rank) < num_ranks;
}

// Returns the place of each rank when the ring is followed from rank 0; empty if that does not
// visit all ranks.
std::vector<std::int32_t> follow_ring(const std::vector<ChannelLinks>& links) {
  std::vector<std::int32_t> index(links.size(), -1);
  std::int32_t rank = 0;
  for (std::size_t place = 0; place < links.size(); ++place) {
    if (!is_rank(rank, links.size()) || index[static_cast<std::size_t>(rank)] >= 0) return {};
    index[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(place);
    const std::int32_t next = links[static_cast<std::size_t>(rank)].ring_next;
    if (is_rank(next, links.size()) &&
        links[static_cast<std::size_t>(next)].ring_previous != rank) {
      return {};
    }
    rank = next;
  }
  return rank == 0 ? index : std::vector<std::int32_t>{};
}

bool has_child(const ChannelLinks& parent, std::int32_t child) {
  return std::find(parent.tree_down.begin(), parent.tree_down.end(), child) !=
         parent.tree_down.end();
}

// Returns whether every rank but one has a parent that knows it, and all paths lead to that one.
bool is_tree(const std::vector<ChannelLinks>& links) {
  std::size_t roots = 0;
  for (std::size_t rank = 0; rank < links.size(); ++rank) {
    if (links[rank].tree_up < 0) ++roots;
    for (const std::int32_t child : links[rank].tree_down) {
      if (child < 0) continue;
      if (!is_rank(child, links.size())) return false;
      if (links[static_cast<std::size_t>(child)].tree_up != static_cast<std::int32_t>(rank)) {
        return false;
      }
    }
    std::size_t steps = 0;
    for (auto at = static_cast<std::int32_t>(rank);
         links[static_cast<std::size_t>(at)].tree_up >= 0;
         at = links[static_cast<std::size_t>(at)].tree_up) {
      const std::int32_t up = links[static_cast<std::size_t>(at)].tree_up;
      if (!is_rank(up, links.size()) || ++steps > links.size()) return false;
      if (!has_child(links[static_cast<std::size_t>(up)], at)) return false;
    }
  }
  return roots == 1;
}

// Returns the neighbours of a rank in a binary tree in which the lowest set bit of a rank is its
// height.
TreePlace binary_tree(std::int32_t rank, std::int32_t size) {
  std::int32_t bit = 1;
  while (bit < size && (rank & bit) == 0)
    bit <<= 1;
  TreePlace place;
  if (rank == 0) {
    if (size > 1) place.down[1] = bit >> 1;
    return place;
  }
  place.up = (rank ^ bit) | (bit << 1);
  if (place.up >= size) place.up = rank ^ bit;
  const std::int32_t below = bit >> 1;
  if (below == 0) return place;
  place.down[0] = rank - below;
  std::int32_t step = below;
  while (step > 0 && rank + step >= size)
    step >>= 1;
  if (step > 0) place.down[1] = rank + step;
  return place;
}

TreePlace moved_tree(std::int32_t rank, std::int32_t size, BinaryTree tree) {
  if (tree == BinaryTree::kFirst) return binary_tree(rank, size);
  const bool mirror = size % 2 == 0;
  TreePlace place =
      mirror ? binary_tree(size - 1 - rank, size) : binary_tree((rank + size - 1) % size, size);
  const auto back = [&](std::int32_t other) {
    if (other < 0) return -1;
    return mirror ? size - 1 - other : (other + 1) % size;
  };
  place.up = back(place.up);
  for (std::int32_t& down : place.down)
    down = back(down);
  return place;
}

// Returns the ranks of each node, with the nodes in the order of their first rank.
std::vector<std::vector<std::int32_t>> by_node(const std::vector<std::string>& nodes) {
  std::vector<std::vector<std::int32_t>> groups;
  std::map<std::string, std::size_t> index;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto [at, is_new] = index.emplace(nodes[rank], groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(static_cast<std::int32_t>(rank));
  }
  return groups;
}

// Returns by_node() with each node's ranks beginning at place `head`, counted around.
std::vector<std::vector<std::int32_t>> by_node_from(const std::vector<std::string>& nodes,
                                                    std::size_t head) {
  auto groups = by_node(nodes);
  for (auto& ranks : groups) {
    const auto first = static_cast<std::ptrdiff_t>(head % ranks.size());
    std::rotate(ranks.begin(), ranks.begin() + first, ranks.end());
  }
  return groups;
}

void link_ring(std::vector<ChannelLinks>& links,
               const std::vector<std::string>& nodes,
               std::size_t head) {
  std::vector<std::int32_t> order;
  for (const auto& ranks : by_node_from(nodes, head))
    order.insert(order.end(), ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t next = order[(i + 1) % order.size()];
    links[static_cast<std::size_t>(order[i])].ring_next = next;
    links[static_cast<std::size_t>(next)].ring_previous = order[i];
  }
}

}  // namespace

std::int32_t NodeLayout::num_heads() const {
  std::size_t fewest = node_of.size();
  for (const auto& node : ranks)
    fewest = std::min(fewest, node.size());
  return static_cast<std::int32_t>(fewest);
}

namespace {

// The distances come in the order 0, 1, 3, 6, 10, …, modulo the next power of two, without those
// that are too far.
std::vector<std::int32_t> rounds_of_distances(std::size_t num_nodes) {
  const std::size_t mask = std::bit_ceil(std::max<std::size_t>(num_nodes, 1)) - 1;
  std::vector<std::int32_t> rounds(num_nodes, 0);
  std::int32_t next = 0;
  std::size_t distance = 0;
  for (std::size_t i = 0; i <= mask; ++i) {
    distance = (distance + i) & mask;
    if (distance < num_nodes) rounds[distance] = next++;
  }
  return rounds;
}

}  // namespace

NodeLayout make_layout(const std::vector<std::string>& nodes) {
  NodeLayout layout;
  layout.ranks = by_node(nodes);
  layout.round_of = rounds_of_distances(layout.ranks.size());
  layout.node_of.resize(nodes.size());
  layout.place_of.resize(nodes.size());
  for (std::size_t node = 0; node < layout.ranks.size(); ++node) {
    for (std::size_t place = 0; place < layout.ranks[node].size(); ++place) {
      const auto rank = static_cast<std::size_t>(layout.ranks[node][place]);
      layout.node_of[rank] = static_cast<std::int32_t>(node);
      layout.place_of[rank] = static_cast<std::int32_t>(place);
    }
  }
  return layout;
}

std::int64_t pair_round(const NodeLayout& nodes, std::int32_t from, std::int32_t to) {
  const auto source = static_cast<std::size_t>(from);
  const auto destination = static_cast<std::size_t>(to);
  const auto num_nodes = static_cast<std::int32_t>(nodes.ranks.size());
  const std::int32_t node = nodes.node_of[destination];
  const auto size = static_cast<std::int32_t>(nodes.ranks[static_cast<std::size_t>(node)].size());
  const std::int32_t further = (node - nodes.node_of[source] + num_nodes) % num_nodes;
  const std::int32_t ahead = nodes.place_of[destination] - nodes.place_of[source] % size + size;
  const auto most = static_cast<std::int64_t>(nodes.node_of.size());
  return nodes.round_of[static_cast<std::size_t>(further)] * most + ahead % size;
}

TreePlace binary_tree_of(std::int32_t node, std::int32_t num_nodes, BinaryTree tree) {
  return moved_tree(node, num_nodes, tree);
}

BinaryTree tree_of_channel(std::size_t channel, std::size_t num_channels) {
  return channel < (num_channels + 1) / 2 ? BinaryTree::kFirst : BinaryTree::kSecond;
}

void link_trees(std::vector<ChannelLinks>& links,
                const std::vector<std::string>& nodes,
                BinaryTree tree,
                std::size_t head) {
  const auto groups = by_node_from(nodes, head);
  const auto num_nodes = static_cast<std::int32_t>(groups.size());
  const auto begin_of = [&](std::int32_t node) {
    return node < 0 ? -1 : groups[static_cast<std::size_t>(node)].front();
  };
  for (std::int32_t node = 0; node < num_nodes; ++node) {
    const auto& ranks = groups[static_cast<std::size_t>(node)];
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ChannelLinks& link = links[static_cast<std::size_t>(ranks[i])];
      link.tree_up = i > 0 ? ranks[i - 1] : -1;
      link.tree_down = {i + 1 < ranks.size() ? ranks[i + 1] : -1, -1, -1};
    }
    const TreePlace place = moved_tree(node, num_nodes, tree);
    ChannelLinks& first = links[static_cast<std::size_t>(ranks.front())];
    first.tree_up = begin_of(place.up);
    first.tree_down[1] = begin_of(place.down[0]);
    first.tree_down[2] = begin_of(place.down[1]);
  }
}

std::size_t rings_over(const NodeLayout& layout) {
  return layout.ranks.size() > 1 ? static_cast<std::size_t>(layout.num_heads()) : 1;
}

std::vector<std::vector<ChannelLinks>> link_channels(const std::vector<std::string>& nodes,
                                                     std::size_t most_rings) {
  const std::size_t rings = std::min<std::size_t>(most_rings, model::kMostNcclChannels / 2);
  std::vector<std::vector<ChannelLinks>> channels(2 * rings);
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    channels[channel].resize(nodes.size());
    link_ring(channels[channel], nodes, channel % rings);
    link_trees(channels[channel], nodes, tree_of_channel(channel, channels.size()),
               channel % rings);
  }
  return channels;
}

Topology make_topology(const model::Communicator& communicator,
                       const std::vector<std::string>& nodes,
                       const Routes& routes,
                       model::Warnings& warnings) {
  Topology topology;
  topology.num_ranks = static_cast<std::uint32_t>(communicator.gpus.size());
  topology.nodes = make_layout(nodes);
  if (communicator.channels.empty() && topology.num_ranks > 1 && (routes.rings || routes.trees)) {
    warnings.add(
        "no rings and trees recorded",
        "rings taken in the order of the ranks, from node to node, trees as NCCL builds them",
        communicator.name);
  }
  const std::size_t rings = rings_over(topology.nodes);
  auto channels =
      communicator.channels.empty() ? link_channels(nodes, rings) : communicator.channels;
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    ChannelTopology made{.links = std::move(channels[channel]), .ring_index = {}};
    const bool is_whole = made.links.size() == topology.num_ranks;
    made.links.resize(topology.num_ranks);
    const auto complain = [&](bool used, const char* what, const char* effect) {
      if (!used) return;
      warnings.add(what, effect, fmt::format("{} channel {}", communicator.name, channel));
    };
    if (is_whole) made.ring_index = follow_ring(made.links);
    if (made.ring_index.empty()) {
      complain(routes.rings, "a recorded ring does not visit every rank once",
               "taken in the order of the ranks");
      link_ring(made.links, nodes, channel % rings);
      made.ring_index = follow_ring(made.links);
    }
    if (!is_whole || !is_tree(made.links)) {
      complain(routes.trees, "a recorded tree does not hold together", "taken as NCCL builds it");
      link_trees(made.links, nodes, tree_of_channel(channel, channels.size()), channel % rings);
    }
    topology.channels.push_back(std::move(made));
  }
  return topology;
}

}  // namespace assay::goal
