#include "simulate/fabric/fabric.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "simulate/critical_path.h"
#include "simulate/schedules_test_util.h"
#include "simulate/simulate.h"
#include "simulate/stuck.h"

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

TEST(Fabric, CoresAreOversubscribedAlsoWhereLinksHaveABandwidth) {
  const auto ns = [](const char* fields) {
    return across_ns(
        fmt::format("topology: {{type: fat-tree, nodes_per_leaf: 2, leaves_per_pod: 2, "
                    "spines_per_pod: 2, cores_per_spine: 2, bandwidth: {}}}\n"
                    "routing: {{policy: spray}}",
                    fields));
  };
  // Each spine has 2 leaves x 25 or 50 GB/s, and the pod's 4 NICs send 100 GB/s.
  EXPECT_EQ(ns("25 GB/s, core_oversubscription: 2"), kWork * 2);
  EXPECT_EQ(ns("50 GB/s, core_oversubscription: 8"), kWork * 4);
  EXPECT_EQ(ns("50 GB/s, core_oversubscription: 1"), kWork);
  EXPECT_EQ(ns("12.5 GB/s"), kWork * 2);
}

TEST(Fabric, GroupsMayBeLargerThanTheNetwork) {
  for (const char* topology : {"type: leaf-spine, nodes_per_leaf: 100000, spines: 2",
                               "type: leaf-spine, nodes_per_leaf: 100000, spines: 2, rails: true",
                               "type: fat-tree, nodes_per_leaf: 100000, leaves_per_pod: 100000, "
                               "spines_per_pod: 1, cores_per_spine: 1",
                               "type: dragonfly, nodes_per_router: 100000, routers_per_group: 2"}) {
    EXPECT_EQ(across_ns(fmt::format("topology: {{{}}}", topology)), kWork) << topology;
  }
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

// How many links between groups the way of a message takes.
std::size_t global_links(const Fabric& fabric, const Path& path) {
  const auto group = [](const std::string& end) { return end.substr(0, end.find('.')); };
  return static_cast<std::size_t>(
      std::count_if(path.links.begin(), path.links.end(), [&](const LinkShare& share) {
        const std::string& name = fabric.links()[share.link].name;
        const std::size_t middle = name.find(" > ");
        const std::string from = group(name.substr(0, middle));
        const std::string to = group(name.substr(middle + 3));
        return from.starts_with("group") && to.starts_with("group") && from != to;
      }));
}

TEST(Fabric, DragonflyMessagesCrossOneGlobalLink) {
  const std::string shape =
      "topology: {type: dragonfly, nodes_per_router: 2, routers_per_group: 4}\n";
  const FabricJob job{.num_ranks = 72};
  for (const char* policy : {"ecmp", "fixed"}) {
    const FabricSpec spec = spec_of(shape + "routing: {policy: " + policy + "}");
    Fabric fabric = Fabric::make(spec, job).value();
    Path path;
    for (std::uint32_t source = 0; source < job.num_ranks; ++source) {
      for (std::uint32_t target = 0; target < job.num_ranks; ++target) {
        if (source == target) continue;
        ASSERT_TRUE(fabric.find_path({.source = source, .target = target}, path));
        ASSERT_EQ(global_links(fabric, path), source / 8 == target / 8 ? 0U : 1U)
            << source << " to " << target;
      }
    }
  }
  // Group 0 has one link to each other one; without it, its messages go through a third group.
  const FabricSpec cut =
      spec_of(shape + "changes: [{between: [group0.router0, group1.router0], failed: true}]");
  Fabric fabric = Fabric::make(cut, job).value();
  Path path;
  ASSERT_TRUE(fabric.find_path({.source = 0, .target = 8}, path));
  EXPECT_EQ(global_links(fabric, path), 2U);
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

constexpr std::int64_t kHundredMbNs = 3'999'999;  // at 25 GB/s

Outcome one_message(const std::string& changes) {
  return run_with(across(1, 100'000'000), link_of(0, 0, 0, 0.04, 1e9),
                  "topology: {type: leaf-spine, nodes_per_leaf: 1, spines: 2, bandwidth: 25 GB/s}\n"
                  "routing: {policy: fixed}\nchanges: [" +
                      changes + "]");
}

TEST(Fabric, ALinkMayBecomeSlowerAndFasterWhileAMessageIsOnIt) {
  const std::string slow = "{between: [node1, leaf1], bandwidth: 50 %, at: 1 ms";
  EXPECT_EQ(one_message(slow + "}").longest_ns(), 1'000'000 + 2 * (kHundredMbNs - 1'000'000));
  EXPECT_EQ(one_message(slow + ", until: 3 ms}").longest_ns(), kHundredMbNs + 1'000'000);
  EXPECT_EQ(one_message(slow + "}, {switch: leaf1, bandwidth: 6.25 GB/s, at: 2 ms}").longest_ns(),
            2'000'000 + 4 * (kHundredMbNs - 1'500'000));
  EXPECT_EQ(one_message("{between: [node1, leaf1], bandwidth: 50 %, at: 4 ms}").longest_ns(),
            kHundredMbNs);
  // What it could not have had alone it did not lose to others.
  EXPECT_EQ(one_message(slow + "}").record().passage({0, 0}).lost_ns, 0);
}

TEST(Fabric, ALinkMayBecomeFasterThanItWasBuilt) {
  const auto ns = [](const std::string& changes) {
    return run_with(across(1, 100'000'000), link_of(0, 0, 0, 0.04, 1e9),
                    "topology: {type: leaf-spine, nodes_per_leaf: 1, spines: 1, oversubscription: "
                    "4}\nchanges: [" +
                        changes + "]")
        .longest_ns();
  };
  const auto both = [](const std::string& what) {
    return "{between: [leaf0, spine0], " + what + "}, {between: [leaf1, spine0], " + what + "}";
  };
  EXPECT_EQ(ns(both("failed: true, at: 100 ms")), 4 * kHundredMbNs);
  EXPECT_EQ(ns(both("bandwidth: 25 GB/s")), kHundredMbNs);
  EXPECT_EQ(ns(both("bandwidth: 400 %")), kHundredMbNs);
  EXPECT_EQ(ns("{switch: spine0, bandwidth: 200 %}"), 2 * kHundredMbNs);
  // A quarter of 100 us is done by then.
  EXPECT_EQ(ns(both("bandwidth: 25 GB/s, at: 100 us")), 100'000 + kHundredMbNs - 25'000);
  EXPECT_EQ(ns(both("bandwidth: 400 %, at: 100 us, until: 200 us")),
            200'000 + 4 * (kHundredMbNs - 125'000));
  // The lower of two that hold at once counts.
  EXPECT_EQ(ns(both("bandwidth: 400 %") + ", {switch: spine0, bandwidth: 200 %, at: 1 ms}"),
            1'000'000 + 2 * (kHundredMbNs - 1'000'000));
  // A switch's links to NICs become no faster than these.
  EXPECT_EQ(ns(both("bandwidth: 25 GB/s") + ", {switch: leaf0, bandwidth: 25 GB/s}"), kHundredMbNs);
}

TEST(Fabric, NoChangeMakesANicFaster) {
  const auto refused = [](const std::string& change) {
    return simulate(across(1, 1), {.fabric = spec_of("changes: [" + change + "]")}).error().message;
  };
  const std::string link = "{between: [node0, switch], bandwidth: ";
  EXPECT_THAT(refused(link + "400 %}"), HasSubstr("more than the 25 GB/s that the NIC has"));
  EXPECT_THAT(refused(link + "26 GB/s}"), HasSubstr("give 'nics' more bandwidth"));
  EXPECT_TRUE(simulate(across(1, 1), {.fabric = spec_of("changes: [" + link + "25 GB/s}]")}).ok());
}

TEST(Fabric, AChangeReachesAllThatShareTheLink) {
  // Both get a half of the rank's NIC, from 1 ms on a half of that, and lose half of the time.
  const auto schedule = incast(2, 100'000'000);
  const auto outcome = run_with(schedule, link_of(0, 0, 0, 0.04, 1e9),
                                "changes: [{between: [node0, switch], bandwidth: 50 %, at: 1 ms}]");
  EXPECT_EQ(outcome.finish_ns.front(), 1'000'000 + 2 * (2 * kHundredMbNs - 1'000'000));
  EXPECT_EQ(outcome.record().passage({1, 0}).lost_ns, outcome.finish_ns.front() / 2);
}

TEST(Fabric, WhatIsLeftOfAMessageTakesAnotherWayWhenALinkFails) {
  const std::string fails = "{between: [leaf0, spine1], failed: true, at: 1 ms}";
  EXPECT_EQ(one_message(fails).longest_ns(), kHundredMbNs);
  EXPECT_EQ(one_message(fails + ", {switch: spine0, bandwidth: 25 %}").longest_ns(),
            1'000'000 + 4 * (kHundredMbNs - 1'000'000));
  // It stays there when the link is back.
  EXPECT_EQ(one_message("{between: [leaf0, spine1], failed: true, at: 1 ms, until: 2 ms}, "
                        "{switch: spine0, bandwidth: 25 %}")
                .longest_ns(),
            1'000'000 + 4 * (kHundredMbNs - 1'000'000));
  // Four spread messages use three of four spines from then on.
  EXPECT_EQ(across_ns("topology: {type: leaf-spine, nodes_per_leaf: 4, spines: 4}\n"
                      "routing: {policy: spray}\n"
                      "changes: [{switch: spine1, failed: true, at: 100 us}]"),
            (100'000 + (kWork - 100'000) * 4 / 3));
}

TEST(Fabric, SaysWhichMessageCannotArriveWhenALinkFails) {
  const auto refused = [](const std::string& at, std::uint32_t messages) {
    const auto schedule = make_schedule(2, [=](std::uint32_t rank, model::RankBuilder& builder) {
      for (std::uint32_t i = 0; i < messages; ++i) {
        if (rank == 0) builder.send(100'000'000, 1, i, {});
        if (rank == 1) builder.receive(100'000'000, 0, i, {});
      }
    });
    const auto spec =
        spec_of("changes: [{between: [node1, switch], failed: true, at: " + at + "}]");
    return simulate(schedule, {.inter = link_of(0, 0, 0, 0.04, 1e9), .fabric = spec});
  };
  EXPECT_THAT(refused("1 ms", 1).error().message,
              AllOf(HasSubstr("no way is left from node0 of rank 0 to node1 of rank 1"),
                    HasSubstr("at 1000000 ns for operation 0 of rank 0, a send of 100000000 bytes "
                              "to rank 1 with tag 0")));
  EXPECT_THAT(refused("5 ms", 2).error().message, HasSubstr("for operation 1 of rank 0"));
  // Its last byte has left by then; the next one never begins.
  EXPECT_TRUE(refused("3999999 ns", 1).value().finished);
  EXPECT_THAT(refused("3999999 ns", 2).error().message, HasSubstr("for operation 1 of rank 0"));
}

TEST(Fabric, RanksMayBecomeSlowOrFailLater) {
  const auto schedule = make_schedule(2, [](std::uint32_t, model::RankBuilder& builder) {
    builder.require_finish(builder.calc(1000, {}), builder.calc(1000, {}));
  });
  const auto finish = [&](const std::string& changes) {
    return run_with(schedule, {}, "changes: [" + changes + "]").finish_ns.back();
  };
  EXPECT_EQ(finish("{rank: 1, slower: 2, at: 500 ns}"), 500 + 2 * 1500);
  EXPECT_EQ(finish("{rank: 1, slower: 2, at: 500 ns, until: 900 ns}"), 2200);
  EXPECT_EQ(finish("{rank: 1, slower: 2, at: 500 ns}, {rank: 1, slower: 1.5, at: 1500 ns}"),
            1500 + 3 * 1000);
  EXPECT_EQ(finish("{rank: 1, slower: 2, at: 2 us}"), 2000);
  EXPECT_EQ(finish("{rank: 1, failed: true, at: 2 us}"), 2000);
  for (const auto& [at, done] : {std::pair{"1999 ns", 3U}, {"1 us", 3U}, {"999 ns", 2U}}) {
    const auto spec = spec_of(std::string("changes: [{rank: 1, failed: true, at: ") + at + "}]");
    const auto failed = simulate(schedule, {.fabric = spec}).value();
    EXPECT_FALSE(failed.finished) << at;
    EXPECT_EQ(failed.operations_done, done) << at;
    EXPECT_THAT(stuck_error(failed, find_stuck(failed, 1)).message,
                HasSubstr("rank 1 does nothing from"));
  }
}

TEST(Fabric, ARankThatFailedReceivesNothing) {
  const auto spec = spec_of("changes: [{rank: 0, failed: true, at: 100 us}]");
  const auto outcome =
      simulate(incast(3, 5'000'001), {.inter = link_of(0, 0, 0, 0.04, 1e9), .fabric = spec})
          .value();
  EXPECT_FALSE(outcome.finished);
  EXPECT_EQ(outcome.operations_done, 3U);
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
  EXPECT_THAT(refused_text("background: [{from: a, to: b, bandwidth: 101 %}]"),
              HasSubstr("no share from 0 % to 100 %"));
  EXPECT_THAT(refused_text("changes: [{rank: 1, switch: a, failed: true}]"),
              HasSubstr("is of one"));
  EXPECT_THAT(refused_text("changes: [{rank: 1, failed: true, until: 1 ms}]"),
              HasSubstr("does not come back"));
  EXPECT_THAT(refused_text("changes: [{switch: a, failed: true, at: 2 ms, until: 1 ms}]"),
              HasSubstr("ends before it begins"));
  EXPECT_THAT(refused_text("changes: [{switch: a, failed: true, at: soon}]"),
              HasSubstr("'at: soon' of a change is no time"));
  EXPECT_THAT(refused_text("nodes: [[0]]\nranks_per_node: 2"), HasSubstr("both"));
  EXPECT_THAT(refused_text("- 1"), HasSubstr("is no mapping"));
  EXPECT_THAT(refused_text("a: [1"), HasSubstr("line"));
  EXPECT_EQ(refused_text("{}"), "");
}

}  // namespace
}  // namespace assay::simulate
