#include "simulate/network_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/schedules_test_util.h"

namespace assay::simulate {
namespace {

using ::testing::HasSubstr;

// Two senders to rank 0, at 1 byte per ns, after which rank 1 sends alone.
Outcome shared_then_alone() {
  const auto schedule = testing::make_schedule(3, [](std::uint32_t rank, model::RankBuilder& ops) {
    if (rank == 0) {
      const auto first = ops.receive(100001, 1, 0, {});
      const auto second = ops.receive(100001, 2, 0, {});
      const auto last = ops.receive(100001, 1, 0, {});
      ops.require_finish(last, first);
      ops.require_finish(last, second);
      return;
    }
    const auto send = ops.send(100001, 0, 0, {});
    if (rank == 1) ops.require_finish(ops.send(100001, 0, 0, {}), send);
  });
  LogGops link;
  link.latency_ns = link.overhead_ns = link.gap_ns = 0;
  link.gap_ns_per_byte = 1;
  link.rendezvous_bytes = 0;
  return simulate(schedule, {.inter = link, .fabric = parse_fabric_spec("{}", "n.yaml").value()})
      .value();
}

TEST(NetworkReport, CountsWhatMessagesLostToEachOther) {
  const Outcome outcome = shared_then_alone();
  EXPECT_EQ(outcome.longest_ns(), 300000);
  const CriticalPath path = critical_path(outcome);
  EXPECT_EQ(path.total_ns[static_cast<std::size_t>(Spent::kContention)], 100000);
  const model::Table table = network_table(outcome, path);
  EXPECT_EQ(table.at(0, 1), model::Cell(std::int64_t{3}));
  EXPECT_EQ(table.at(0, 2), model::Cell(500.0));  // in the network
  EXPECT_EQ(table.at(0, 3), model::Cell(200.0));  // lost
  EXPECT_EQ(table.at(0, 5), model::Cell(100.0));  // lost on the path
}

TEST(NetworkReport, NicsThatCarryNothingAreTold) {
  const auto schedule = testing::ring({.num_ranks = 4, .steps = 2, .bytes = 1000});
  const auto notes_of = [&](const char* yaml) {
    const FabricSpec spec = parse_fabric_spec(yaml, "network.yaml").value();
    const Outcome outcome = simulate(schedule, {.fabric = spec}).value();
    return network_table(outcome, critical_path(outcome)).notes;
  };
  EXPECT_THAT(notes_of("ranks_per_node: 2"), ::testing::IsEmpty());
  EXPECT_THAT(notes_of("{ranks_per_node: 2, nics: {per_node: 4}}"),
              ::testing::ElementsAre(HasSubstr("4 of 8 NICs carry nothing")));
}

TEST(NetworkReport, TheBusiestLinkComesFirst) {
  const Outcome outcome = shared_then_alone();
  const model::Table table = busiest_table(outcome, 2);
  ASSERT_EQ(table.row_count(), 2U);
  EXPECT_EQ(table.at(0, 0), model::Cell(std::string("switch > node0")));
  EXPECT_EQ(table.at(0, 3), model::Cell(100.0));
  EXPECT_EQ(table.at(0, 5), model::Cell(100.0));
  EXPECT_EQ(table.at(0, 6), model::Cell(200.0));
  EXPECT_THAT(table.notes.front(), HasSubstr("1 more"));
  const auto loads = link_loads(outcome, 9);
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_NEAR(loads[1].load.front(), 50, 1e-3);
  EXPECT_NEAR(loads[1].load.back(), 100, 1e-3);
}

TEST(NetworkReport, AddsUpTheLoadsOfALinkToWhatItCarried) {
  const Outcome outcome = shared_then_alone();
  double carried = 0;
  const model::Table table = link_table(outcome);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.at(row, 0) != model::Cell(std::string("switch > node0"))) continue;
    const double length = std::get<double>(table.at(row, 4)) - std::get<double>(table.at(row, 3));
    carried += length * std::get<double>(table.at(row, 5));
  }
  EXPECT_NEAR(carried, 300 * 100, 1);
}

TEST(NetworkReport, OperationsLoseWhatTheirMessagesLose) {
  const Outcome outcome = shared_then_alone();
  model::ScheduleNotes notes;
  notes.operations.resize(2);
  notes.operations[0].function = model::NcclFunction::kAllGather;
  notes.operations[1].function = model::NcclFunction::kBroadcast;
  notes.spans = {{},
                 {{.operation = 0, .first_op = 0, .num_ops = 1},
                  {.operation = 1, .first_op = 1, .num_ops = 1}},
                 {{.operation = 0, .first_op = 0, .num_ops = 1}}};
  const model::Table table = contention_table(outcome, notes);
  ASSERT_EQ(table.row_count(), 2U);
  EXPECT_EQ(table.at(0, 4), model::Cell(std::int64_t{2}));
  EXPECT_EQ(table.at(0, 6), model::Cell(200.0));
  EXPECT_EQ(table.at(1, 6), model::Cell(0.0));
}

TEST(NetworkReport, ThePageBeginsWithTheAnswer) {
  const Outcome outcome = shared_then_alone();
  const report::Page page = network_page(outcome, critical_path(outcome), "job", {});
  EXPECT_THAT(page.answer.sentence, HasSubstr("ends at 300 μs; 33.3 % of that is contention"));
  ASSERT_EQ(page.cards.size(), 1U);
}

}  // namespace
}  // namespace assay::simulate
