#include "plan/schedule/next_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/schedule/random.h"

namespace assay::plan {
namespace {

TEST(NextTimes, TheFirstOfEqualTimesIsTheEarliest) {
  NextTimes times(3);
  EXPECT_EQ(times.earliest(), 0U);
  EXPECT_EQ(times.earliest_ms(), NextTimes::kNever);
  times.set(2, 5);
  times.set(1, 5);
  EXPECT_EQ(times.earliest(), 1U);
  EXPECT_EQ(times.earliest_ms(), 5);
  times.set(1, 7);
  EXPECT_EQ(times.earliest(), 2U);
  EXPECT_EQ(times.earliest_ms_but(2), 7);
  EXPECT_EQ(times.earliest_ms_but(0), 5);
}

TEST(NextTimes, OneInstanceHasNoOthers) {
  NextTimes times(1);
  times.set(0, 3);
  EXPECT_EQ(times.earliest(), 0U);
  EXPECT_EQ(times.earliest_ms(), 3);
  EXPECT_EQ(times.earliest_ms_but(0), NextTimes::kNever);
}

TEST(NextTimes, TellsWhatAskingAllTells) {
  constexpr std::size_t kCount = 37;
  std::vector<double> all(kCount, NextTimes::kNever);
  NextTimes times(kCount);
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto place = static_cast<std::size_t>(random.uniform() * kCount);
    all[place] = std::floor(20 * random.uniform());
    times.set(place, all[place]);
    const auto first = std::min_element(all.begin(), all.end());
    ASSERT_EQ(times.earliest(), static_cast<std::size_t>(first - all.begin()));
    ASSERT_EQ(times.earliest_ms(), *first);
    std::vector<double> others = all;
    others[place] = NextTimes::kNever;
    ASSERT_EQ(times.earliest_ms_but(place), *std::min_element(others.begin(), others.end()));
  }
}

}  // namespace
}  // namespace assay::plan
