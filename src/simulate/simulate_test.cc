#include "simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulate/critical_path.h"
#include "simulate/schedules_test_util.h"
#include "simulate/stuck.h"

namespace assay::simulate {
namespace {

using testing::all_to_all;
using testing::dissemination;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_schedule;
using testing::Ring;
using testing::ring;
using testing::tree;

constexpr std::int64_t kL = 3700;
constexpr std::int64_t kOverhead = 200;
constexpr std::int64_t kGap = 5;
constexpr std::uint64_t kBytes = 101;
constexpr std::int64_t kBandwidth = 4;  // 100 bytes at 0.04 ns
constexpr double kEager = 1e6;
constexpr double kRendezvous = 0;

LogGops parameters(double rendezvous_bytes) {
  LogGops link;
  link.rendezvous_bytes = rendezvous_bytes;
  return link;
}

Outcome run(const model::Schedule& schedule, const Options& options) {
  return simulate(schedule, options).value();
}

std::vector<std::int64_t> finish(const model::Schedule& schedule, const LogGops& link) {
  const Outcome outcome = run(schedule, {.inter = link});
  EXPECT_TRUE(outcome.finished);
  const CriticalPath path = critical_path(outcome);
  EXPECT_EQ(std::accumulate(path.total_ns.begin(), path.total_ns.end(), std::int64_t{0}),
            outcome.longest_ns());
  return outcome.finish_ns;
}

// The sender's CPU, the network, the receiver's NIC and CPU.
constexpr std::int64_t kMessage = kOverhead + kL + kBandwidth + kGap + kOverhead;

TEST(Simulate, AMessageCostsItsParts) {
  const auto schedule = tree(2, kBytes);
  EXPECT_THAT(finish(schedule, parameters(kEager)), ElementsAre(kOverhead, kMessage));
  EXPECT_THAT(finish(schedule, parameters(kRendezvous)), ElementsAre(kMessage, kMessage));
}

TEST(Simulate, EveryByteButTheFirstCostsTheCpusToo) {
  LogGops link = parameters(kEager);
  link.overhead_ns_per_byte = 0.5;
  EXPECT_THAT(finish(tree(2, kBytes), link), ElementsAre(kOverhead + 50, kMessage + 100));
}

TEST(Simulate, NoBytesCostAsMuchAsOne) {
  for (const double threshold : {kEager, kRendezvous}) {
    EXPECT_EQ(finish(tree(2, 0), parameters(threshold)), finish(tree(2, 1), parameters(threshold)));
  }
}

TEST(Simulate, MessagesUpToSAreEager) {
  EXPECT_EQ(finish(tree(2, kBytes), parameters(101)).front(), kOverhead);
  EXPECT_EQ(finish(tree(2, kBytes), parameters(100)).front(), kMessage);
}

// Each step of a ring waits for the message of the step before; all ranks do the same.
TEST(Simulate, RingTakesAMessageAStep) {
  for (const double threshold : {kEager, kRendezvous}) {
    for (const std::uint32_t ranks : {2U, 3U, 16U}) {
      const std::uint32_t steps = 2 * (ranks - 1);
      const auto schedule = ring({.num_ranks = ranks, .steps = steps, .bytes = kBytes});
      EXPECT_THAT(finish(schedule, parameters(threshold)), Each(steps * kMessage)) << ranks;
    }
  }
}

TEST(Simulate, CalculationsOfARingCount) {
  const Ring shape{.num_ranks = 4, .steps = 6, .bytes = kBytes, .calc_ns = 1000};
  EXPECT_THAT(finish(ring(shape), parameters(kEager)), Each(6 * (kMessage + 1000)));
}

// A round takes one message, and the next round waits for it.
TEST(Simulate, DisseminationTakesAMessageARound) {
  for (const double threshold : {kEager, kRendezvous}) {
    EXPECT_THAT(finish(dissemination(16, kBytes), parameters(threshold)), Each(4 * kMessage));
    EXPECT_THAT(finish(dissemination(17, kBytes), parameters(threshold)), Each(5 * kMessage));
  }
}

// Rank 0 sends to 1, 2, 4, … one after another. CPU and NIC of a sender are free for the next send
// after max(o, g + bandwidth); the subtree of a rank begins when the rank has its message.
std::int64_t tree_finish(std::uint32_t num_ranks, std::uint32_t rank, std::int64_t spacing) {
  if (rank == 0) return 0;
  std::uint32_t parent_round = 1;
  while (parent_round * 2 <= rank)
    parent_round *= 2;
  const std::uint32_t parent = rank - parent_round;
  std::uint32_t first_round = 1;
  while (first_round <= parent)
    first_round *= 2;
  std::int64_t sends_before = 0;
  for (std::uint32_t round = first_round; round < parent_round; round *= 2)
    ++sends_before;
  return tree_finish(num_ranks, parent, spacing) + sends_before * spacing + kMessage;
}

TEST(Simulate, TreeSendsOneAfterAnother) {
  for (const std::int64_t bandwidth : {kBandwidth, std::int64_t{1000}}) {
    LogGops link = parameters(kEager);
    link.gap_ns_per_byte = static_cast<double>(bandwidth) / 100;
    const std::int64_t spacing = std::max(kOverhead, kGap + bandwidth);
    const Outcome outcome = run(tree(16, kBytes), {.inter = link});
    for (std::uint32_t rank = 9; rank < 16; ++rank) {  // ranks without children
      std::uint32_t depth = 0;
      for (std::uint32_t bits = rank; bits != 0; bits &= bits - 1)
        ++depth;
      EXPECT_EQ(outcome.finish_ns[rank],
                tree_finish(16, rank, spacing) + depth * (bandwidth - kBandwidth))
          << rank;
    }
  }
}

// All sends of a rank come before its first reception, because its CPU is busy with them when the
// first message arrives. Then its receptions follow each other.
TEST(Simulate, AllToAllKeepsTheCpuBusy) {
  const std::int64_t others = 63;
  ASSERT_GT(others * kOverhead, kOverhead + kL + kBandwidth);
  EXPECT_THAT(finish(all_to_all(64, kBytes), parameters(kEager)),
              Each(others * kOverhead + others * (kGap + kOverhead)));
}

// All long messages wait for the sending NIC: the last send starts after (P-2) (g + bandwidth).
TEST(Simulate, AllToAllOfLongMessagesWaitsForTheNic) {
  const std::int64_t others = 15;
  const std::int64_t bandwidth = 40000;
  EXPECT_THAT(
      finish(all_to_all(16, 1000001), parameters(2e6)),
      Each((others - 1) * (kGap + bandwidth) + kOverhead + kL + bandwidth + kGap + kOverhead));
}

// The second message finds a CPU that is busy with the first.
TEST(Simulate, IncastWaitsForTheCpu) {
  const auto schedule = make_schedule(9, [](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank > 0) builder.send(kBytes, 0, 0, {});
    for (std::uint32_t peer = 1; rank == 0 && peer < 9; ++peer)
      builder.receive(kBytes, peer, 0, {});
  });
  EXPECT_EQ(finish(schedule, parameters(kEager)).front(),
            kOverhead + kL + kBandwidth + 8 * (kGap + kOverhead));
}

TEST(Simulate, ReceptionsOfDifferentCpusShareTheNic) {
  LogGops link = parameters(kEager);
  link.gap_ns = 1000;
  const auto incast = [](std::uint8_t nics) {
    return make_schedule(4, [nics](std::uint32_t rank, model::RankBuilder& builder) {
      if (rank > 0) builder.send(kBytes, 0, 0, {});
      for (std::uint8_t peer = 1; rank == 0 && peer < 4; ++peer) {
        builder.receive(kBytes, peer, 0,
                        {.cpu = peer, .nic = static_cast<std::uint8_t>(peer % nics)});
      }
    });
  };
  const std::int64_t arrival = kOverhead + kL + kBandwidth;
  EXPECT_EQ(finish(incast(1), link).front(), arrival + 3 * 1000 + kOverhead);
  EXPECT_EQ(finish(incast(3), link).front(), arrival + 1000 + kOverhead);
}

TEST(Simulate, AReceptionIsTheSameWhicheverCameFirst) {
  const auto schedule = make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank == 0) {
      builder.send(kBytes, 1, 0, {});
    } else {
      const auto work = builder.calc(10000, {});
      builder.require_finish(builder.receive(kBytes, 0, 0, {}), work);
    }
  });
  EXPECT_THAT(finish(schedule, parameters(kEager)),
              ElementsAre(kOverhead, 10000 + kGap + kOverhead));
  EXPECT_THAT(finish(schedule, parameters(kRendezvous)),
              ElementsAre(10000 + kGap + kOverhead, 10000 + kGap + kOverhead));
}

TEST(Simulate, ARendezvousKeepsItsSenderUntilItsEnd) {
  const auto schedule = make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank == 1) {
      builder.receive(kBytes, 0, 0, {});
      return;
    }
    builder.send(kBytes, 1, 0, {});
    const auto before = builder.calc(kOverhead + kL + kBandwidth - kOverhead + 1,
                                     {});  // it ends 1 ns after the arrival
    builder.require_finish(builder.calc(10, {}), before);
  });
  EXPECT_THAT(finish(schedule, parameters(kRendezvous)), ElementsAre(kMessage + 10, kMessage));
}

TEST(Simulate, AStartDependencyWaitsForTheStartOnly) {
  const auto schedule = make_schedule(1, [](std::uint32_t, model::RankBuilder& builder) {
    const auto first = builder.calc(1000, {.cpu = 0});
    builder.require_start(builder.calc(10, {.cpu = 1}), first);
    builder.require_finish(builder.calc(100, {.cpu = 2}), first);
  });
  const Outcome outcome = run(schedule, {});
  EXPECT_EQ(outcome.record().times({0, 1}).end_ns, 10);
  EXPECT_EQ(outcome.record().times({0, 2}).start_ns, 1000);
}

TEST(Simulate, WhoWaitsLongestGoesFirst) {
  const auto schedule = make_schedule(1, [](std::uint32_t, model::RankBuilder& builder) {
    const auto delay = builder.calc(10, {.cpu = 1});
    const auto late = builder.calc(7, {.cpu = 0});
    builder.require_finish(late, delay);
    builder.calc(100, {.cpu = 0});
    builder.calc(50, {.cpu = 0});
  });
  const Outcome outcome = run(schedule, {});
  EXPECT_EQ(outcome.record().times({0, 3}).start_ns, 100);
  EXPECT_EQ(outcome.record().times({0, 1}).start_ns, 150);
}

TEST(Simulate, MessagesOfATagAreReceivedInOrder) {
  const auto schedule = make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
    for (const std::uint64_t bytes : {11U, 22U, 33U}) {
      if (rank == 0) builder.send(bytes, 1, 7, {});
      if (rank == 1) builder.receive(0, 0, 7, {});
    }
  });
  const Outcome outcome = run(schedule, {});
  EXPECT_EQ(outcome.record().message_bytes({1, 0}), 11U);
  EXPECT_EQ(outcome.record().message_bytes({1, 2}), 33U);
}

TEST(Simulate, AnySourceTakesWhatComesFirst) {
  const auto schedule = make_schedule(3, [](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank == 0) {
      builder.receive(1, model::kAnyPeer, model::kAnyTag, {});
      builder.receive(1, model::kAnyPeer, 5, {});
      return;
    }
    const auto work = builder.calc(rank == 1 ? 500 : 0, {});
    builder.require_finish(builder.send(rank, 0, 5, {}), work);
  });
  const Outcome outcome = run(schedule, {});
  ASSERT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.record().partner({0, 0}), (OpId{2, 1}));
  EXPECT_EQ(outcome.record().partner({0, 1}), (OpId{1, 1}));
}

TEST(Simulate, RanksOfANodeHaveALinkOfTheirOwn) {
  LogGops near = parameters(kEager);
  near.latency_ns = 100;
  const Options options{.inter = parameters(kEager), .intra = near, .node_of_rank = {0, 0, 1, 1}};
  const Outcome outcome = run(tree(4, kBytes), options);
  EXPECT_EQ(outcome.record().times({1, 0}).end_ns, kMessage - kL + 100);
  EXPECT_EQ(outcome.record().times({2, 0}).end_ns, kMessage + kOverhead);
}

TEST(Simulate, RefusesWhatIsNoTime) {
  const auto schedule = tree(2, 1);
  Options options;
  options.inter.latency_ns = -1;
  EXPECT_THAT(simulate(schedule, options).error().message, HasSubstr("L is -1"));
  options = {.intra = LogGops{}, .node_of_rank = {0}};
  EXPECT_THAT(simulate(schedule, options).error().message, HasSubstr("2"));
  const auto endless = make_schedule(
      1, [](std::uint32_t, model::RankBuilder& builder) { builder.calc(UINT64_MAX, {}); });
  EXPECT_THAT(simulate(endless, {}).error().message, HasSubstr("years"));
}

TEST(Simulate, CountsEventsAsLogGopSimDoes) {
  const Outcome outcome = run(all_to_all(8, 1), {});
  EXPECT_EQ(outcome.operations_done, 112U);
  EXPECT_EQ(outcome.messages, 56U);
  EXPECT_EQ(outcome.events, 168U);
}

std::string why_stuck(const model::Schedule& schedule, double rendezvous_bytes) {
  const Outcome outcome = run(schedule, {.inter = parameters(rendezvous_bytes)});
  EXPECT_FALSE(outcome.finished);
  return stuck_error(outcome, find_stuck(outcome, 2)).message;
}

TEST(Stuck, NamesTheCircleOfRanks) {
  const auto schedule = make_schedule(3, [](std::uint32_t rank, model::RankBuilder& builder) {
    const auto receive = builder.receive(8, (rank + 2) % 3, 4, {});
    builder.require_finish(builder.send(8, (rank + 1) % 3, 4, {}), receive);
  });
  const std::string text = why_stuck(schedule, kEager);
  EXPECT_THAT(text, HasSubstr("6 of 6 operations"));
  EXPECT_THAT(text,
              HasSubstr("operation 0 of rank 0, a receive of 8 bytes from rank 2 with tag 4"));
  EXPECT_THAT(text, HasSubstr("operation 1 of rank 2, has not started"));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
  EXPECT_THAT(text, HasSubstr("rank 0 -> rank 2 -> rank 1 -> rank 0"));
}

TEST(Stuck, NamesMessagesThatNobodyReceives) {
  const auto schedule = make_schedule(2, [](std::uint32_t rank, model::RankBuilder& builder) {
    if (rank == 0) builder.send(8, 1, 4, {});
  });
  EXPECT_THAT(why_stuck(schedule, kEager), HasSubstr("messages are left"));
  EXPECT_THAT(why_stuck(schedule, kRendezvous), HasSubstr("1 of 1 operation is left"));
}

TEST(Stuck, NamesDependenciesInACircle) {
  const auto schedule = make_schedule(1, [](std::uint32_t, model::RankBuilder& builder) {
    const auto a = builder.calc(1, {});
    const auto b = builder.calc(1, {});
    builder.require_finish(b, a);
    const auto c = builder.calc(1, {});
    builder.require_finish(c, b);
    builder.require_finish(b, c);
  });
  EXPECT_THAT(why_stuck(schedule, kEager), HasSubstr("in a circle: 1 -> 2 -> 1"));
}

}  // namespace
}  // namespace assay::simulate
