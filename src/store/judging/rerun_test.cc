#include "store/judging/rerun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

using testing::ElementsAre;
using Mode = Store::Mode;

Rerun rerun(const std::string& table,
            double first,
            std::optional<double> second,
            const std::string& where = "") {
  return {.table = table, .where = where, .first_ms = first, .second_ms = second};
}

TEST(Rerun, DeviatesByPartsOfTheFirstTime) {
  EXPECT_NEAR(*deviation(rerun("t", 2, 2.5)), 0.25, 1e-12);
  EXPECT_NEAR(*deviation(rerun("t", 2, 1.5)), 0.25, 1e-12);
  EXPECT_EQ(deviation(rerun("t", 0, 0)), 0);
  EXPECT_EQ(deviation(rerun("t", 0, 1)), std::nullopt);
  EXPECT_EQ(deviation(rerun("t", 1, std::nullopt)), std::nullopt);
  EXPECT_EQ(deviation(rerun("t", 1, std::nan(""))), std::nullopt);
}

TEST(Rerun, ReportsTheShareBeyondTheLimitByTable) {
  const auto results = compare_reruns(
      {rerun("moe_perf", 1, 1.05), rerun("gemm_perf", 2, 2), rerun("moe_perf", 1, 0.8),
       rerun("moe_perf", 0, 1), rerun("moe_perf", 1, std::nullopt)},
      0.1);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].table, "gemm_perf");
  EXPECT_EQ(results[0].beyond, 0);
  EXPECT_EQ(results[1].points, 4);
  EXPECT_EQ(results[1].beyond, 3);
  EXPECT_EQ(results[1].lost, 1);
  EXPECT_DOUBLE_EQ(results[1].share(), 0.75);
  EXPECT_NEAR(*results[1].median, 0.125, 1e-12);
  EXPECT_NEAR(*results[1].worst, 0.2, 1e-12);
}

TEST(Rerun, ShowsTheWorstFirst) {
  const auto worst = worst_reruns({rerun("t", 1, 1.2, "b"), rerun("t", 1, 1.01, "none"),
                                   rerun("t", 1, 2, "a"), rerun("t", 1, std::nullopt, "lost")},
                                  0.1, 2);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].where, "lost");
  EXPECT_EQ(worst[1].where, "a");
}

TEST(Rerun, FailsATableWhoseShareIsTooLarge) {
  const std::vector<Rerun> reruns = {rerun("gemm_perf", 1, 1.11, "a"), rerun("gemm_perf", 1, 1.09),
                                     rerun("moe_perf", 1, 1.05)};
  const auto judged = rerun_report("monday", reruns, 0.4);
  ASSERT_EQ(judged.failures.size(), 1U);
  EXPECT_EQ(judged.failures[0],
            "gemm_perf: 1 of 2 points measured again differs by more than 10 %");
  ASSERT_EQ(judged.tables.size(), 2U);
  const model::Table& shares = judged.tables[0];
  EXPECT_EQ(shares.title, "Points of the collection of monday, measured again");
  EXPECT_EQ(shares.at(0, *shares.column("result")), model::Cell(std::string("failed")));
  EXPECT_EQ(shares.at(0, *shares.column("share")), model::Cell(50.0));
  EXPECT_EQ(shares.at(1, *shares.column("result")), model::Cell(std::string("passed")));
  const model::Table& worst = judged.tables[1];
  ASSERT_EQ(worst.row_count(), 1U);
  EXPECT_EQ(worst.at(0, *worst.column("case")), model::Cell(std::string("a")));
  EXPECT_TRUE(rerun_report("monday", reruns, 0.5).failures.empty());
}

TEST(Rerun, WithoutALimitOfSharesNoTableFails) {
  const auto judged = rerun_report("monday", {rerun("t", 1, 5)}, std::nullopt);
  EXPECT_TRUE(judged.failures.empty());
  EXPECT_EQ(judged.tables[0].at(0, *judged.tables[0].column("result")), model::Cell(std::string()));
  EXPECT_EQ(rerun_report("monday", {rerun("t", 1, 1)}, std::nullopt).tables.size(), 1U);
}

class RerunStoreTest : public StoreTest {};

TEST_F(RerunStoreTest, PairsTheRowsOfCasesMeasuredAgain) {
  Store store = open(Mode::kCreate);
  const std::int64_t first = store.begin_run(test_run()).value();
  for (std::int64_t m = 1; m <= 3; ++m)
    ASSERT_TRUE(store.append(first, gemm_case(m, static_cast<double>(m))).ok());
  const std::int64_t again = store.begin_run(test_run("rerun")).value();
  CaseRecord other = gemm_case(2, 2.5);
  other.rows[0].row.kernel_source = "other";
  other.rows[0].conditions.throttled = false;
  ASSERT_TRUE(store.append(again, other).ok());
  ASSERT_TRUE(store
                  .append(again, {.operator_name = "gemm",
                                  .id = "gemm m=3",
                                  .outcome = CaseOutcome::kFailed,
                                  .reason = "no memory",
                                  .error_class = "OutOfMemory",
                                  .detail = {}})
                  .ok());
  const auto pairs = reruns_of(store, first, again).value();
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].table, "gemm_perf");
  EXPECT_EQ(pairs[0].where, "gemm m=2");
  EXPECT_EQ(pairs[0].first_ms, 2);
  EXPECT_EQ(pairs[0].second_ms, 2.5);
  EXPECT_EQ(pairs[0].remark, "other, was cublaslt; unsteady then");
  EXPECT_EQ(pairs[1].where, "gemm m=3");
  EXPECT_EQ(pairs[1].second_ms, std::nullopt);
}

TEST_F(RerunStoreTest, NoTableShowsTheRowsOfARerun) {
  Store store = open(Mode::kCreate);
  const std::int64_t first = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(first, gemm_case(1, 0.5)).ok());
  const std::int64_t again = store.begin_run(test_run("rerun")).value();
  ASSERT_TRUE(store.append(again, gemm_case(1, 0.75)).ok());
  ASSERT_TRUE(store.append(again, gemm_case(2, 1)).ok());
  const auto shown = [&] {
    return latencies(store.table({.table = "gemm_perf"}, Store::Columns::kPublic).value());
  };
  EXPECT_THAT(shown(), ElementsAre(0.5));
  EXPECT_EQ(store.list().value().at(0).rows, 1);
  const std::int64_t later = store.begin_run(test_run()).value();
  ASSERT_TRUE(store.append(later, gemm_case(1, 0.6)).ok());
  EXPECT_THAT(shown(), ElementsAre(0.6));
}

}  // namespace
}  // namespace assay::store
