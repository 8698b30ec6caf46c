#include "model/nccl_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace assay::model {
namespace {

using Algorithm = NcclAlgorithm;
using Function = NcclFunction;
using Protocol = NcclProtocol;

constexpr std::array kFunctions = {Function::kBroadcast, Function::kReduce, Function::kAllGather,
                                   Function::kReduceScatter, Function::kAllReduce};
constexpr std::array kProtocols = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

// The two communicators of tests/data/nccl_profiler_recording: 4 H200 as one node, and as two nodes
// that share the loopback device, which NCCL takes for a card of 10 Gbit/s behind the processor.
NcclTopology one_node() {
  return nccl_topology({.num_ranks = 4, .num_nodes = 1});
}

NcclTopology two_nodes() {
  return nccl_topology(
      {.num_ranks = 4, .num_nodes = 2, .nics_per_node = 1, .nic_gbps = 1.25, .near_cards = false});
}

struct Printed {
  double latency = 0;
  double bandwidth = 0;
};

using PrintedRow = std::array<Printed, 3>;  // LL, LL128, Simple

void expect_row(Function function,
                Algorithm algorithm,
                const NcclTopology& topology,
                const PrintedRow& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const NcclCost cost = nccl_cost(function, algorithm, kProtocols.at(i), topology);
    const std::string what = std::string(name_of(function)) + " " +
                             std::string(name_of(algorithm)) + " " +
                             std::string(name_of(kProtocols.at(i)));
    EXPECT_NEAR(cost.bandwidth_gbps, row.at(i).bandwidth, 0.0501) << what;
    if (row.at(i).bandwidth == 0) continue;
    EXPECT_NEAR(cost.latency_us, row.at(i).latency, 0.0501) << what;
  }
}

// NCCL_DEBUG_SUBSYS=TUNING printed these tables.
TEST(NcclCost, IsWhatNcclPrintsForOneNode) {
  const NcclTopology topology = one_node();
  const auto ring = [&](Function function, const PrintedRow& row) {
    expect_row(function, Algorithm::kRing, topology, row);
  };
  ring(Function::kBroadcast, {{{7.2, 141.0}, {15.9, 331.2}, {11.8, 360.0}}});
  ring(Function::kReduce, {{{7.2, 141.0}, {15.9, 331.2}, {11.8, 360.0}}});
  ring(Function::kAllGather, {{{8.4, 188.0}, {19.7, 441.6}, {18.6, 480.0}}});
  ring(Function::kReduceScatter, {{{8.4, 188.0}, {19.7, 441.6}, {18.6, 480.0}}});
  ring(Function::kAllReduce, {{{10.2, 94.0}, {25.4, 220.8}, {28.8, 240.0}}});
  expect_row(Function::kAllReduce, Algorithm::kTree, topology,
             {{{10.4, 43.6}, {21.5, 128.8}, {32.4, 165.6}}});
}

TEST(NcclCost, IsWhatNcclPrintsForTwoNodes) {
  NcclTopology topology = two_nodes();
  const auto ring = [&](Function function, const PrintedRow& row) {
    expect_row(function, Algorithm::kRing, topology, row);
  };
  ring(Function::kBroadcast, {{{9.3, 0.6}, {}, {22.4, 1.2}}});
  ring(Function::kReduce, {{{9.3, 0.6}, {}, {22.4, 1.2}}});
  ring(Function::kAllGather, {{{11.3, 0.8}, {}, {29.2, 1.6}}});
  ring(Function::kReduceScatter, {{{11.3, 0.8}, {}, {29.2, 1.6}}});
  ring(Function::kAllReduce, {{{16.0, 0.4}, {}, {50.0, 0.8}}});
  expect_row(Function::kAllReduce, Algorithm::kTree, topology, {{{18.0, 0.3}, {}, {44.4, 1.1}}});
}

// NCCL's log: "Pattern 4, … nChannels 12, bw 30/30", "24 coll channels"; "nChannels 1, bw 1.2/1.2"
// for rings and 2.4/1.2 for trees, "2 coll channels".
TEST(NcclTopology, FindsTheGraphsThatNcclFound) {
  const NcclTopology one = one_node();
  EXPECT_EQ(one.ring.channels, 12);
  EXPECT_DOUBLE_EQ(one.ring.intra_gbps, 30);
  EXPECT_TRUE(one.ring.same_channels);
  EXPECT_EQ(one.channels, 24);
  const NcclTopology two = two_nodes();
  EXPECT_EQ(two.ring.channels, 1);
  EXPECT_DOUBLE_EQ(two.ring.intra_gbps, 1.2);
  EXPECT_DOUBLE_EQ(two.tree.intra_gbps, 2.4);
  EXPECT_DOUBLE_EQ(two.tree.inter_gbps, 1.2);
  EXPECT_EQ(two.channels, 2);
  EXPECT_FALSE(two.ll128);
}

// Hosts of eight H100 with a card of 400 Gbit/s for each: 16 channels, and 16 for NVLS.
TEST(NcclTopology, OfHostsWithACardForEachGpu) {
  const NcclTopology made = nccl_topology({.num_ranks = 256, .num_nodes = 32, .nvls = true});
  EXPECT_EQ(made.ring.channels, 8);
  EXPECT_DOUBLE_EQ(made.ring.inter_gbps, 45);
  EXPECT_EQ(made.channels, 16);
  EXPECT_EQ(made.nvls.channels, 8);
  EXPECT_DOUBLE_EQ(made.nvls.intra_gbps, 40);
  EXPECT_EQ(made.nvls_channels, 16);
}

struct Logged {
  NcclCall call;
  Algorithm algorithm;
  Protocol protocol;
  std::uint32_t channels;
  int times;
};

// Returns the number of calls whose choice is NCCL's.
int agreeing(const std::vector<Logged>& log, const NcclTopology& topology) {
  int calls = 0;
  for (const Logged& logged : log) {
    const NcclChoice choice = choose(logged.call, topology);
    const bool agrees = choice.algorithm == logged.algorithm &&
                        choice.protocol == logged.protocol && choice.channels == logged.channels;
    calls += agrees ? logged.times : 0;
  }
  return calls;
}

// All calls of those recordings (whole) and of samples/goal-4gpu that were in no group: 324 on one
// node, 71 on two.
TEST(NcclChoice, IsNcclsInTheRecordings) {
  const std::vector<Logged> on_one = {
      {{Function::kAllReduce, 1024, 4}, Algorithm::kRing, Protocol::kLl, 1, 203},
      {{Function::kAllReduce, 67108864, 4}, Algorithm::kRing, Protocol::kSimple, 24, 15},
      {{Function::kAllGather, 16777216, 1}, Algorithm::kRing, Protocol::kSimple, 24, 15},
      {{Function::kReduceScatter, 16777216, 4}, Algorithm::kRing, Protocol::kSimple, 24, 13},
      {{Function::kBroadcast, 67108864, 1}, Algorithm::kRing, Protocol::kSimple, 24, 13},
      {{Function::kAllReduce, 4, 4}, Algorithm::kRing, Protocol::kLl, 1, 9},
      {{Function::kReduceScatter, 226492416, 2}, Algorithm::kRing, Protocol::kSimple, 24, 14},
      {{Function::kAllGather, 226492416, 1}, Algorithm::kRing, Protocol::kSimple, 24, 28},
      {{Function::kAllReduce, 100663296, 4}, Algorithm::kRing, Protocol::kSimple, 24, 7},
      {{Function::kAllReduce, 2, 2}, Algorithm::kRing, Protocol::kLl, 1, 7}};
  EXPECT_EQ(agreeing(on_one, one_node()), 324);
  const std::vector<Logged> on_two = {
      {{Function::kAllReduce, 1024, 4}, Algorithm::kRing, Protocol::kLl, 1, 43},
      {{Function::kAllReduce, 67108864, 4}, Algorithm::kTree, Protocol::kSimple, 2, 5},
      {{Function::kAllGather, 16777216, 1}, Algorithm::kRing, Protocol::kSimple, 2, 5},
      {{Function::kReduceScatter, 16777216, 4}, Algorithm::kRing, Protocol::kSimple, 2, 5},
      {{Function::kBroadcast, 67108864, 1}, Algorithm::kRing, Protocol::kSimple, 2, 5},
      {{Function::kAllReduce, 4, 4}, Algorithm::kRing, Protocol::kLl, 1, 8}};
  EXPECT_EQ(agreeing(on_two, two_nodes()), 71);
}

// Three coalesced AllGathers of 4, 8 and 12 KiB took channels 0-1, 2-5 and 6-11 with LL, on two
// nodes one channel each with Simple.
TEST(NcclChoice, CallsOfAGroupShareTheChannels) {
  const std::vector<NcclCall> calls = {{Function::kAllGather, 4096, 1},
                                       {Function::kAllGather, 8192, 1},
                                       {Function::kAllGather, 12288, 1}};
  std::vector<std::tuple<Protocol, std::uint32_t>> chosen;
  for (const NcclTopology& topology : {one_node(), two_nodes()}) {
    for (const NcclChoice& choice : choose_for_group(calls, topology)) {
      EXPECT_EQ(choice.algorithm, Algorithm::kRing);
      chosen.emplace_back(choice.protocol, choice.channels);
    }
  }
  EXPECT_EQ(chosen, (std::vector<std::tuple<Protocol, std::uint32_t>>{{Protocol::kLl, 2},
                                                                      {Protocol::kLl, 4},
                                                                      {Protocol::kLl, 6},
                                                                      {Protocol::kSimple, 1},
                                                                      {Protocol::kSimple, 1},
                                                                      {Protocol::kSimple, 1}}));
}

// What must hold whatever the constants are.
TEST(NcclChoice, HeedsWhatExists) {
  for (const int num_nodes : {1, 2, 8, 128}) {
    for (const int per_node : {1, 4, 8}) {
      for (const bool switches : {false, true}) {
        NcclCluster cluster{.num_ranks = num_nodes * per_node, .num_nodes = num_nodes};
        cluster.nvls = switches;
        cluster.collnet = switches;
        if (cluster.num_ranks < 2) continue;
        const NcclTopology topology = nccl_topology(cluster);
        for (const Function function : kFunctions) {
          for (std::uint64_t bytes = 16; bytes <= 1ULL << 32; bytes *= 16) {
            const NcclChoice choice = choose({function, bytes, 4}, topology);
            const bool one_each = num_nodes > 1 && per_node == 1;
            const bool in_switch =
                choice.algorithm == Algorithm::kNvls || choice.algorithm == Algorithm::kNvlsTree;
            const bool rooted = function == Function::kBroadcast || function == Function::kReduce;
            EXPECT_TRUE(switches || choice.algorithm == Algorithm::kRing ||
                        choice.algorithm == Algorithm::kTree ||
                        choice.algorithm == Algorithm::kPat);
            EXPECT_TRUE(!rooted || choice.algorithm == Algorithm::kRing);
            EXPECT_TRUE(choice.algorithm != Algorithm::kTree || function == Function::kAllReduce);
            EXPECT_TRUE(choice.algorithm != Algorithm::kPat || one_each);
            EXPECT_TRUE(choice.algorithm != Algorithm::kNvlsTree || num_nodes > 1);
            EXPECT_TRUE(!in_switch || choice.protocol == Protocol::kSimple);
            EXPECT_GE(choice.channels, 1U);
            EXPECT_LE(choice.channels, static_cast<std::uint32_t>(
                                           std::max(topology.channels, topology.nvls_channels)));
            EXPECT_GT(choice.estimated_ns, 0);
          }
        }
      }
    }
  }
}

TEST(NcclChoice, SmallMessagesTakeTheTreeOnManyNodes) {
  const NcclTopology topology = nccl_topology({.num_ranks = 512, .num_nodes = 64});
  const NcclChoice few = choose({Function::kAllReduce, 65536, 4}, topology);
  EXPECT_EQ(few.algorithm, Algorithm::kTree);
  EXPECT_EQ(few.protocol, Protocol::kLl);
  const NcclChoice many = choose({Function::kAllReduce, 8ULL << 30, 4}, topology);
  EXPECT_EQ(many.protocol, Protocol::kSimple);
  EXPECT_EQ(many.channels, 16U);
}

TEST(NcclChoice, TakesMoreTimeForMore) {
  const NcclTopology topology = nccl_topology({.num_ranks = 64, .num_nodes = 8, .nvls = true});
  for (const Function function : kFunctions) {
    double before = 0;
    for (std::uint64_t bytes = 1 << 20; bytes <= 1ULL << 32; bytes *= 2) {
      const double time = choose({function, bytes, 2}, topology).estimated_ns;
      EXPECT_GT(time, before);
      before = time;
    }
  }
}

TEST(NcclChoice, OneRankCopies) {
  const NcclChoice choice = choose({Function::kAllReduce, 1 << 20, 4}, nccl_topology({}));
  EXPECT_EQ(choice.algorithm, Algorithm::kRing);
  EXPECT_EQ(choice.channels, 1U);
}

}  // namespace
}  // namespace assay::model
