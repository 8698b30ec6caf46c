#include "trace/diff/kernel_diff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace assay::trace {
namespace {

KernelUse use(KernelKey key, double calls, double time_us, double deviation_us = 0.1) {
  const auto samples = static_cast<std::int64_t>(calls);
  return {std::move(key),
          GpuWork::kComputation,
          calls,
          time_us,
          samples > 1 ? deviation_us : std::numeric_limits<double>::quiet_NaN(),
          samples,
          0};
}

KernelUse communication(KernelKey key, double calls, double time_us, double wait_us = 0) {
  KernelUse result = use(std::move(key), calls, time_us);
  result.work = GpuWork::kCommunication;
  result.wait_us = wait_us;
  return result;
}

double sum_of_effects(const std::vector<KernelDifference>& rows) {
  double sum = 0;
  for (const KernelDifference& row : rows)
    sum += row.effect_us();
  return sum;
}

const KernelKey kMatmul{"Model/Linear_0", "aten::mm", "[[8, 8], [8, 8]]", "gemm_a"};

TEST(KernelDiff, ACallThatTakesLongerIsSlower) {
  const std::vector baseline{use(kMatmul, 4, 40)};
  const std::vector test{use(kMatmul, 4, 60)};
  const auto rows = kernel_differences(baseline, test);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].change, KernelChange::kSlower);
  EXPECT_EQ(rows[0].effect_us(), 20);
  EXPECT_EQ(rows[0].per_call_effect_us, 20);
  EXPECT_EQ(kernel_differences(test, baseline)[0].change, KernelChange::kFaster);
}

TEST(KernelDiff, WhatLiesWithinTheNoiseIsUnclear) {
  const auto rows =
      kernel_differences(std::vector{use(kMatmul, 4, 40, 5)}, std::vector{use(kMatmul, 4, 44, 5)});
  EXPECT_EQ(rows[0].change, KernelChange::kUnclear);
  const auto within_the_tolerance = kernel_differences(std::vector{use(kMatmul, 4, 40, 5)},
                                                       std::vector{use(kMatmul, 4, 40.1, 5)});
  EXPECT_EQ(within_the_tolerance[0].change, KernelChange::kSame);
  const auto sharp = kernel_differences(std::vector{use(kMatmul, 4, 40, 0.1)},
                                        std::vector{use(kMatmul, 4, 44, 0.1)});
  EXPECT_EQ(sharp[0].change, KernelChange::kSlower);
}

TEST(KernelDiff, CallsAndTimeACallAreToldApart) {
  const auto rows =
      kernel_differences(std::vector{use(kMatmul, 4, 40)}, std::vector{use(kMatmul, 6, 66)});
  EXPECT_EQ(rows[0].change, KernelChange::kMoreCalls);
  EXPECT_EQ(rows[0].calls_effect_us, 20);
  EXPECT_EQ(rows[0].per_call_effect_us, 6);
}

// One fused kernel for two.
TEST(KernelDiff, AnotherKernelForTheSameOperatorReplacesIt) {
  KernelKey second = kMatmul;
  second.kernel = "bias";
  KernelKey fused = kMatmul;
  fused.kernel = "gemm_bias";
  const auto rows = kernel_differences(std::vector{use(kMatmul, 4, 40), use(second, 4, 8)},
                                       std::vector{use(fused, 4, 42)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].change, KernelChange::kReplaced);
  ASSERT_EQ(rows[0].baseline.size(), 2U);
  EXPECT_EQ(rows[0].baseline[0].key.kernel, "gemm_a");
  EXPECT_EQ(rows[0].test[0].key.kernel, "gemm_bias");
  EXPECT_EQ(rows[0].effect_us(), -6);
}

// What launched the kernel on one side is not known.
TEST(KernelDiff, AKernelWithoutALaunchRecordIsTheSame) {
  const KernelKey unlinked{{}, {}, {}, "gemm_a"};
  const KernelKey other{"Model/Linear_0", "aten::mm", "[[8, 8], [8, 8]]", "gemm_b"};
  const auto rows = kernel_differences(std::vector{use(kMatmul, 4, 40), use(other, 1, 5)},
                                       std::vector{use(unlinked, 4, 40), use(other, 1, 5)});
  ASSERT_EQ(rows.size(), 2U);
  for (const KernelDifference& row : rows)
    EXPECT_EQ(row.change, KernelChange::kSame);
}

TEST(KernelDiff, AKernelThatMovedIsTheSame) {
  KernelKey wrapped = kMatmul;
  wrapped.path = "Wrapper/Model/Linear_0";
  const auto rows =
      kernel_differences(std::vector{use(kMatmul, 4, 40)}, std::vector{use(wrapped, 4, 40)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].change, KernelChange::kSame);
}

TEST(KernelDiff, TheSameOperatorWithOtherShapesIsResized) {
  KernelKey larger = kMatmul;
  larger.shapes = "[[16, 8], [8, 8]]";
  const auto rows =
      kernel_differences(std::vector{use(kMatmul, 4, 40)}, std::vector{use(larger, 4, 80)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].change, KernelChange::kResized);
}

TEST(KernelDiff, AnotherOperatorAtTheSamePlaceReplacesIt) {
  const KernelKey other{kMatmul.path, "vendor::linear", "", "fast_gemm"};
  const auto rows =
      kernel_differences(std::vector{use(kMatmul, 4, 40)}, std::vector{use(other, 4, 30)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].change, KernelChange::kReplaced);
}

TEST(KernelDiff, WhatHasNoPlaceReplacesNothingUnlikeIt) {
  const auto rows = kernel_differences(std::vector{use({"", "aten::mm", "[[8]]", "gemm"}, 1, 10)},
                                       std::vector{use({"", "aten::add", "[[8]]", "add"}, 1, 5)});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].change, KernelChange::kRemoved);
  EXPECT_EQ(rows[0].effect_us(), -10);
  EXPECT_EQ(rows[1].change, KernelChange::kAdded);
}

TEST(KernelDiff, CommunicationIsNoReplacementForComputing) {
  const KernelKey sent{kMatmul.path, "c10d::allreduce_", "", "ncclDevKernel"};
  const auto rows =
      kernel_differences(std::vector{use(kMatmul, 4, 40)}, std::vector{communication(sent, 4, 30)});
  EXPECT_EQ(rows.size(), 2U);
}

// The largest effect comes first, and nothing is lost or counted twice.
TEST(KernelDiff, EffectsAddUpToTheDifference) {
  std::vector<KernelUse> baseline;
  std::vector<KernelUse> test;
  double difference = 0;
  for (int i = 0; i < 200; ++i) {
    const KernelKey key{"M/" + std::to_string(i % 7), "op" + std::to_string(i % 5),
                        std::to_string(i % 3), "k" + std::to_string(i)};
    const double first = (i * 37) % 101;
    const double second = (i * 53) % 97;
    if (i % 3 != 0) baseline.push_back(use(key, 1 + i % 4, first));
    if (i % 4 != 0) test.push_back(use(key, 1 + i % 3, second));
    difference += (i % 4 != 0 ? second : 0) - (i % 3 != 0 ? first : 0);
  }
  const auto rows = kernel_differences(baseline, test);
  EXPECT_NEAR(sum_of_effects(rows), difference, 1e-9);
  std::size_t uses = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    uses += rows[i].baseline.size() + rows[i].test.size();
    EXPECT_NEAR(rows[i].calls_effect_us + rows[i].per_call_effect_us, rows[i].effect_us(), 1e-9);
    if (i > 0) {
      EXPECT_GE(std::fabs(rows[i - 1].effect_us()), std::fabs(rows[i].effect_us()));
    }
  }
  EXPECT_EQ(uses, baseline.size() + test.size());
}

// One of four ranks lacks the records of its launches.
TEST(KernelDiff, RunsWithoutALaunchRecordAreThoseOfTheOtherRanks) {
  const KernelKey other{"Model/Linear_1", "aten::mm", "[[8, 8], [8, 8]]", "gemm_a"};
  const KernelKey unlinked{"", "", "", "gemm_a"};
  const std::vector baseline{use(kMatmul, 4, 40), use(other, 8, 80)};
  const std::vector test{use(kMatmul, 3, 30), use(other, 6, 60), use(unlinked, 3, 30)};
  for (const auto& rows :
       {kernel_differences(baseline, test), kernel_differences(test, baseline)}) {
    ASSERT_EQ(rows.size(), 2U);
    for (const KernelDifference& row : rows)
      EXPECT_EQ(row.change, KernelChange::kSame);
    EXPECT_NEAR(sum_of_effects(rows), 0, 1e-9);
  }
}

const KernelKey kAllReduce{"", "record_param_comms", "allreduce of 8", "nccl"};

TEST(KernelDiff, ACollectiveWhoseWaitsAreNotKnownHasNoVerdict) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const std::vector baseline{communication(kAllReduce, 4, 40, unknown)};
  const auto change_to = [&](const KernelUse& test) {
    return kernel_differences(baseline, std::vector{test})[0].change;
  };
  EXPECT_EQ(change_to(communication(kAllReduce, 4, 60, unknown)), KernelChange::kNotJudged);
  EXPECT_EQ(change_to(communication(kAllReduce, 4, 60, 0)), KernelChange::kNotJudged);
  EXPECT_EQ(change_to(communication(kAllReduce, 4, 40.1, unknown)), KernelChange::kSame);
  EXPECT_EQ(change_to(communication(kAllReduce, 6, 60, unknown)), KernelChange::kMoreCalls);
  EXPECT_EQ(change_to(communication(kAllReduce, 3, 60, unknown)), KernelChange::kNotJudged);
}

TEST(KernelDiff, AWaitForOtherRanksIsNoVerdictOnTheCollective) {
  const std::vector baseline{communication(kAllReduce, 4, 40, 20)};
  const auto row_of = [&](const KernelUse& test) {
    return kernel_differences(baseline, std::vector{test})[0];
  };
  EXPECT_EQ(row_of(communication(kAllReduce, 4, 60, 40)).change, KernelChange::kLongerWait);
  EXPECT_EQ(row_of(communication(kAllReduce, 4, 60, 40)).wait_effect_us, 20);
  EXPECT_EQ(row_of(communication(kAllReduce, 4, 25, 5)).change, KernelChange::kShorterWait);
  EXPECT_EQ(row_of(communication(kAllReduce, 4, 60, 20)).change, KernelChange::kSlower);
  EXPECT_EQ(row_of(communication(kAllReduce, 4, 30, 22)).change, KernelChange::kFaster);
  EXPECT_EQ(row_of(communication(kAllReduce, 6, 60, 30)).change, KernelChange::kMoreCalls);
  EXPECT_EQ(row_of(communication(kAllReduce, 6, 60, 30)).wait_effect_us, 0);
  EXPECT_EQ(row_of(communication(kAllReduce, 4, 40, 20)).change, KernelChange::kSame);
}

TEST(KernelDiff, RunsWithoutALaunchRecordBringTheirWaits) {
  const KernelKey unlinked{"", "", "", "nccl"};
  const std::vector baseline{communication(kAllReduce, 4, 40)};
  const std::vector test{communication(kAllReduce, 2, 20), communication(unlinked, 2, 60, 40)};
  const auto rows = kernel_differences(baseline, test);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].change, KernelChange::kLongerWait);
  EXPECT_EQ(rows[0].wait_effect_us, 40);
}

}  // namespace
}  // namespace assay::trace
