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
  EXPECT_EQ(table.beyond, 2);
  EXPECT_EQ(result.value().compared(), 4);
  EXPECT_EQ(result.value().worst.front().ratio, 0.5);
  EXPECT_THAT(
      diff_failures(result.value(), 0.1, 0.49),
      testing::ElementsAre("gemm_perf: 50.00 % of 4 rows differ by more than 10 %; 49 % may"));
  EXPECT_TRUE(diff_failures(result.value(), 0.1, 0.5).empty());
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
