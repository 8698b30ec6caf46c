#include "store/judging/answer_check.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/task.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

// Times that grow evenly with m and n, and every tenth row `odd` times as long.
WorkRows rows_of(double odd) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  int row = 0;
  for (double n = 512; n <= 8192; n *= 2) {
    for (double m = 1; m <= 4096; m *= 2) {
      const double factor = row++ % 10 == 0 ? odd : 1;
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, factor * (0.005 + m * n * 1e-6));
    }
  }
  auto rows = make_work_rows("gemm_perf", frame_of(csv));
  EXPECT_TRUE(rows.ok());
  return std::move(rows).value();
}

TEST(AnswerCheck, AsksEveryPointOfTheOthers) {
  for (const HoldOut left_out : {HoldOut::kPoints, HoldOut::kCurves}) {
    const auto errors = judge_answers(rows_of(1), nullptr, left_out).value();
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors[0].method, "all");
    EXPECT_EQ(errors[0].points + errors[0].refused, 5 * 13);
  }
  EXPECT_LT(judge_answers(rows_of(1), nullptr, HoldOut::kPoints).value()[0].median, 0.05);
}

TEST(AnswerCheck, StopsWhereItsTaskDoes) {
  const std::int32_t stop = 1;
  core::Task task(nullptr, &stop);
  const core::WorkingFor working(&task);
  for (const HoldOut left_out : {HoldOut::kPoints, HoldOut::kEdges}) {
    const auto errors = judge_answers(rows_of(1), nullptr, left_out);
    ASSERT_FALSE(errors.ok());
    EXPECT_EQ(errors.error().message, "interrupted");
  }
}

TEST(AnswerCheck, SeesRowsThatNothingPredicts) {
  const auto errors = judge_answers(rows_of(3), nullptr, HoldOut::kPoints).value();
  EXPECT_GT(errors[0].p90, 0.3);
  EXPECT_LT(errors[0].inside_80, 1);
  EXPECT_EQ(errors[0].median,
            judge_answers(rows_of(3), nullptr, HoldOut::kPoints).value()[0].median);
}

TEST(AnswerCheck, LeavesOutHalfOfEachCurve) {
  const auto errors = judge_answers(rows_of(1), nullptr, HoldOut::kUpperHalves).value();
  EXPECT_EQ(errors[0].points + errors[0].refused, 5 * 6);
}

// Wilson's interval of 8 of 10 is 0.490 to 0.943 in textbooks.
TEST(AnswerCheck, FewPointsTellAShareLittle) {
  const ShareRange few = range_of_share(8, 10);
  EXPECT_NEAR(few.low, 0.4902, 1e-4);
  EXPECT_NEAR(few.high, 0.9433, 1e-4);
  const ShareRange many = range_of_share(8000, 10000);
  EXPECT_NEAR(many.low, 0.7920, 1e-4);
  EXPECT_NEAR(many.high, 0.8077, 1e-4);
  EXPECT_TRUE(std::isnan(range_of_share(0, 0).low));
}

}  // namespace
}  // namespace assay::store
