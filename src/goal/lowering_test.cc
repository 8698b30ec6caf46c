#include "goal/lowering.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "goal/chunking.h"
#include "goal/lowering/pat.h"
#include "goal/topology.h"

namespace assay::goal {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

struct Moved {
  std::vector<std::uint64_t> counts;  // counts of the messages of a pair, in their order

  std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts)
      total += count;
    return total;
  }

  bool operator==(const Moved&) const = default;
};

using Pairs = std::map<std::pair<std::int32_t, std::int32_t>, Moved>;  // source, destination

struct Traffic {
  Pairs sent;
  Pairs received;
};

Topology topology_of(std::int32_t num_ranks) {
  model::Communicator communicator;
  communicator.gpus.resize(static_cast<std::size_t>(num_ranks));
  model::Warnings warnings;
  std::vector<std::string> nodes;
  for (std::int32_t rank = 0; rank < num_ranks; ++rank)
    nodes.push_back(std::to_string(rank / 4));
  return make_topology(communicator, nodes, {}, warnings);
}

ChannelTask task_of(const Topology& topology, std::uint32_t channel, std::int32_t rank) {
  const ChannelTopology& from = topology.channel(channel);
  const auto index = static_cast<std::size_t>(rank);
  ChannelTask task;
  task.rank = rank;
  task.num_ranks = static_cast<std::int32_t>(topology.num_ranks);
  task.ring_index = from.ring_index[index];
  task.ring_previous = from.links[index].ring_previous;
  task.ring_next = from.links[index].ring_next;
  task.tree_up = from.links[index].tree_up;
  task.tree_down = from.links[index].tree_down;
  task.channel = channel;
  task.nodes = &topology.nodes;
  task.element_bytes = 4;
  return task;
}

Traffic run(const LoweringSpec& spec,
            std::int32_t num_ranks,
            std::uint32_t channel,
            std::uint64_t count,
            std::uint64_t chunk,
            std::int32_t root) {
  const Topology topology = topology_of(num_ranks);
  Traffic traffic;
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    ChannelTask task = task_of(topology, channel, rank);
    task.count = count;
    task.chunk_count = chunk;
    task.root = root;
    // Every rank sends to the next and receives from the one before it.
    task.peer = spec.function == NcclFunction::kRecv ? (rank + num_ranks - 1) % num_ranks
                                                     : (rank + 1) % num_ranks;
    Primitives primitives;
    spec.lower(task, primitives);
    for (const Step& step : primitives.steps()) {
      for (std::uint8_t i = 0; i < step.num_to; ++i) {
        traffic.sent[{rank, step.to[i]}].counts.push_back(step.count);
      }
      for (std::uint8_t i = 0; i < step.num_from; ++i) {
        traffic.received[{step.from[i], rank}].counts.push_back(step.count);
      }
    }
  }
  return traffic;
}

std::uint64_t total(const Pairs& pairs) {
  std::uint64_t sum = 0;
  for (const auto& [pair, moved] : pairs)
    sum += moved.sum();
  return sum;
}

const LoweringSpec& spec(const char* name) {
  for (const LoweringSpec* known : core::Registry<LoweringSpec>::all()) {
    if (std::string_view(known->name) == name) return *known;
  }
  ADD_FAILURE() << name;
  static const LoweringSpec none{};
  return none;
}

struct Case {
  std::uint64_t count;
  std::uint64_t chunk;
};

const std::vector<Case> kCases = {{1, 16}, {64, 64}, {1000, 64}, {4096, 512}, {70001, 4096}};

TEST(Lowering, EveryPairAgreesForEveryAlgorithm) {
  for (const LoweringSpec* known : core::Registry<LoweringSpec>::all()) {
    const bool half = is_point_to_point(known->function);
    for (const std::int32_t num_ranks : {2, 3, 4, 5, 7, 8, 12, 16, 33}) {
      for (const Case& c : kCases) {
        for (const std::uint32_t channel : {0U, 1U}) {
          const Traffic traffic = run(*known, num_ranks, channel, c.count, c.chunk, num_ranks / 2);
          const Traffic other =
              half ? run(spec("recv"), num_ranks, channel, c.count, c.chunk, 0) : traffic;
          if (half && known->function == NcclFunction::kRecv) continue;
          EXPECT_EQ(traffic.sent, other.received)
              << known->name << " with " << num_ranks << " ranks, " << c.count << " elements";
          EXPECT_FALSE(traffic.sent.empty()) << known->name;
        }
      }
    }
  }
}

// Whatever the algorithm: a broadcast reaches every rank but the root once, and of a reduction
// every rank but the root sends once.
TEST(Lowering, RootsSendBroadcastsAndReceiveReductions) {
  constexpr std::int32_t kRanks = 5;
  constexpr std::uint64_t kCount = 1000;
  for (const LoweringSpec* known : core::Registry<LoweringSpec>::all()) {
    const bool broadcasts = known->function == NcclFunction::kBroadcast;
    if (!broadcasts && known->function != NcclFunction::kReduce) continue;
    for (std::int32_t root = 0; root < kRanks; ++root) {
      const Traffic traffic = run(*known, kRanks, 0, kCount, 64, root);
      std::array<std::uint64_t, kRanks> moved = {};
      for (const auto& [pair, messages] : broadcasts ? traffic.received : traffic.sent)
        moved.at(static_cast<std::size_t>(broadcasts ? pair.second : pair.first)) += messages.sum();
      for (std::int32_t rank = 0; rank < kRanks; ++rank)
        EXPECT_EQ(moved.at(static_cast<std::size_t>(rank)), rank == root ? 0 : kCount)
            << known->name << ": rank " << rank << " of root " << root;
    }
  }
}

// The bytes that each algorithm must move in all, whatever its chunks: the textbook volumes.
TEST(Lowering, MovesTheRightVolume) {
  for (const std::uint64_t n : {2, 3, 5, 8, 13}) {
    for (const Case& c : kCases) {
      const auto volume = [&](const char* name) {
        return total(run(spec(name), static_cast<std::int32_t>(n), 0, c.count, c.chunk, 1).sent);
      };
      EXPECT_EQ(volume("ring_all_reduce"), 2 * (n - 1) * c.count) << n << " ranks, " << c.count;
      EXPECT_EQ(volume("tree_all_reduce"), 2 * (n - 1) * c.count);
      EXPECT_EQ(volume("ring_all_gather"), n * (n - 1) * c.count);
      EXPECT_EQ(volume("ring_reduce_scatter"), n * (n - 1) * c.count);
      EXPECT_EQ(volume("pat_all_gather"), n * (n - 1) * c.count);
      EXPECT_EQ(volume("pat_reduce_scatter"), n * (n - 1) * c.count);
      EXPECT_EQ(volume("ring_broadcast"), (n - 1) * c.count);
      EXPECT_EQ(volume("ring_reduce"), (n - 1) * c.count);
      EXPECT_EQ(volume("send"), n * c.count);
    }
  }
}

// What switches must move in all: test nodes have 4 ranks, the last one fewer.
struct SwitchCase {
  std::int32_t num_ranks;
  std::vector<std::uint64_t> nodes;
};

const std::vector<SwitchCase> kSwitchCases = {{2, {2}},
                                              {3, {3}},
                                              {4, {4}},
                                              {5, {4, 1}},
                                              {8, {4, 4}},
                                              {13, {4, 4, 4, 1}},
                                              {24, {4, 4, 4, 4, 4, 4}}};

// The sum over nodes with several ranks of what body(ranks) says.
template <class Body>
std::uint64_t sum_over_nodes(const SwitchCase& c, Body body) {
  std::uint64_t sum = 0;
  for (const std::uint64_t ranks : c.nodes)
    sum += ranks > 1 ? body(ranks) : 0;
  return sum;
}

// Messages are rounded up to whole elements.
void expect_volume(const char* name,
                   const SwitchCase& c,
                   const Case& size,
                   std::uint64_t expected) {
  const Pairs sent = run(spec(name), c.num_ranks, 0, size.count, size.chunk, 0).sent;
  std::uint64_t messages = 0;
  for (const auto& [pair, moved] : sent)
    messages += moved.counts.size();
  EXPECT_GE(total(sent), expected) << name << " " << c.num_ranks << " ranks, " << size.count;
  EXPECT_LE(total(sent), expected + messages) << name << " " << c.num_ranks << " " << size.count;
}

TEST(Lowering, SwitchesMoveTheRightVolume) {
  for (const SwitchCase& c : kSwitchCases) {
    const std::uint64_t nodes = c.nodes.size();
    const auto n = static_cast<std::uint64_t>(c.num_ranks);
    const bool even = c.nodes.front() == c.nodes.back();
    for (const Case& size : kCases) {
      const std::uint64_t count = size.count;
      // An NVSwitch takes the data out of each GPU and the sum of one part more, and returns as
      // much.
      const std::uint64_t switched =
          sum_over_nodes(c, [&](std::uint64_t ranks) { return (ranks + 1) * count; });
      const std::uint64_t within =
          sum_over_nodes(c, [&](std::uint64_t ranks) { return 2 * (ranks - 1) * count; });
      // Each node gives a network that reduces the data once and gets them once.
      const std::uint64_t network = nodes > 1 ? nodes * count : 0;
      expect_volume("nvls_all_reduce", c, size, switched + network);
      expect_volume("nvls_tree_all_reduce", c, size, switched + 2 * (nodes - 1) * count);
      expect_volume("collnet_direct_all_reduce", c, size, within + network);
      expect_volume("collnet_chain_all_reduce", c, size, within + network);
      // One part for each rank: it passes to each other node once, then to each GPU of a node.
      const std::uint64_t rails = even ? n * (nodes - 1) * count : 0;
      const std::uint64_t local = n * n * count;
      for (const char* name : {"nvls_all_gather", "nvls_reduce_scatter"})
        expect_volume(name, c, size, rails + local);
      const std::uint64_t direct =
          even ? n * nodes * (c.nodes[0] - 1) * count : n * (n - 1) * count;
      for (const char* name : {"collnet_direct_all_gather", "collnet_direct_reduce_scatter"})
        expect_volume(name, c, size, rails + direct);
    }
  }
}

// In every GPU's links: as much goes in as comes out of a node of equals.
TEST(Lowering, SwitchesLoadTheLinksOfAllGpusAlike) {
  for (const char* name :
       {"nvls_all_reduce", "nvls_all_gather", "nvls_reduce_scatter", "collnet_direct_all_reduce"}) {
    const std::uint64_t count = 3 * 7 * 8 * 4096;
    const Pairs sent = run(spec(name), 8, 0, count, 4096, 0).sent;
    std::map<std::int32_t, std::uint64_t> out;
    std::map<std::int32_t, std::uint64_t> in;
    for (const auto& [pair, moved] : sent) {
      out[pair.first] += moved.sum();
      in[pair.second] += moved.sum();
    }
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      EXPECT_EQ(out[rank], out[0]) << name;
      EXPECT_EQ(in[rank], out[0]) << name;
    }
  }
}

TEST(Lowering, NodesOfMoreRanksThanAStepHasPeers) {
  model::Communicator communicator;
  communicator.gpus.resize(18);
  model::Warnings warnings;
  const Topology topology =
      make_topology(communicator, std::vector<std::string>(18, "rack"), {}, warnings);
  ChannelTask task = task_of(topology, 0, 5);
  task.count = 18 * 4096;
  task.chunk_count = 4096;
  Primitives primitives;
  spec("nvls_all_reduce").lower(task, primitives);
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (const Step& step : primitives.steps()) {
    sends += step.num_to;
    receives += step.num_from;
    EXPECT_EQ(step.count, (4096 * 19 + 33) / 34);
  }
  EXPECT_EQ(sends, 2U * 17);
  EXPECT_EQ(receives, 2U * 17);
}

TEST(Lowering, RingAllReduceTakesNcclsSteps) {
  // Four ranks and one loop make 2 (n - 1) = 6 messages per rank; 100 elements in chunks of 25,
  // rounded up to 16 bytes, are 28, 28, 28 and 16.
  ChannelTask task = task_of(topology_of(4), 0, 1);
  task.count = 100;
  task.chunk_count = 1024;
  Primitives primitives;
  spec("ring_all_reduce").lower(task, primitives);
  std::vector<std::tuple<Work, int, int, std::uint64_t>> steps;
  for (const Step& step : primitives.steps()) {
    steps.emplace_back(step.work, step.num_from, step.num_to, step.count);
  }
  const std::vector<std::tuple<Work, int, int, std::uint64_t>> expected = {
      {Work::kCopy, 0, 1, 28},       {Work::kReduce, 1, 1, 16}, {Work::kReduce, 1, 1, 28},
      {Work::kReduceCopy, 1, 1, 28}, {Work::kCopy, 1, 1, 28},   {Work::kCopy, 1, 1, 16},
      {Work::kCopy, 1, 0, 28}};
  EXPECT_EQ(steps, expected);
}

TEST(Lowering, TransfersAsObservedOnHardware) {
  // 64 MB gathered by 4 ranks over 2 channels were seen to take 24 transfers of 1 MiB per channel:
  // 16 MiB per rank, 8 MiB per channel, chunks of 2 MiB in two slices, and 3 of the 4 ranks' parts
  // pass.
  model::Operation operation;
  operation.function = NcclFunction::kAllGather;
  operation.algorithm = NcclAlgorithm::kRing;
  operation.protocol = NcclProtocol::kSimple;
  operation.bytes = 16 << 20;
  operation.num_channels = 2;
  const Cut cut = cut_operation({.operation = operation, .parts = {}, .num_ranks = 4});
  ASSERT_EQ(cut.parts.size(), 2U);
  EXPECT_EQ(cut.parts[0].count, 8U << 20);
  EXPECT_EQ(cut.parts[0].chunk_count, 2U << 20);
  ChannelTask task = task_of(topology_of(4), 0, 0);
  task.count = cut.parts[0].count;
  task.chunk_count = cut.parts[0].chunk_count;
  Primitives primitives;
  spec("ring_all_gather").lower(task, primitives);
  std::size_t transfers = 0;
  for (const Step& step : primitives.steps()) {
    if (step.num_to == 0) continue;
    for_each_slice(cut, step.count, [&](std::uint64_t slice) {
      EXPECT_EQ(slice, 1U << 20);
      ++transfers;
    });
  }
  EXPECT_EQ(transfers, 24U);
}

std::vector<std::pair<std::int32_t, std::uint64_t>> pat_steps(std::int32_t num_ranks,
                                                              std::uint64_t count,
                                                              std::uint64_t chunk,
                                                              std::uint64_t message_parts) {
  ChannelTask task;
  task.num_ranks = num_ranks;
  task.count = count;
  task.chunk_count = chunk;
  const PatPlan plan = plan_pat(task);
  EXPECT_EQ(plan.message_parts, message_parts);
  std::vector<std::pair<std::int32_t, std::uint64_t>> steps;
  for (const PatStep& step : plan.steps)
    steps.emplace_back(step.distance, step.parts);
  return steps;
}

TEST(Lowering, PatGoesFarFirst) {
  using Steps = std::vector<std::pair<std::int32_t, std::uint64_t>>;
  EXPECT_EQ(pat_steps(8, 1000, 65536, 4), (Steps{{4, 1}, {2, 2}, {1, 4}}));
  // At most 5 / 2 trees go together: 4 is the other root; 2 and 3 are behind it, then 1.
  EXPECT_EQ(pat_steps(5, 1000, 65536, 2), (Steps{{4, 1}, {2, 1}, {1, 1}, {1, 1}}));
  // Full chunks are not joined, and 8 buffers hold 8 trees whose roots are 4 apart; 2, 3 and 1
  // behind them follow.
  EXPECT_EQ(pat_steps(32, 1000, 1000, 1), (Steps{{16, 1}, {8, 2}, {4, 4}, {2, 8}, {1, 8}, {1, 8}}));
}

TEST(Topology, DoubleBinaryTreesAreTrees) {
  for (std::size_t num_nodes = 1; num_nodes < 40; ++num_nodes) {
    for (const std::size_t per_node : {1U, 4U}) {
      std::vector<std::string> nodes;
      for (std::size_t i = 0; i < num_nodes * per_node; ++i) {
        nodes.push_back(std::to_string(i / per_node));
      }
      model::Communicator communicator;
      communicator.gpus.resize(nodes.size());
      for (const std::uint32_t channel : {0U, 1U}) {
        std::vector<model::ChannelLinks> links(nodes.size());
        link_trees(links, nodes, tree_of_channel(channel, 2));
        communicator.channels.push_back(links);
        for (std::size_t rank = 0; rank < links.size(); ++rank) {
          links[rank].ring_previous =
              static_cast<std::int32_t>((rank + links.size() - 1) % links.size());
          links[rank].ring_next = static_cast<std::int32_t>((rank + 1) % links.size());
        }
        communicator.channels.back() = links;
      }
      model::Warnings warnings;
      make_topology(communicator, nodes, {}, warnings);
      EXPECT_TRUE(warnings.empty()) << num_nodes << " nodes: " << warnings.all()[0].reason;
    }
  }
}

TEST(Topology, TreesAsNccl) {
  // NCCL's btree of 8 nodes: 0 - 4; 4 - 2, 6; 2 - 1, 3; 6 - 5, 7.
  std::vector<std::string> nodes;
  for (int i = 0; i < 8; ++i)
    nodes.push_back(std::to_string(i));
  std::vector<model::ChannelLinks> links(8);
  link_trees(links, nodes, BinaryTree::kFirst);
  std::vector<std::int32_t> ups;
  for (const model::ChannelLinks& link : links)
    ups.push_back(link.tree_up);
  EXPECT_EQ(ups, (std::vector<std::int32_t>{-1, 2, 4, 2, 0, 6, 4, 6}));
  link_trees(links, nodes, BinaryTree::kSecond);
  EXPECT_EQ(links[7].tree_up, -1);
  EXPECT_EQ(links[3].tree_up, 7);
}

TEST(Topology, HalfOfTheChannelsTakeTheSecondTree) {
  std::vector<BinaryTree> trees;
  for (std::size_t channel = 0; channel < 4; ++channel)
    trees.push_back(tree_of_channel(channel, 4));
  EXPECT_EQ(trees, (std::vector<BinaryTree>{BinaryTree::kFirst, BinaryTree::kFirst,
                                            BinaryTree::kSecond, BinaryTree::kSecond}));
}

// It has for each node the ranks that lead out of it by rings, and those that speak to others by
// trees.
struct Exits {
  std::map<std::string, std::set<std::size_t>> of_rings;
  std::map<std::string, std::set<std::size_t>> of_trees;
};

Exits exits_of(const Topology& topology, const std::vector<std::string>& nodes) {
  Exits exits;
  for (const ChannelTopology& channel : topology.channels) {
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      const auto is_elsewhere = [&](std::int32_t other) {
        return other >= 0 && nodes[static_cast<std::size_t>(other)] != nodes[rank];
      };
      const model::ChannelLinks& links = channel.links[rank];
      if (is_elsewhere(links.ring_next)) exits.of_rings[nodes[rank]].insert(rank);
      if (is_elsewhere(links.tree_up)) exits.of_trees[nodes[rank]].insert(rank);
    }
  }
  return exits;
}

TEST(Topology, WhatWasNotRecordedLeavesNodesByAllTheirGpus) {
  const std::vector<std::vector<std::string>> layouts = {
      {"a", "a", "a", "a", "b", "b", "b", "b", "c", "c", "c", "c"},
      {"a", "b", "c", "a", "b", "c", "a", "b", "c"}};  // nodes in turn, as some launchers place
  for (const std::vector<std::string>& nodes : layouts) {
    model::Communicator communicator;
    communicator.gpus.resize(nodes.size());
    model::Warnings warnings;
    const Topology topology = make_topology(communicator, nodes, {}, warnings);
    const std::size_t per_node = nodes.size() / 3;
    EXPECT_EQ(topology.channels.size(), 2 * per_node);
    const Exits exits = exits_of(topology, nodes);
    for (const char* node : {"a", "b", "c"}) {
      EXPECT_EQ(exits.of_rings.at(node).size(), per_node) << node;
      EXPECT_EQ(exits.of_trees.at(node).size(), per_node) << node;
    }
    for (const ChannelTopology& channel : topology.channels) {
      std::size_t crossings = 0;
      for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        const auto next = static_cast<std::size_t>(channel.links[rank].ring_next);
        crossings += nodes[next] != nodes[rank] ? 1U : 0U;
      }
      EXPECT_EQ(crossings, 3U);
    }
  }
}

TEST(Topology, RingsWithinANodeAreThoseOfTheRanks) {
  model::Communicator communicator{.name = "0x1", .gpus = {0, 1, 2}, .channels = {}};
  model::Warnings warnings;
  const Topology topology = make_topology(communicator, {"a", "a", "a"}, {}, warnings);
  EXPECT_EQ(topology.channels.size(), 2U);
  for (const ChannelTopology& channel : topology.channels)
    EXPECT_EQ(channel.links[2].ring_next, 0);
}

TEST(Topology, BrokenRingsAreReplacedAndCounted) {
  model::Communicator communicator{.name = "0x1", .gpus = {0, 1, 2}, .channels = {}};
  std::vector<model::ChannelLinks> links(3);
  for (auto& link : links)
    link.ring_next = 1;
  communicator.channels.push_back(links);
  model::Warnings warnings;
  const Topology topology = make_topology(communicator, {"a", "a", "a"}, {}, warnings);
  EXPECT_EQ(topology.channel(0).links[2].ring_next, 0);
  ASSERT_EQ(warnings.all().size(), 2U);
  EXPECT_EQ(warnings.all()[0].example, "0x1 channel 0");
}

}  // namespace
}  // namespace assay::goal
