#include "store/judging/spread_learner.h"

#include <gtest/gtest.h>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

TEST(SpreadLearner, LearnsWhatAnIndexLearns) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (int n = 64; n <= 1024; n *= 2) {
    for (int m = 1; m <= 4096; m *= 2)
      csv += "fp8," + std::to_string(m) + "," + std::to_string(n) + ",64," +
             std::to_string(0.01 + 1e-6 * m * n * (1 + 0.1 * (m % 3))) + "\n";
  }
  const WorkRows rows = make_work_rows("gemm_perf", frame_of(csv)).value();
  int asked = 0;
  const SpreadLearner learner = learner_with_rooflines(
      {.memory_bytes_per_s = 1e12}, [&](const std::string& table) -> std::vector<CostedOperator> {
        EXPECT_EQ(table, "gemm_perf");
        ++asked;
        return {};
      });
  const Spreads learnt = learner.learn(rows);
  const WorkIndex index(rows, nullptr);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(learnt.part(Way::kOwnCurve).is_known());
  EXPECT_EQ(learnt.of_way(Way::kOwnCurve, 0.1).eighty,
            index.spreads().of_way(Way::kOwnCurve, 0.1).eighty);
}

TEST(SpreadLearner, OtherPeaksAreAnotherKey) {
  const auto key = [](const Peaks& peaks) { return learner_with_rooflines(peaks, nullptr).key; };
  const Peaks peaks{.memory_bytes_per_s = 1e12, .flops_per_s = {{"fp8", 1e15}}};
  Peaks other = peaks;
  EXPECT_EQ(key(peaks), key(other));
  other.flops_per_s["fp8"] = 1e15 + 1;
  EXPECT_NE(key(peaks), key(other));
  other = peaks;
  other.link_bytes_per_s = 1;
  EXPECT_NE(key(peaks), key(other));
}

}  // namespace
}  // namespace assay::store
