#include "trace/collectives/clock_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::trace::collectives {
namespace {

constexpr double kSecondUs = 1e6;

// Pairs of a clock that is 100 us ahead in the middle of `seconds` and drifts, with ends that are
// spread evenly.
std::vector<ClockPair> pairs_of(double drift_ppm, int count, double seconds, double noise_us) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> noise(-noise_us, noise_us);
  std::vector<ClockPair> pairs;
  for (int i = 0; i < count; ++i) {
    const double time_us = seconds * kSecondUs * i / (count - 1);
    const double middle_us = seconds * kSecondUs / 2;
    pairs.push_back({time_us, 100 + drift_ppm * (time_us - middle_us) / 1e6 + noise(random)});
  }
  return pairs;
}

TEST(ClockFit, FindsADriftAmongNoiseAndOutliers) {
  for (const double drift_ppm : {-500.0, -5.0, 5.0, 40.0, 500.0}) {
    std::vector<ClockPair> pairs = pairs_of(drift_ppm, 200, 20, 0.5);
    for (std::size_t i = 0; i < pairs.size(); i += 10)
      pairs[i].ahead_us += 300;
    const ClockFit fit = fit_clock(pairs);
    EXPECT_NEAR(fit.drift_ppm, drift_ppm, 0.02);
    EXPECT_NEAR(fit.ahead_us(10 * kSecondUs + 100), 100, 0.5);
    EXPECT_NEAR(deviation_us(pairs, fit), 0.25, 0.1);
  }
}

TEST(ClockFit, HasTheMedianWhereNoDriftIsCertain) {
  EXPECT_EQ(fit_clock(pairs_of(0, 200, 20, 0.5)).drift_ppm, 0);
  EXPECT_EQ(fit_clock(pairs_of(0.02, 200, 20, 0.5)).drift_ppm, 0);  // less than the noise
  EXPECT_EQ(fit_clock(pairs_of(40, 15, 2, 0)).drift_ppm, 0);        // too few pairs
  EXPECT_EQ(fit_clock(pairs_of(40, 200, 0.01, 0)).drift_ppm, 0);    // too short a time
  EXPECT_EQ(fit_clock(pairs_of(5000, 200, 2, 0)).drift_ppm, 0);     // no clock drifts so
  EXPECT_EQ(fit_clock({{10, 3}, {20, 5}, {30, 4}}).offset_us, 4);
}

TEST(ClockFit, TakesNoClockThatWasSetForOneThatDrifts) {
  std::vector<ClockPair> pairs = pairs_of(0, 200, 20, 0.5);
  for (std::size_t i = pairs.size() / 2; i < pairs.size(); ++i)
    pairs[i].ahead_us += 50;
  EXPECT_EQ(fit_clock(pairs).drift_ppm, 0);
}

// The slope of a short time would be carried to a collective long before.
TEST(ClockFit, NeedsPairsOverTheTimeOfTheDrift) {
  std::vector<ClockPair> pairs = pairs_of(0, 200, 0.001, 0.5);
  pairs.insert(pairs.begin(), {-10 * kSecondUs, 100});
  EXPECT_EQ(fit_clock(pairs).drift_ppm, 0);
}

TEST(ClockFit, RarelyFindsADriftInNoise) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 3);
  int found = 0;
  for (int trial = 0; trial < 10'000; ++trial) {
    std::vector<ClockPair> pairs;
    for (int i = 0; i < 16; ++i)
      pairs.push_back({i * 1e5, noise(random)});
    if (fit_clock(pairs).drift_ppm != 0) ++found;
  }
  EXPECT_LT(found, 10'000 / 1000);
}

TEST(ClockFit, JoinsClocks) {
  const ClockFit inner{.offset_us = 300, .at_us = 1000, .drift_ppm = 40};
  const ClockFit outer{.offset_us = -7e6, .at_us = 5e6, .drift_ppm = -200};
  const ClockFit both = joined(inner, outer);
  for (const double reading_us : {-3e6, 0.0, 9e6}) {
    const double middle_us = reading_us - outer.ahead_us(reading_us);
    EXPECT_NEAR(reading_us - both.ahead_us(reading_us), middle_us - inner.ahead_us(middle_us),
                1e-6);
  }
}

}  // namespace
}  // namespace assay::trace::collectives
