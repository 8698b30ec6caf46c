#include "simulate/fabric/fabric.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "simulate/critical_path.h"
#include "simulate/schedules_test_util.h"
#include "simulate/simulate.h"

namespace assay::simulate {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::make_schedule;

FabricSpec spec_of(const std::string& yaml) {
  return parse_fabric_spec(yaml, "network.yaml").value();
}

LogGops link_of(double latency, double overhead, double gap, double gap_per_byte, double eager) {
  LogGops link;
  link.latency_ns = latency;
  link.overhead_ns = overhead;
  link.gap_ns = gap;
  link.gap_ns_per_byte = gap_per_byte;
  link.rendezvous_bytes = eager;
  return link;
}

Outcome run_with(const model::Schedule& schedule, const LogGops& link, const std::string& yaml) {
  auto outcome = simulate(schedule, {.inter = link, .fabric = spec_of(yaml)}).value();
  EXPECT_TRUE(outcome.finished);
  const CriticalPath path = critical_path(outcome);
  EXPECT_EQ(std::accumulate(path.total_ns.begin(), path.total_ns.end(), std::int64_t{0}),
            outcome.longest_ns());
  return outcome;
}

constexpr const char* kNonBlocking = "topology: {type: non-blocking}";

// Each rank sends only to one other, messages of any size after any work.
model::Schedule random_pairs(unsigned seed) {
  std::mt19937 random(seed);
  const auto ranks = static_cast<std::uint32_t>(2 + random() % 9);
  const auto shift = static_cast<std::uint32_t>(1 + random() % (ranks - 1));
  const auto messages = static_cast<std::uint32_t>(1 + random() % 8);
  std::vector<std::uint64_t> sizes(std::size_t{ranks} * messages);
  for (auto& size : sizes)
    size = random() % 3 == 0 ? random() % 3 : random() % 100000;
  return make_schedule(ranks, [&](std::uint32_t rank, model::RankBuilder& builder) {
    const std::uint32_t previous = (rank + ranks - shift) % ranks;
    std::uint32_t last = builder.calc(random() % 5000, {});
    for (std::uint32_t i = 0; i < messages; ++i) {
      const auto cpu = static_cast<std::uint8_t>(random() % 2);
      const auto send =
          builder.send(sizes[rank * messages + i], (rank + shift) % ranks, 0, {.cpu = cpu});
      const auto receive =
          builder.receive(sizes[previous * messages + i], previous, 0, {.cpu = cpu});
      if (random() % 2 == 0) builder.require_finish(send, last);
      builder.require_finish(receive, last);
      last = random() % 2 == 0 ? receive : builder.calc(random() % 3000, {.cpu = cpu});
    }
  });
}

std::vector<model::Schedule> schedules_without_contention() {
  std::vector<model::Schedule> schedules;
  for (const std::uint64_t bytes : {1U, 101U, 100001U}) {
    schedules.push_back(testing::ring({.num_ranks = 5, .steps = 8, .bytes = bytes}));
    schedules.push_back(testing::ring({.num_ranks = 3, .steps = 4, .bytes = bytes, .channels = 3}));
    schedules.push_back(testing::tree(16, bytes));
    schedules.push_back(testing::dissemination(13, bytes));
    schedules.push_back(testing::all_to_all(9, bytes));
  }
  for (unsigned seed = 1; seed <= 150; ++seed)
    schedules.push_back(random_pairs(seed));
  return schedules;
}

TEST(Fabric, OneMessageAtATimeTakesWhatItTakesWithoutANetwork) {
  const std::vector<std::string> networks{
      kNonBlocking, "topology: {type: leaf-spine, nodes_per_leaf: 16, spines: 2}",
      "topology: {type: leaf-spine, nodes_per_leaf: 4, spines: 4}\nrouting: {policy: spray}"};
  for (const LogGops& link :
       {link_of(3700, 200, 5, 0.04, 0), link_of(3700, 200, 5, 0.04, 1e9),
        link_of(0, 0, 0, 1.5, 1e9), link_of(100, 0, 300, 0.3, 5000), link_of(0, 7, 0, 0.01, 0)}) {
    const auto schedules = schedules_without_contention();
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const Outcome expected = simulate(schedules[i], {.inter = link}).value();
      for (const std::string& network : networks) {
        const Outcome outcome = run_with(schedules[i], link, network);
        EXPECT_EQ(outcome.finish_ns, expected.finish_ns) << "schedule " << i << " on " << network;
        EXPECT_EQ(outcome.events, expected.events);
        EXPECT_EQ(outcome.transfers()->totals().lost_ns, 0);
      }
    }
  }
}

model::Schedule incast(std::uint32_t senders, std::uint64_t bytes) {
  return make_schedule(senders + 1, [=](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank > 0) builder.send(bytes, 0, 0, {});
    for (std::uint32_t peer = 1; rank == 0 && peer <= senders; ++peer)
      builder.receive(bytes, peer, 0, {});
  });
}

TEST(Fabric, SendersToOneRankShareItsNic) {
  const LogGops link = link_of(3700, 200, 5, 0.04, 1e9);
  for (const std::int64_t senders : {1, 4, 16}) {
    const Outcome outcome =
        run_with(incast(static_cast<std::uint32_t>(senders), 100'000'000), link, kNonBlocking);
    EXPECT_EQ(outcome.finish_ns.front(), 200 + senders * 3'999'999 + 3700 + senders * 205);
    EXPECT_EQ(outcome.record().passage({1, 0}).lost_ns, (senders - 1) * 3'999'999);
  }
}

// Ranks 0 to 3 of the first leaf send to those of the second.
model::Schedule across(std::uint32_t pairs, std::uint64_t bytes) {
  return make_schedule(2 * pairs, [=](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank < pairs) {
      builder.send(bytes, rank + pairs, 0, {});
    } else {
      builder.receive(bytes, rank - pairs, 0, {});
    }
  });
}

constexpr std::int64_t kWork = 400'000;
constexpr std::uint64_t kBytes = 10'000'001;

std::int64_t across_ns(const std::string& yaml) {
  const Outcome outcome = run_with(across(4, kBytes), link_of(0, 0, 0, 0.04, 1e9), yaml);
  return outcome.longest_ns();
}

TEST(Fabric, OversubscribedLeavesAreAsMuchSlower) {
  for (const char* oversubscription : {"1", "2", "4"}) {
    const std::string shape = fmt::format(
        "topology: {{type: leaf-spine, nodes_per_leaf: 4, spines: 2, "
        "oversubscription: {}}}\nrouting: {{policy: spray}}",
        oversubscription);
    EXPECT_EQ(across_ns(shape), kWork * std::stoi(oversubscription)) << shape;
  }
  EXPECT_EQ(across_ns("topology: {type: fat-tree, nodes_per_leaf: 2, leaves_per_pod: 2, "
                      "spines_per_pod: 2, cores_per_spine: 2, oversubscription: 2, "
                      "core_oversubscription: 2}\nrouting: {policy: spray}"),
            kWork * 4);
}

TEST(Fabric, SpreadMessagesUseAllThatIsLeft) {
  const std::string shape =
      "topology: {type: leaf-spine, nodes_per_leaf: 4, spines: 4}\nrouting: {policy: spray}\n";
  EXPECT_EQ(across_ns(shape), kWork);
  EXPECT_EQ(across_ns(shape + "changes: [{switch: spine1, failed: true}]"), (kWork * 4 + 2) / 3);
  EXPECT_EQ(across_ns(shape + "changes: [{between: [leaf0, spine1], bandwidth: 50 %}]"), kWork * 2);
  EXPECT_EQ(across_ns(shape + "background: [{between: [leaf0, spine1], bandwidth: 50 %}]"),
            kWork * 2);
  EXPECT_EQ(across_ns(shape + "changes: [{between: [node2, leaf0], bandwidth: 5 GB/s}]"),
            kWork * 5);
}

TEST(Fabric, AHashChoosesOneOfTheShortestPaths) {
  const std::string shape = "topology: {type: leaf-spine, nodes_per_leaf: 4, spines: 4}\n";
  std::set<std::int64_t> found;
  for (int seed = 1; seed <= 20; ++seed) {
    const std::string yaml = shape + fmt::format("routing: {{policy: ecmp, seed: {}}}", seed);
    const std::int64_t ns = across_ns(yaml);
    EXPECT_EQ(ns, across_ns(yaml));
    EXPECT_EQ(ns % kWork, 0);  // so many messages share one spine
    found.insert(ns / kWork);
  }
  EXPECT_THAT(found, AllOf(::testing::SizeIs(::testing::Ge(2U)), Each(Le(4))));
  EXPECT_EQ(across_ns(shape + "routing: {policy: fixed}"), kWork);
}

TEST(Fabric, ARouteLeadsWhereItSays) {
  const std::string shape =
      "topology: {type: leaf-spine, nodes_per_leaf: 4, spines: 4}\n"
      "routing: {policy: fixed, routes: [";
  EXPECT_EQ(across_ns(shape + "{from: node0, to: node4, via: [leaf0, spine1, leaf1]},"
                              "{from: node2, to: node6, via: [leaf0, spine1, leaf1]}]}"),
            kWork * 3);
  const auto refused = [&](const std::string& route) {
    return simulate(across(4, 1), {.fabric = spec_of(shape + route + "]}")}).error().message;
  };
  EXPECT_THAT(refused("{from: node0, to: node4, via: [leaf1]}"), HasSubstr("begins at leaf0"));
  EXPECT_THAT(refused("{from: node0, to: node4, via: [leaf0, leaf1]}"),
              HasSubstr("needs a link between leaf0 and leaf1"));
  EXPECT_THAT(refused("{from: node0, to: node4, via: [leaf0, spine0]}"),
              HasSubstr("ends at leaf1"));
  EXPECT_THAT(refused("{from: node0, to: node9, via: [leaf0]}"), HasSubstr("node0 to node7"));
}

TEST(Fabric, DragonflyGroupsShareTheirGlobalLinks) {
  const std::string shape =
      "topology: {type: dragonfly, nodes_per_router: 2, routers_per_group: 2, "
      "links_between_groups: 1}\n";
  EXPECT_EQ(across_ns(shape), kWork * 4);
  EXPECT_EQ(across_ns("topology: {type: dragonfly, nodes_per_router: 2, routers_per_group: 2, "
                      "global: {bandwidth: 800 Gbit/s}, bandwidth: 400 Gbit/s}"),
            kWork);
}

TEST(Fabric, CustomLinksAreAsTheyAreSaid) {
  const std::string shape = R"(
topology:
  type: custom
  switches: [west, east]
  links:
    - {between: [west, east], bandwidth: 25 GB/s, latency: 3 us}
    - {between: [node0, west]}
    - {between: [node1, west]}
    - {between: [node2, east], latency: 1 us}
    - {between: [node3, east], latency: 1 us}
)";
  const Outcome outcome = run_with(across(2, kBytes), link_of(999, 0, 0, 0.04, 1e9), shape);
  EXPECT_EQ(outcome.longest_ns(), 2 * kWork + 4000);
  EXPECT_EQ(outcome.transfers()->fabric().links().back().name, "east > west");
}

TEST(Fabric, RailsKeepApartWhatNicsOfOneNumberSend) {
  const std::string shape =
      "ranks_per_node: 2\n"
      "topology: {type: leaf-spine, nodes_per_leaf: 2, spines: 1, oversubscription: 2, rails: "
      "true}";
  const auto schedule = make_schedule(4, [](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank < 2) builder.send(kBytes, rank + 2, 0, {});
    if (rank >= 2) builder.receive(kBytes, rank - 2, 0, {});
  });
  const Outcome outcome = run_with(schedule, link_of(0, 0, 0, 0.04, 1e9), shape);
  EXPECT_EQ(outcome.longest_ns(), kWork);
  EXPECT_THAT(outcome.transfers()->fabric().links()[1].name, "node0.nic1 > leaf0.rail1");
}

TEST(Fabric, RanksOfANodeShareItsNics) {
  const std::string yaml = "ranks_per_node: 4\nnics: {per_node: 2}\n";
  EXPECT_EQ(across_ns(yaml), 2 * kWork);
}

TEST(Fabric, NvlinkHasLinksOfItsOwn) {
  const std::string yaml = "ranks_per_node: 8\nnvlink: {bandwidth: 250 GB/s, latency: 501 ns}";
  EXPECT_EQ(across_ns(yaml), kWork / 10 + 501);
  const Outcome outcome = run_with(incast(7, kBytes), link_of(0, 0, 0, 0.04, 1e9), yaml);
  EXPECT_EQ(outcome.finish_ns.front(), 7 * kWork / 10 + 501);
}

TEST(Fabric, HeadersAndPacketsTakeTheirTime) {
  const std::string yaml =
      "nics: {bandwidth: 1 GB/s, latency: 10 ns}\n"
      "packets: {payload: 100, header: 10}\n"
      "topology: {type: leaf-spine, nodes_per_leaf: 1, spines: 1, latency: 5 ns}";
  const auto schedule = across(1, 1000);
  // 1,100 bytes but one, four links, and a packet of 110 bytes at three switches.
  EXPECT_EQ(run_with(schedule, link_of(0, 0, 0, 1, 1e9), yaml).longest_ns(), 1099 + 30 + 330);
}

TEST(Fabric, SlowAndFailedRanksAndNoise) {
  const auto schedule = make_schedule(2, [](std::uint32_t, model::RankBuilder& builder) {
    builder.require_finish(builder.calc(1000, {}), builder.calc(1000, {}));
  });
  const auto finish = [&](const std::string& yaml) {
    return run_with(schedule, {}, yaml).finish_ns;
  };
  EXPECT_THAT(finish("changes: [{rank: 1, slower: 1.5}]"), ::testing::ElementsAre(2000, 3000));
  const auto noisy = finish("noise: {seed: 4, calculation: 10 %}");
  EXPECT_THAT(noisy, Each(::testing::Gt(2000)));
  EXPECT_EQ(noisy, finish("noise: {seed: 4, calculation: 10 %}"));
  EXPECT_NE(noisy, finish("noise: {seed: 5, calculation: 10 %}"));
  const auto failed =
      simulate(schedule, {.fabric = spec_of("changes: [{rank: 1, failed: true}]")}).value();
  EXPECT_FALSE(failed.finished);
  EXPECT_EQ(failed.operations_done, 2U);
}

TEST(Fabric, SaysThatNoWayIsLeft) {
  const auto cut = spec_of(
      "topology: {type: leaf-spine, nodes_per_leaf: 4, spines: 1}\n"
      "changes: [{between: [leaf0, spine0], failed: true}]");
  EXPECT_THAT(simulate(across(4, 1), {.fabric = cut}).error().message,
              HasSubstr("no way is left from node0 of rank 0 to node4 of rank 4"));
}

TEST(Fabric, SaysWhatDoesNotFitTheSchedule) {
  const auto refused = [](const std::string& yaml) {
    return simulate(across(4, 1), {.fabric = spec_of(yaml)}).error().message;
  };
  EXPECT_THAT(refused("nodes: [[0, 1, 2]]"), HasSubstr("leaves out rank 3"));
  EXPECT_THAT(refused("nodes: [[0, 9]]"), HasSubstr("names rank 9"));
  EXPECT_THAT(refused("nodes: [[0, 0]]"), HasSubstr("rank 0 twice"));
  EXPECT_THAT(refused("changes: [{rank: 8, failed: true}]"), HasSubstr("8 ranks"));
  EXPECT_THAT(refused("changes: [{switch: spine0, failed: true}]"),
              HasSubstr("no switch 'spine0'"));
  EXPECT_THAT(refused("background: [{from: node0, to: node1, bandwidth: 25 GB/s}]"),
              HasSubstr("leaves nothing of"));
  EXPECT_THAT(refused("topology: {type: custom, switches: [a]}"),
              HasSubstr("no link leads to node0"));
  EXPECT_THAT(refused("topology: {type: leaf-spine, nodes_per_leaf: 1, spines: 100000, "
                      "rails: true}\nnics: {per_node: 100}"),
              AllOf(HasSubstr("links; the most are"), HasSubstr("network.yaml")));
}

std::string refused_text(const std::string& yaml) {
  const auto spec = parse_fabric_spec(yaml, "network.yaml");
  return spec.ok() ? "" : spec.error().message;
}

TEST(FabricSpec, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(refused_text("nics: {bandwidths: 3 GB/s}"),
              HasSubstr("network.yaml: line 1: 'nics' has no field 'bandwidths'; did you mean "
                        "bandwidth?"));
  EXPECT_THAT(refused_text("nics:\n  bandwidth: 400"),
              HasSubstr("line 2: 'bandwidth: 400' of 'nics' is no bandwidth such as"));
  EXPECT_THAT(refused_text("nics: {latency: 3 s}"), HasSubstr("is no time such as"));
  EXPECT_THAT(refused_text("topology: {type: ring}"), HasSubstr("has the type 'ring'"));
  EXPECT_THAT(refused_text("topology: {type: leaf-spine, spines: 2}"),
              HasSubstr("needs 'nodes_per_leaf'"));
  EXPECT_THAT(refused_text("topology: {type: leaf-spine, nodes_per_leaf: 2, spines: 2, "
                           "bandwidth: 1 GB/s, oversubscription: 2}"),
              HasSubstr("one follows"));
  EXPECT_THAT(refused_text("topology: {type: leaf-spine, nodes_per_leaf: 1.5, spines: 2}"),
              HasSubstr("no whole number"));
  EXPECT_THAT(refused_text("routing: {policy: adaptive}"), HasSubstr("ecmp, spray and fixed"));
  EXPECT_THAT(refused_text("changes: [{rank: 1}]"), HasSubstr("'slower'"));
  EXPECT_THAT(refused_text("changes: [{rank: 1, switch: a, failed: true}]"),
              HasSubstr("is of one"));
  EXPECT_THAT(refused_text("nodes: [[0]]\nranks_per_node: 2"), HasSubstr("both"));
  EXPECT_THAT(refused_text("- 1"), HasSubstr("is no mapping"));
  EXPECT_THAT(refused_text("a: [1"), HasSubstr("line"));
  EXPECT_EQ(refused_text("{}"), "");
}

}  // namespace
}  // namespace assay::simulate
