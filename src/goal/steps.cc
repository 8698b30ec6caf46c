#include "goal/steps.h"

#include <algorithm>

namespace assay::goal {

Part part_of(const Resolved& resolved, std::uint32_t gpu, const Call& call) {
  const Exchange& exchange = resolved.exchanges[call.exchange];
  Part part;
  part.exchange = call.exchange;
  part.operation = &resolved.job->gpus[gpu].operations[call.operation];
  part.shape = &resolved.shapes[exchange.shape];
  part.topology = &resolved.topologies[exchange.communicator];
  part.communicator = &resolved.job->communicators[exchange.communicator];
  const auto& gpus = part.communicator->gpus;
  part.rank = static_cast<std::int32_t>(std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin());
  return part;
}

std::uint64_t launch_ns(const Resolved& resolved,
                        std::uint32_t gpu,
                        const Launch& launch,
                        const Costs& costs) {
  std::uint64_t longest = 0;
  for (std::uint32_t i = 0; i < launch.num_calls; ++i) {
    const Call& call = resolved.gpus[gpu].calls[launch.first_call + i];
    const Exchange& exchange = resolved.exchanges[call.exchange];
    longest = std::max(longest, costs.launch_of(resolved.shapes[exchange.shape].protocol));
  }
  return longest;
}

namespace {

// Returns the step with those of its peers alone that are in the rank's node, or in others.
Step with_peers(const Step& step, const NodeLayout& nodes, std::int32_t rank, bool in_node) {
  const auto node_of = [&](std::int32_t peer) {
    return nodes.node_of[static_cast<std::size_t>(peer)];
  };
  const auto is_meant = [&](std::int32_t peer) {
    return (node_of(peer) == node_of(rank)) == in_node;
  };
  Step made = step;
  made.num_from = made.num_to = 0;
  for (std::uint8_t i = 0; i < step.num_from; ++i) {
    if (is_meant(step.from[i])) made.from[made.num_from++] = step.from[i];
  }
  for (std::uint8_t i = 0; i < step.num_to; ++i) {
    if (is_meant(step.to[i])) made.to[made.num_to++] = step.to[i];
  }
  return made;
}

// Makes whole messages of those between nodes. What comes from another node is there before the
// first slice, and what goes to one leaves after the last.
std::vector<Step> split_at_nodes(const std::vector<Step>& steps,
                                 const NodeLayout& nodes,
                                 std::int32_t rank) {
  std::vector<Step> split;
  for (const Step& step : steps) {
    const Step near = with_peers(step, nodes, rank, true);
    Step far = with_peers(step, nodes, rank, false);
    far.whole = true;
    const bool has_near = near.num_from > 0 || near.num_to > 0;
    const bool has_far = far.num_from > 0 || far.num_to > 0;
    if (!has_near || !has_far) {
      split.push_back(has_far ? far : step);
      continue;
    }
    far.is_free = true;
    Step before = far;
    before.num_to = 0;
    Step after = far;
    after.num_from = 0;
    if (before.num_from > 0) split.push_back(before);
    split.push_back(near);
    if (after.num_to > 0) split.push_back(after);
  }
  return split;
}

}  // namespace

void lower_channel(const Part& part, const model::ChannelPart& channel, Primitives& primitives) {
  primitives.clear();
  const model::Operation& operation = *part.operation;
  const LoweringSpec* spec = find_lowering(operation.function, operation.algorithm);
  const bool alone = part.communicator->gpus.size() == 1;
  if (spec == nullptr || (alone && !is_point_to_point(operation.function))) return;
  const ChannelTopology& topology = part.topology->channel(channel.channel);
  const auto rank = static_cast<std::size_t>(part.rank);
  const model::ChannelLinks& links = topology.links[rank];
  spec->lower({.protocol = part.shape->protocol,
               .rank = part.rank,
               .num_ranks = static_cast<std::int32_t>(part.communicator->gpus.size()),
               .root = std::max(operation.root, 0),
               .peer = operation.peer,
               .channel = channel.channel,
               .nodes = &part.topology->nodes,
               .ring_index = topology.ring_index[rank],
               .ring_previous = links.ring_previous,
               .ring_next = links.ring_next,
               .tree_up = links.tree_up,
               .tree_down = links.tree_down,
               .element_bytes = part.shape->cut.element_bytes,
               .count = channel.count,
               .chunk_count = channel.chunk_count,
               .last_chunk_count = channel.last_chunk_count},
              primitives);
  if (part.shape->cut.whole_over_nodes)
    primitives.replace(split_at_nodes(primitives.steps(), part.topology->nodes, part.rank));
}

namespace {

PeerMessages& entry(std::vector<PeerMessages>& counts, std::uint32_t peer) {
  for (PeerMessages& count : counts) {
    if (count.peer == peer) return count;
  }
  return counts.emplace_back(PeerMessages{peer, 0, 0});
}

}  // namespace

const std::vector<PeerMessages>& MessageCounter::count(const Call& call) {
  const Part part = part_of(resolved_, gpu_, call);
  const std::uint32_t shape = resolved_.exchanges[call.exchange].shape;
  const bool p2p = is_point_to_point(part.operation->function);
  const bool receives = part.operation->function == model::NcclFunction::kRecv;
  const std::uint64_t direction = receives ? 1 : 0;
  const std::uint64_t peer =
      p2p ? static_cast<std::uint64_t>(part.operation->peer) * 2 + direction + 1 : 0;
  const auto [found, is_new] = known_.try_emplace(std::uint64_t{shape} << 32 | peer);
  if (!is_new) return found->second;
  for (const model::ChannelPart& channel : part.shape->cut.parts) {
    lower_channel(part, channel, primitives_);
    add_channel(part, found->second);
  }
  return found->second;
}

void MessageCounter::add_channel(const Part& part, std::vector<PeerMessages>& counts) {
  for (const Step& step : primitives_.steps()) {
    std::uint32_t slices = 0;
    for_each_slice(part, step, [&](std::uint64_t) { ++slices; });
    for (std::uint8_t i = 0; i < step.num_to; ++i) {
      entry(counts, part.gpu(step.to[i])).sends += slices;
    }
    for (std::uint8_t i = 0; i < step.num_from; ++i) {
      entry(counts, part.gpu(step.from[i])).receives += slices;
    }
  }
}

}  // namespace assay::goal
