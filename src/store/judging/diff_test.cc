#include "store/judging/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

Store store_with(const std::vector<std::int64_t>& m, const std::vector<double>& latency_ms) {
  auto store = Store::in_memory();
  EXPECT_TRUE(store.ok());
  EXPECT_TRUE(
      store.value().append(test_run("import"), "gemm_perf", gemm_frame(m, latency_ms)).ok());
  return std::move(store).value();
}

TEST(Diff, CountsTheRowsBeyondTheThreshold) {
  const Store a = store_with({1, 2, 3, 4, 5}, {1, 1, 1, 1, 1});
  const Store b = store_with({1, 2, 3, 4, 6}, {1, 1.05, 1.2, 0.5, 1});
  const auto result = diff(a, b, {.threshold = 0.1});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result.value().tables.size(), 1U);
  const TableDiff& table = result.value().tables.front();
  EXPECT_EQ(table.only_a, 1);
  EXPECT_EQ(table.only_b, 1);
  EXPECT_EQ(table.different, 3);
  EXPECT_EQ(table.slower, 1);
  EXPECT_EQ(table.faster, 1);
  EXPECT_EQ(result.value().compared(), 4);
  EXPECT_EQ(result.value().worst.front().ratio, 0.5);
  EXPECT_THAT(
      diff_failures(result.value(), 0.1, {.share = 0.49}),
      testing::ElementsAre(
          "gemm_perf: 50.00 % of 4 rows differ by more than 10 % (1 slower, 1 faster); 49 % may"));
  EXPECT_TRUE(diff_failures(result.value(), 0.1, {.share = 0.5, .slower = 0.25}).empty());
  EXPECT_THAT(
      diff_failures(result.value(), 0.1, {.slower = 0.24}),
      testing::ElementsAre("gemm_perf: 25.00 % of 4 rows are slower by more than 10 % (1 slower, "
                           "1 faster); 24 % may"));
}

// The rows of m = 1 of versions that differ in nothing else, and one row of m = 2.
Store versions_of(const std::vector<double>& latency_ms) {
  Store store = Store::in_memory().value();
  for (std::size_t i = 0; i < latency_ms.size(); ++i) {
    const std::string version = "0." + std::to_string(i);
    EXPECT_TRUE(
        store.append(test_run("import"), "gemm_perf", gemm_frame({1}, {latency_ms[i]}, version))
            .ok());
  }
  EXPECT_TRUE(store.append(test_run("import"), "gemm_perf", gemm_frame({2}, {1}, "0.9")).ok());
  return store;
}

TEST(Diff, RowsThatIgnoringAColumnMakesEqualAreAmbiguousInAnyOrder) {
  const DiffRequest request{.ignored = {"version"}};
  for (const auto& of_a : {std::vector<double>{1, 2, 4}, {4, 2, 1}}) {
    const DiffResult result = diff(versions_of(of_a), versions_of({2}), request).value();
    const TableDiff& table = result.tables.front();
    EXPECT_EQ(table.ambiguous, 1);
    EXPECT_EQ(table.only_a + table.only_b, 0);
    EXPECT_EQ(table.compared, 1);
    EXPECT_EQ(table.median_ratio, 1);
    EXPECT_THAT(diff_ambiguous(result),
                testing::ElementsAre(testing::HasSubstr("gemm_perf: 1 key has several rows")));
  }
}

TEST(Diff, RowsOfOneKeyAreComparedWhereEveryPairSaysTheSame) {
  const DiffRequest request{.ignored = {"version"}};
  const auto compared = [&request](const std::vector<double>& a, const std::vector<double>& b) {
    return diff(versions_of(a), versions_of(b), request).value().tables.front();
  };
  const TableDiff slower = compared({1, 1.01}, {5, 5.01});
  EXPECT_EQ(slower.ambiguous, 0);
  EXPECT_EQ(slower.slower, 2);
  EXPECT_EQ(compared({5, 5.01}, {1, 1.01}).faster, 2);
  const TableDiff alike = compared({1, 1.02}, {1.01, 1.03});
  EXPECT_EQ(alike.ambiguous, 0);
  EXPECT_EQ(alike.slower + alike.faster, 0);
  EXPECT_EQ(compared({1, 2}, {1.5, 3}).ambiguous, 1);
}

TEST(Diff, ALimitHoldsForAmbiguousKeysToo) {
  const DiffRequest request{.ignored = {"version"}};
  const DiffResult result = diff(versions_of({1, 2, 4}), versions_of({2}), request).value();
  EXPECT_TRUE(diff_failures(result, request.threshold, {.slower = 0.5}).empty());
  EXPECT_THAT(diff_failures(result, request.threshold, {.slower = 0.4}),
              testing::ElementsAre("gemm_perf: 1 key is not compared, since several rows have it, "
                                   "beside 1 that is; 40 % may"));
}

TEST(Diff, RowsOfOneKeyWithTheSameTimesAreEqual) {
  const DiffRequest request{.ignored = {"version"}};
  const TableDiff same =
      diff(versions_of({1, 4}), versions_of({4, 1}), request).value().tables.front();
  EXPECT_EQ(same.ambiguous, 0);
  EXPECT_EQ(same.both, 3);
  EXPECT_EQ(same.different, 0);
  const TableDiff one = diff(versions_of({1, 1}), versions_of({2}), request).value().tables.front();
  EXPECT_EQ(one.ambiguous, 0);
  EXPECT_EQ(one.only_a, 1);
  EXPECT_EQ(one.slower, 1);
}

Store measured_store(model::L2State l2, const std::string& driver) {
  Store store = Store::in_memory().value();
  Run run = test_run();
  run.facts["driver"] = driver;
  CaseRecord one = gemm_case(1, 0.5);
  one.rows[0].timing.l2 = l2;
  EXPECT_TRUE(store.append(store.begin_run(run).value(), one).ok());
  return store;
}

TEST(Diff, TellsInWhichOtherWaysRowsWereMeasured) {
  const DiffResult result = diff(measured_store(model::L2State::kHot, "580"),
                                 measured_store(model::L2State::kCold, "570"), {})
                                .value();
  const auto& conditions = result.tables.front().conditions;
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[0].condition, "l2");
  EXPECT_EQ(conditions[0].a, "hot");
  EXPECT_EQ(conditions[0].b, "cold");
  EXPECT_EQ(conditions[0].rows, 1);
  EXPECT_EQ(conditions[1].condition, "driver");
  const auto file = diff(measured_store(model::L2State::kHot, "580"), store_with({1}, {1}), {});
  EXPECT_TRUE(file.value().tables.front().conditions.empty());
}

TEST(Diff, RowsWithoutLatencyAreInBothAndNotCompared) {
  const auto store_of = [](const std::string& rows) {
    Store store = Store::in_memory().value();
    const Frame frame = frame_of(
        "framework,version,device,op_name,kernel_source,num_token,combine_avg_t_us\n" + rows);
    EXPECT_TRUE(store.append(test_run("import"), "wideep_deepep_ll_perf", frame).ok());
    return store;
  };
  const Store a = store_of("s,1,d,ll,k,1,10.5\ns,1,d,ll,k,2,11.5\n");
  const Store b = store_of("s,1,d,ll,k,1,10.5\ns,1,d,ll,k,2,12.5\n");
  const DiffResult result = diff(a, b, {}).value();
  const TableDiff& table = result.tables.front();
  EXPECT_EQ(table.both, 1);
  EXPECT_EQ(table.compared, 0);
  EXPECT_EQ(table.only_a, 1);
  EXPECT_EQ(table.only_b, 1);
  EXPECT_EQ(result.both(), 1);
  EXPECT_THAT(diff_without_latencies(result),
              testing::ElementsAre("wideep_deepep_ll_perf: no latency was compared: 1 row of both "
                                   "sides lacks one; what is equal is their other columns"));
  EXPECT_TRUE(diff_without_latencies(diff(a, store_of("s,1,d,ll,k,3,1\n"), {}).value()).empty());
}

TEST(Diff, AMisspeltColumnIsRefused) {
  const Store store = store_with({1, 2}, {1, 1});
  const auto refused = diff(store, store, {.ignored = {"version", "frameworks"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "--ignore: no table has a column 'frameworks'; did you mean 'framework'?");
  EXPECT_TRUE(diff(store, store, {.ignored = {"version", "framework", "m", "power"}}).ok());
}

class DiffOfDamaged : public StoreTest {};

TEST_F(DiffOfDamaged, AMisspeltColumnIsRefusedBeforeAnyRowIsRead) {
  ASSERT_TRUE(open(Store::Mode::kCreate)
                  .append(test_run("import"), "gemm_perf", gemm_frame({1, 2}, {1, 1}))
                  .ok());
  query(file_, "UPDATE measurement SET key = x''");
  const Store store = open(Store::Mode::kRead);
  EXPECT_FALSE(diff(store, store, {}).ok());
  EXPECT_EQ(diff(store, store, {.ignored = {"frameworks"}}).error().message,
            "--ignore: no table has a column 'frameworks'; did you mean 'framework'?");
}

}  // namespace
}  // namespace assay::store
