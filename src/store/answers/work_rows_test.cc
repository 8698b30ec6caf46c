#include "store/answers/work_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

using testing::ElementsAre;

WorkRows products() {
  return make_work_rows("gemm_perf",
                        frame_of("gemm_dtype,m,n,k,latency,interval_low_ms,"
                                 "interval_high_ms,samples\n"
                                 "fp8,1,64,64,0.1,0.09,0.11,7\nfp8,4,64,64,0.3,0.2,0.4,7\n"
                                 "bfloat16,1,64,128,0.2,,,\nint8,2,64,64,0.5,0.4,0.6,9\n"))
      .value();
}

std::vector<std::string> names_of(const WorkRows& rows) {
  std::vector<std::string> names;
  for (std::size_t family = 0; family < rows.num_families(); ++family)
    names.push_back(rows.family_name(family));
  return names;
}

TEST(WorkRows, TellTheExactValuesOfAFamily) {
  const WorkRows rows = products();
  const auto fields = rows.exact_fields(1);
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].column, "gemm_dtype");
  EXPECT_EQ(std::get<std::string>(fields[0].value), "fp8");
}

TEST(WorkRows, OfSlowerKernelsAreTheWorkOfTheFastest) {
  const Frame frame = frame_of(
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
      "latency\n"
      "fp8,1,1024,512,8,128,1,1,0.1\nfp8,2,2048,512,8,128,1,1,0.2\n");
  const WorkRows fastest = make_work_rows("moe_perf", frame).value();
  const WorkRows others = make_work_rows("moe_perf_others", frame).value();
  EXPECT_EQ(others.num_families(), 1U);
  EXPECT_EQ(others.sizes, fastest.sizes);
  EXPECT_EQ(others.work.axes.size(), fastest.work.axes.size());
}

TEST(WorkRows, LeaveOutWholeFamilies) {
  Spreads spreads;
  WorkRows some;
  {
    WorkRows rows = products();
    rows.spreads = &spreads;
    ASSERT_THAT(names_of(rows),
                ElementsAre("gemm_dtype=bfloat16", "gemm_dtype=fp8", "gemm_dtype=int8"));
    const std::vector<std::size_t> left_out = {0};
    some = without_families(rows, left_out);
  }
  EXPECT_THAT(names_of(some), ElementsAre("gemm_dtype=fp8", "gemm_dtype=int8"));
  EXPECT_THAT(std::vector(some.begins.begin(), some.begins.end()), ElementsAre(0, 2, 3));
  EXPECT_THAT(std::vector(some.latencies.begin(), some.latencies.end()),
              ElementsAre(0.1, 0.3, 0.5));
  EXPECT_THAT(std::vector(some.sizes_of(2).begin(), some.sizes_of(2).end()),
              ElementsAre(2, 64, 64));
  ASSERT_EQ(some.intervals.size(), 3U);
  EXPECT_EQ(some.intervals[2].samples, 9U);
  EXPECT_EQ(some.spreads, &spreads);
  const std::vector<std::size_t> all = {0, 1};
  EXPECT_EQ(without_families(some, all).num_rows(), 0U);
}

// The times of a column, NaN and an infinity among them, which files cannot hold.
WorkRows rows_with_times(const std::string& table, const std::vector<double>& times) {
  Frame frame = frame_of(
      "gemm_dtype,m,n,k,latency\nfp8,1,64,64,0.5\nfp8,2,64,64,0.5\n"
      "fp8,4,64,64,0.5\nfp8,8,64,64,0.5\nbfloat16,1,64,64,0.5\n");
  for (FrameColumn& column : frame.columns) {
    if (column.name == "latency") column.values = times;
  }
  auto rows = make_work_rows(table, frame);
  EXPECT_TRUE(rows.ok());
  return std::move(rows).value();
}

TEST(TimedRows, LeaveOutAndCountWhatNoKernelTakes) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const TimedRows timed = timed_rows(rows_with_times("gemm_perf", {0, -1, kNan, 0.3, kInfinity}));
  EXPECT_EQ(timed.left_out, 4U);
  EXPECT_THAT(names_of(timed.rows), ElementsAre("gemm_dtype=fp8"));
  EXPECT_THAT(std::vector(timed.rows.latencies.begin(), timed.rows.latencies.end()),
              ElementsAre(0.3));
  EXPECT_THAT(std::vector(timed.rows.sizes_of(0).begin(), timed.rows.sizes_of(0).end()),
              ElementsAre(8, 64, 64));
}

TEST(TimedRows, AreAllRowsOfASoundTable) {
  const TimedRows timed = timed_rows(rows_with_times("gemm_perf", {1, 2, 3, 4, 5}));
  EXPECT_EQ(timed.left_out, 0U);
  EXPECT_EQ(timed.rows.num_rows(), 5U);
}

TEST(TimedRows, MayBeNone) {
  const WorkRows zeros = rows_with_times("gemm_perf", {0, 0, 0, 0, 0});
  EXPECT_EQ(timed_rows(zeros).left_out, 5U);
  EXPECT_EQ(timed_rows(zeros).rows.num_families(), 0U);
  EXPECT_EQ(with_times(zeros).error().message, "gemm_perf: no row has a usable time");
}

TEST(TimedRows, DifferencesMayBeZero) {
  const TimedRows timed = timed_rows(rows_with_times("computescale_perf", {0, -1, 0.1, 0.2, 0.3}));
  EXPECT_EQ(timed.left_out, 1U);
  EXPECT_EQ(timed.rows.num_rows(), 4U);
}

}  // namespace
}  // namespace assay::store
