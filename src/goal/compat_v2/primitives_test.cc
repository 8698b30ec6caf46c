#include "goal/compat_v2/primitives.h"

#include <gtest/gtest.h>

namespace assay::goal::compat_v2 {
namespace {

const CostCurve kCurve({{16, 100, {90, 110}}, {32, 201, {201}}, {64, 300, {300}}});

std::uint64_t mean(std::uint64_t bytes) {
  return duration_ns(kCurve, {}, bytes, 0);
}

TEST(CompatDurations, AreFlatOutsideAndStraightInside) {
  EXPECT_EQ(mean(0), 100U);
  EXPECT_EQ(mean(16), 100U);
  EXPECT_EQ(mean(24), 150U);  // 150.5, cut
  EXPECT_EQ(mean(32), 201U);
  EXPECT_EQ(mean(64), 300U);
  EXPECT_EQ(mean(1 << 30), 300U);
}

TEST(CompatDurations, AreDrawnFromTheMeasurementsBySeed) {
  CostChoice choice{.kind = CostChoice::Kind::kSample, .seed = 7};
  bool low = false;
  bool high = false;
  for (std::uint64_t draw = 0; draw < 64; ++draw) {
    const std::uint64_t drawn = duration_ns(kCurve, choice, 16, draw);
    EXPECT_TRUE(drawn == 90 || drawn == 110);
    EXPECT_EQ(drawn, duration_ns(kCurve, choice, 16, draw));
    (drawn == 90 ? low : high) = true;
  }
  EXPECT_TRUE(low && high);
}

TEST(CompatDurations, HaveNoiseOfOnePercentBetweenTheSizes) {
  CostChoice choice{.kind = CostChoice::Kind::kSample, .seed = 7};
  double sum = 0;
  for (std::uint64_t draw = 0; draw < 1000; ++draw) {
    const auto drawn = static_cast<double>(duration_ns(kCurve, choice, 48, draw));
    EXPECT_NEAR(drawn, 250, 15);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 1000, 250, 1);
}

TEST(CompatDurations, AreThoseOfLlForLl128AndRemembered) {
  Costs costs;
  costs.curves[0][1] = costs.curves[1][1] = kCurve;
  Durations durations(costs);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(durations.reduce_ns(model::NcclProtocol::kLl, 24), 150U);
    EXPECT_EQ(durations.reduce_ns(model::NcclProtocol::kLl128, 64), 300U);
    EXPECT_EQ(durations.reduce_ns(model::NcclProtocol::kSimple, 64), 0U);
    EXPECT_EQ(durations.reduce_ns(model::NcclProtocol::kLl, 24 + 16 * 16), 300U);
  }
}

}  // namespace
}  // namespace assay::goal::compat_v2
