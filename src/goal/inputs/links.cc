#include "goal/inputs/links.h"

#include <algorithm>

namespace assay::goal {
namespace {

using Links = std::vector<model::ChannelLinks>;

bool is_rank(std::int32_t rank, const Links& links) {
  return rank >= 0 && static_cast<std::size_t>(rank) < links.size();
}

model::ChannelLinks& at(Links& links, std::int32_t rank) {
  return links[static_cast<std::size_t>(rank)];
}

void complete_ring(Links& links) {
  for (std::int32_t rank = 0; is_rank(rank, links); ++rank) {
    const model::ChannelLinks own = at(links, rank);
    if (is_rank(own.ring_next, links) && at(links, own.ring_next).ring_previous < 0) {
      at(links, own.ring_next).ring_previous = rank;
    }
    if (is_rank(own.ring_previous, links) && at(links, own.ring_previous).ring_next < 0) {
      at(links, own.ring_previous).ring_next = rank;
    }
  }
}

bool in_no_tree(const model::ChannelLinks& links) {
  return links.tree_up < 0 && std::all_of(links.tree_down.begin(), links.tree_down.end(),
                                          [](std::int32_t child) { return child < 0; });
}

void add_child(model::ChannelLinks& parent, std::int32_t child) {
  const auto free = std::find(parent.tree_down.begin(), parent.tree_down.end(), -1);
  if (free != parent.tree_down.end()) *free = child;
}

// Ranks without a tree of their own take what others say. A leaf that names its parent is complete.
void complete_tree(Links& links) {
  std::vector<bool> silent(links.size());
  for (std::size_t rank = 0; rank < links.size(); ++rank)
    silent[rank] = in_no_tree(links[rank]);
  for (std::int32_t rank = 0; is_rank(rank, links); ++rank) {
    const model::ChannelLinks own = at(links, rank);
    if (silent[static_cast<std::size_t>(rank)]) continue;
    if (is_rank(own.tree_up, links) && silent[static_cast<std::size_t>(own.tree_up)]) {
      add_child(at(links, own.tree_up), rank);
    }
    for (const std::int32_t child : own.tree_down) {
      if (is_rank(child, links) && silent[static_cast<std::size_t>(child)]) {
        at(links, child).tree_up = rank;
      }
    }
  }
}

void forget_unless_rank(std::int32_t& rank, const Links& links) {
  if (!is_rank(rank, links)) rank = -1;
}

}  // namespace

void set_links(model::Communicator& communicator,
               std::uint32_t rank,
               const std::vector<model::ChannelLinks>& channels) {
  if (channels.size() > communicator.channels.size()) {
    communicator.channels.resize(channels.size(), Links(communicator.gpus.size()));
  }
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    Links& links = communicator.channels[channel];
    model::ChannelLinks own = channels[channel];
    forget_unless_rank(own.ring_previous, links);
    forget_unless_rank(own.ring_next, links);
    forget_unless_rank(own.tree_up, links);
    for (std::int32_t& child : own.tree_down)
      forget_unless_rank(child, links);
    links[rank] = own;
  }
}

std::uint32_t complete_links(model::Communicator& communicator) {
  std::vector<bool> incomplete(communicator.gpus.size());
  for (Links& links : communicator.channels) {
    complete_ring(links);
    complete_tree(links);
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      if (!is_rank(links[rank].ring_next, links) || !is_rank(links[rank].ring_previous, links)) {
        incomplete[rank] = true;
      }
    }
  }
  return static_cast<std::uint32_t>(std::count(incomplete.begin(), incomplete.end(), true));
}

}  // namespace assay::goal
