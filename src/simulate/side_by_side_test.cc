// Ranks that run side by side have the result of one engine, to the last reason of an operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "simulate/schedules_test_util.h"
#include "simulate/simulate.h"

namespace assay::simulate {
namespace {

using ::testing::HasSubstr;
using testing::make_schedule;

// What a rank does, before it is built.
struct PlannedOp {
  model::OpKind kind = model::OpKind::kCalc;
  std::uint32_t peer = 0;
  std::uint64_t size = 0;
  std::uint32_t tag = 0;
  model::Place place = {};
  std::vector<std::uint32_t> after_finish = {};
  std::vector<std::uint32_t> after_start = {};
};

class RandomSchedule {
 public:
  RandomSchedule(std::uint32_t num_ranks, unsigned steps, unsigned seed)
      : random_(seed), ranks_(num_ranks) {
    for (unsigned i = 0; i < steps; ++i)
      add_step();
  }

  [[nodiscard]] model::Schedule make() const {
    const auto num_ranks = static_cast<std::uint32_t>(ranks_.size());
    return make_schedule(num_ranks, [&](std::uint32_t rank, model::RankBuilder& builder) {
      for (const PlannedOp& op : ranks_[rank]) {
        const std::uint32_t made = op.kind == model::OpKind::kCalc ? builder.calc(op.size, op.place)
                                   : op.kind == model::OpKind::kSend
                                       ? builder.send(op.size, op.peer, op.tag, op.place)
                                       : builder.receive(op.size, op.peer, op.tag, op.place);
        for (const std::uint32_t before : op.after_finish)
          builder.require_finish(made, before);
        for (const std::uint32_t before : op.after_start)
          builder.require_start(made, before);
      }
    });
  }

 private:
  std::uint32_t below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
  }

  void add_step() {
    const auto num_ranks = static_cast<std::uint32_t>(ranks_.size());
    const std::uint32_t rank = below(num_ranks);
    if (below(3) == 0) return add(rank, {.size = below(20'000)});
    const std::uint32_t to = (rank + 1 + below(num_ranks - 1)) % num_ranks;
    const std::uint64_t bytes = below(4) == 0 ? below(200'000) : below(200);
    const std::uint32_t tag = below(2);
    add(rank, {.kind = model::OpKind::kSend, .peer = to, .size = bytes, .tag = tag});
    // The last rank takes what comes first.
    const bool any = to + 1 == num_ranks;
    add(to, {.kind = model::OpKind::kReceive,
             .peer = any ? model::kAnyPeer : rank,
             .size = bytes,
             .tag = any && below(2) == 0 ? model::kAnyTag : tag});
  }

  void add(std::uint32_t rank, PlannedOp op) {
    std::vector<PlannedOp>& ops = ranks_[rank];
    op.place = {.cpu = static_cast<std::uint8_t>(below(3)),
                .nic = static_cast<std::uint8_t>(below(2))};
    const auto before = static_cast<std::uint32_t>(ops.size());
    if (before > 0 && below(3) > 0) op.after_finish.push_back(below(before));
    if (before > 0 && below(5) == 0) op.after_start.push_back(below(before));
    ops.push_back(std::move(op));
  }

  std::mt19937 random_;
  std::vector<std::vector<PlannedOp>> ranks_;
};

void expect_same(const Outcome& one, const Outcome& other) {
  EXPECT_EQ(other.finish_ns, one.finish_ns);
  EXPECT_EQ(other.last_op, one.last_op);
  EXPECT_EQ(other.operations_done, one.operations_done);
  EXPECT_EQ(other.messages, one.messages);
  EXPECT_EQ(other.events, one.events);
  EXPECT_EQ(other.finished, one.finished);
  const auto& ranks = one.record().schedule().ranks();
  std::size_t different = 0;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::uint32_t op = 0; op < ranks[rank].ops.size(); ++op) {
      const OpId id{rank, op};
      const OpState& a = one.record().state(id);
      const OpState& b = other.record().state(id);
      const bool same = a.time_ns() == b.time_ns() && a.phase() == b.phase() &&
                        a.reason() == b.reason() && a.cause == b.cause && a.link == b.link &&
                        one.record().partner(id) == other.record().partner(id);
      different += same ? 0 : 1;
    }
  }
  EXPECT_EQ(different, 0U);
}

void expect_same_for_any_threads(const model::Schedule& schedule, const Options& options) {
  const auto one = simulate(schedule, options, 1);
  ASSERT_TRUE(one.ok()) << one.error().message;
  for (const unsigned threads : {2U, 4U}) {
    SCOPED_TRACE(threads);
    const auto several = simulate(schedule, options, threads);
    ASSERT_TRUE(several.ok()) << several.error().message;
    EXPECT_EQ(several.value().alone, Alone::kNo);
    EXPECT_EQ(several.value().threads, std::min<std::size_t>(threads, schedule.ranks().size()));
    expect_same(one.value(), several.value());
  }
}

LogGops eager_link(double latency_ns) {
  return {.latency_ns = latency_ns, .rendezvous_bytes = 1e12};
}

// Nodes of these sizes, one after the other.
std::vector<std::uint32_t> nodes_of_sizes(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint32_t> node_of_rank;
  for (std::uint32_t node = 0; node < sizes.size(); ++node)
    node_of_rank.insert(node_of_rank.end(), sizes[node], node);
  return node_of_rank;
}

TEST(SideBySide, RandomSchedulesHaveOneResult) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const auto schedule = RandomSchedule(9, 400, seed).make();
    expect_same_for_any_threads(schedule, {.inter = eager_link(3700)});
    LogGops slow_cpu = eager_link(seed % 2 == 0 ? 0 : 50);  // o alone keeps ranks apart
    slow_cpu.overhead_ns_per_byte = 0.5;  // a small message may overtake a large one
    expect_same_for_any_threads(schedule, {.inter = slow_cpu});
  }
}

TEST(SideBySide, NodesOfAnySizesHaveOneResult) {
  const auto schedule = RandomSchedule(12, 1500, 7).make();
  for (const std::vector<std::uint32_t>& sizes : std::vector<std::vector<std::uint32_t>>{
           {12}, {1, 11}, {11, 1}, {4, 4, 4}, {1, 2, 3, 6}, {5, 1, 1, 1, 1, 1, 2}}) {
    SCOPED_TRACE(sizes.size());
    expect_same_for_any_threads(schedule, {.inter = eager_link(3700),
                                           .intra = eager_link(10),
                                           .node_of_rank = nodes_of_sizes(sizes)});
  }
  // Nodes whose ranks are not beside each other.
  std::vector<std::uint32_t> mixed = {0, 7, 0, 2, 7, 2, 2, 0, 7, 7, 0, 2};
  expect_same_for_any_threads(
      schedule, {.inter = eager_link(500), .intra = eager_link(0), .node_of_rank = mixed});
}

TEST(SideBySide, KnownShapesHaveOneResult) {
  const Options options{.inter = eager_link(3700)};
  expect_same_for_any_threads(testing::all_to_all(33, 1000), options);
  expect_same_for_any_threads(testing::dissemination(37, 100), options);
  expect_same_for_any_threads(testing::tree(40, 100), options);
  expect_same_for_any_threads(testing::ring({.num_ranks = 8,
                                             .steps = 14,
                                             .bytes = 131072,
                                             .channels = 3,
                                             .calc_ns = 900,
                                             .rounds = 5}),
                              options);
}

// So many ranks that a thread has several in one engine, and so many operations that one thread has
// engines, too. A round takes one message, and the next waits for it.
TEST(SideBySide, ManyRanksKeepTheClosedForm) {
  const auto schedule = testing::dissemination(2500, 101);
  const std::int64_t message = 200 + 3700 + 4 + 5 + 200;
  for (const unsigned threads : {1U, 2U}) {
    const Outcome outcome = simulate(schedule, {.inter = eager_link(3700)}, threads).value();
    EXPECT_TRUE(outcome.finished);
    EXPECT_THAT(outcome.finish_ns, ::testing::Each(12 * message));
  }
}

// Nothing happens for a second, which is far more than a message takes.
TEST(SideBySide, LongCalculationsAreNoHurdle) {
  const testing::Ring shape{.num_ranks = 4, .steps = 6, .bytes = 100, .calc_ns = 1'000'000'000};
  expect_same_for_any_threads(testing::ring(shape), {.inter = eager_link(3700)});
}

TEST(SideBySide, AScheduleThatCannotEndHasOneResult) {
  const auto schedule = make_schedule(4, [](std::uint32_t rank, model::RankBuilder& builder) {
    const auto work = builder.calc(100, {});
    const auto receive = builder.receive(8, (rank + 3) % 4, 4, {});
    builder.require_finish(builder.send(8, (rank + 1) % 4, 4, {}), receive);
    builder.require_finish(receive, work);
  });
  expect_same_for_any_threads(schedule, {.inter = eager_link(3700)});
  const auto endless = make_schedule(4, [](std::uint32_t rank, model::RankBuilder& builder) {
    builder.calc(rank == 2 ? UINT64_MAX : 10, {});
  });
  for (const unsigned threads : {1U, 2U, 4U}) {
    EXPECT_THAT(simulate(endless, {.inter = eager_link(3700)}, threads).error().message,
                HasSubstr("years"));
  }
}

TEST(SideBySide, OneRunsAllWhereRanksCannotBeApart) {
  const auto schedule = testing::all_to_all(8, 1000);
  const auto why = [&](const Options& options) {
    const Outcome outcome = simulate(schedule, options, 2).value();
    EXPECT_EQ(outcome.threads, outcome.alone == Alone::kNo ? 2U : 1U);
    return outcome.alone;
  };
  LogGops link = eager_link(3700);
  EXPECT_EQ(why({.inter = link}), Alone::kNo);
  link.rendezvous_bytes = 1000;  // no message is larger
  EXPECT_EQ(why({.inter = link}), Alone::kNo);
  link.rendezvous_bytes = 999;
  EXPECT_EQ(why({.inter = link}), Alone::kRendezvous);
  EXPECT_EQ(why({.inter = eager_link(3700), .fabric = FabricSpec{}}), Alone::kSharedLinks);
  link = eager_link(0);
  link.overhead_ns = 0;
  EXPECT_EQ(why({.inter = link}), Alone::kNoTime);
  // Time passes between nodes, which then stay whole.
  EXPECT_EQ(
      why({.inter = eager_link(3700), .intra = link, .node_of_rank = {0, 0, 0, 0, 1, 1, 1, 1}}),
      Alone::kNo);
}

}  // namespace
}  // namespace assay::simulate
