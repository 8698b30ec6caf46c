#include "trace/compare/collective_comparison.h"

#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::number;
using model::text;
using testing::book_of;
using testing::cell_where;
using testing::implicit_sync;
using testing::Instance;

Configuration with_collectives(const std::string& label, model::Table table) {
  return {.label = label, .ranks = {}, .collectives = book_of(std::move(table))};
}

model::Table sync_comparison(const Configuration& baseline, const Configuration& test) {
  return *collective_comparison({baseline, test}).find("nccl_implicit_sync_cmp");
}

TEST(CollectiveComparison, JoinsBothSidesAndShowsRowsOfOne) {
  const Configuration baseline =
      with_collectives("a", implicit_sync({{"allreduce", 4, 10.0, 100, 24},
                                           {"allreduce", 4, 10.2, 98, 24},
                                           {"allreduce", 4, 9.8, 102, 24},
                                           {"reducescatter", 8, 5, 50, 24}}));
  const Configuration test = with_collectives("b", implicit_sync({{"allreduce", 4, 20.0, 50, 16},
                                                                  {"allreduce", 4, 20.2, 49, 16},
                                                                  {"allreduce", 4, 19.8, 51, 8},
                                                                  {"allgather", 8, 7, 70, 16}}));
  const model::Table table = sync_comparison(baseline, test);
  ASSERT_EQ(table.row_count(), 3U);
  const auto reduce = [&table](const char* column) {
    return cell_where(table, "Collective name", "allreduce", column);
  };
  EXPECT_DOUBLE_EQ(number(reduce("a_comm_latency (us)_mean")), 10);
  EXPECT_DOUBLE_EQ(number(reduce("percent_change_comm_latency (us)_mean")), -100);
  EXPECT_EQ(text(reduce("status")), "Different in these runs");
  EXPECT_LT(number(reduce("ci_high_percent_comm_latency (us)_mean")), 0);
  EXPECT_DOUBLE_EQ(number(reduce("b_bus bw (GB/s)_mean")), 50);
  EXPECT_NEAR(number(reduce("percent_change_bus bw (GB/s)_mean")), -50, 1e-9);
  EXPECT_EQ(reduce("a_channels"), Cell{std::int64_t{24}});
  EXPECT_EQ(text(reduce("b_channels")), "8, 16");
  EXPECT_EQ(text(table.at(0, *table.column("Collective name"))), "allreduce");  // longest

  EXPECT_EQ(text(cell_where(table, "Collective name", "reducescatter", "status")),
            "Only in baseline");
  EXPECT_EQ(text(cell_where(table, "Collective name", "allgather", "status")), "Only in test");
  EXPECT_EQ(cell_where(table, "Collective name", "allgather", "a_count"), Cell{std::int64_t{0}});
  EXPECT_EQ(cell_where(table, "Collective name", "allgather", "a_comm_latency (us)_mean"), Cell{});
}

TEST(CollectiveComparison, OneInstanceIsUnknown) {
  const Configuration baseline = with_collectives("a", implicit_sync({{"allreduce", 4, 10, 1, 1}}));
  const Configuration test = with_collectives("b", implicit_sync({{"allreduce", 4, 90, 1, 1}}));
  const model::Table table = sync_comparison(baseline, test);
  EXPECT_EQ(text(table.at(0, *table.column("status"))), "Unknown: 1 instance");
}

// Totals of 2 and of 3 instances cannot be compared.
TEST(CollectiveComparison, TotalsOfDifferentCountsAreNotCompared) {
  const Instance one{"allreduce", 4, 10, 1, 1};
  const model::Table table = sync_comparison(with_collectives("a", implicit_sync({one, one})),
                                             with_collectives("b", implicit_sync({one, one, one})));
  EXPECT_DOUBLE_EQ(number(table.at(0, *table.column("b_Total comm latency (ms)"))), 0.03);
  EXPECT_EQ(table.at(0, *table.column("percent_change_Total comm latency (ms)")), Cell{});
  EXPECT_EQ(text(table.at(0, *table.column("status"))), "Same in these runs");
}

TEST(CollectiveComparison, GroupsThatLackARankAreNotJudged) {
  const std::vector<Instance> slow = {
      {"allreduce", 4, 20.0, 1, 1}, {"allreduce", 4, 20.2, 1, 1}, {"allreduce", 4, 19.8, 1, 1}};
  std::vector<Instance> fast = slow;
  for (Instance& instance : fast)
    instance.latency_us /= 2;
  const auto status = [&](const std::vector<int>& of_a, const std::vector<int>& of_b) {
    Configuration a = with_collectives("a", implicit_sync(slow, "[0, 1]"));
    Configuration b = with_collectives("b", implicit_sync(fast, "[0, 1]"));
    for (const int rank : of_a)
      a.ranks.push_back({.rank = rank, .book = {}});
    for (const int rank : of_b)
      b.ranks.push_back({.rank = rank, .book = {}});
    const model::Table table = sync_comparison(a, b);
    EXPECT_EQ(table.row_count(), 1U);
    return text(table.at(0, *table.column("status")));
  };
  EXPECT_EQ(status({0, 1}, {0, 1}), "Different in these runs");
  EXPECT_EQ(status({0, 1}, {0}), "Not judged: other ranks");
  EXPECT_EQ(status({0}, {0, 1}), "Not judged: other ranks");
  EXPECT_EQ(status({0}, {0}), "Different in these runs");           // both lack the same rank
  EXPECT_EQ(status({0, 1, 2}, {0, 1}), "Different in these runs");  // of another group
}

TEST(CollectiveComparison, GroupNamesJoinOnlyWhenTheGroupsAreTheSame) {
  const std::vector<Instance> instances = {{"allreduce", 4, 10, 1, 1}};
  const Configuration pair = with_collectives("a", implicit_sync(instances, "[0, 1]"));
  const Configuration other = with_collectives("b", implicit_sync(instances, "[0, 2]"));
  Configuration same = pair;
  same.label = "c";
  EXPECT_EQ(sync_comparison(pair, same).columns[0].name, "Process Group Name");
  EXPECT_EQ(sync_comparison(pair, other).columns[0].name, "Collective name");
  EXPECT_EQ(sync_comparison(pair, other).row_count(), 1U);
}

model::Table exchange(double throughput_gbps) {
  model::Table table{.name = "nccl_all2allv", .title = "", .columns = {}};
  for (const char* name :
       {"Collective name", "dtype", "Group size", "wall_time (us)", "throughput (GB/s)",
        "throughput (GiB/s)", "bus bw (GB/s)", "bus bw (GiB/s)"}) {
    table.columns.push_back({.name = name});
  }
  table.add_row({std::string("all_to_allv"), std::string("Float"), std::int64_t{8}, 10.0,
                 throughput_gbps, throughput_gbps, throughput_gbps * 7 / 64,
                 throughput_gbps * 7 / 64});
  return table;
}

TEST(CollectiveComparison, ExchangesHaveTheBusBandwidthOfARank) {
  const model::Book book = collective_comparison(
      {with_collectives("a", exchange(640)), with_collectives("b", exchange(320))});
  const model::Table& table = *book.find("nccl_all2allv_cmp");
  EXPECT_DOUBLE_EQ(number(table.at(0, *table.column("a_bus bw (GB/s)_mean"))), 70);
  EXPECT_DOUBLE_EQ(number(table.at(0, *table.column("b_bus bw (GB/s)_mean"))), 35);
  EXPECT_DOUBLE_EQ(number(table.at(0, *table.column("b_throughput (GB/s)_mean"))), 320);
}

// A report in the compatible mode has GiB/s under the heading (GB/s).
TEST(CollectiveComparison, BandwidthIsAlways1e9) {
  model::Table mislabelled = implicit_sync({{"allreduce", 4, 10, 100, 1}});
  mislabelled.columns[*mislabelled.column("bus bw (GiB/s)")].name = "something else";
  const model::Table table =
      sync_comparison(with_collectives("a", implicit_sync({{"allreduce", 4, 10, 100, 1}})),
                      with_collectives("b", std::move(mislabelled)));
  EXPECT_DOUBLE_EQ(number(table.at(0, *table.column("a_bus bw (GB/s)_mean"))), 100);
  EXPECT_NEAR(number(table.at(0, *table.column("b_bus bw (GB/s)_mean"))), 107.3741824, 1e-9);
}

TEST(CollectiveComparison, EmptyReports) {
  const Configuration nothing = {.label = "a", .ranks = {}, .collectives = {}};
  const Configuration some = with_collectives("b", implicit_sync({{"allreduce", 4, 10, 1, 1}}));
  const model::Table table = sync_comparison(nothing, some);
  EXPECT_EQ(table.row_count(), 1U);
  EXPECT_EQ(table.notes, std::vector<std::string>{"a has no such sheet"});
  Configuration empty = nothing;
  empty.label = "b";
  EXPECT_EQ(sync_comparison(nothing, empty).row_count(), 0U);
  EXPECT_TRUE(
      collective_comparison({nothing, some, {.compat = Compat::kTraceLens}}).tables.empty());
}

model::Table long_summary(double rank1_sum, double rank1_count) {
  model::Table table{.name = "nccl_summary_long",
                     .title = "",
                     .columns = {{.name = "rank"},
                                 {.name = "Collective name"},
                                 {.name = "Group size"},
                                 {.name = "dtype"},
                                 {.name = "In msg nelems"},
                                 {.name = "dur_sum"},
                                 {.name = "dur_min"},
                                 {.name = "dur_max"},
                                 {.name = "operation_count"}}};
  table.add_row({std::int64_t{0}, std::string("broadcast"), std::int64_t{2}, std::string("Float"),
                 std::int64_t{4}, 30.0, 9.0, 11.0, std::int64_t{3}});
  // 2.0 and 4.0 come from a report that went through CSV.
  table.add_row({std::int64_t{1}, std::string("broadcast"), 2.0, std::string("Float"), 4.0,
                 rank1_sum, 8.0, 99.0, rank1_count});
  return table;
}

TEST(CollectiveComparison, LongComparisonPoolsRanks) {
  const Configuration baseline = with_collectives("a", long_summary(60, 3));
  const Configuration test = with_collectives("b", long_summary(15, 3));
  const model::Table table = *collective_comparison({baseline, test}).find("nccl_long_cmp");
  ASSERT_EQ(table.row_count(), 1U);
  const auto value = [&table](const char* column) {
    return cell_where(table, "Collective name", "broadcast", column);
  };
  EXPECT_EQ(text(value("present_in")), "both");
  EXPECT_EQ(value("a_ranks"), Cell{std::int64_t{2}});
  EXPECT_EQ(value("a_operation_count"), Cell{std::int64_t{6}});
  EXPECT_DOUBLE_EQ(number(value("a_dur_sum")), 90);
  EXPECT_DOUBLE_EQ(number(value("a_dur_mean")), 15);
  EXPECT_DOUBLE_EQ(number(value("b_dur_mean")), 7.5);
  EXPECT_DOUBLE_EQ(number(value("percent_change_dur_mean")), 50);
  EXPECT_DOUBLE_EQ(number(value("a_dur_min")), 8);
  EXPECT_DOUBLE_EQ(number(value("a_dur_max")), 99);
}

}  // namespace
}  // namespace assay::trace
