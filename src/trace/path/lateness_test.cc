#include "trace/path/lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::trace::path {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lateness(const std::vector<WaitForLast>& waits) {
  std::vector<std::string> texts;
  for (const Interval& interval : lateness_of(waits))
    texts.push_back(std::to_string(interval.start) + "-" + std::to_string(interval.end));
  return texts;
}

TEST(Lateness, WaitsForRanksThatLeftTogetherAllCount) {
  EXPECT_THAT(lateness({{100, 180, 0}, {300, 350, 0}}), ElementsAre("100-180", "300-350"));
}

// A rank comes 80 late to a sum of one group, which takes 60, and another 80 to that of the other,
// whose ranks were in time in theirs.
TEST(Lateness, WhatOneGroupWaitedForIsNotCountedAgainInAnother) {
  EXPECT_THAT(lateness({{100, 180, 0}, {180, 340, 80}}), ElementsAre("100-180", "260-340"));
}

// Twice in its own group, and the other group waits for both at once.
TEST(Lateness, LatenessAddsUpUntilRanksMeetAgain) {
  EXPECT_THAT(lateness({{100, 180, 0, 0}, {280, 360, 0, 240}, {500, 660, 160, 0}}),
              ElementsAre("100-180", "280-360"));
  EXPECT_THAT(lateness({{100, 180, 0, 0}, {280, 360, 0, 240}, {500, 660, 160, 240}}),
              ElementsAre("100-180", "280-360", "580-660"));
}

TEST(Lateness, ARankThatIsLateOnceIsLateOnce) {
  EXPECT_THAT(lateness({{100, 180, 0}, {170, 250, 80}, {240, 320, 80}}), ElementsAre("100-180"));
}

// The middle rank was in no collective meanwhile.
TEST(Lateness, NoMoreIsInheritedThanRanksWaitedFor) {
  EXPECT_THAT(lateness({{100, 180, 0}, {160, 320, 240}}), ElementsAre("100-180", "240-320"));
  EXPECT_THAT(lateness({{160, 320, 240}}), ElementsAre("160-320"));
}

TEST(Lateness, TheRestOfAWaitGoesOnBeforeTheLatenessOfOthers) {
  EXPECT_THAT(lateness({{190, 200, 0}, {60, 220, 200}}),
              ElementsAre("60-190", "190-200", "200-220"));
}

}  // namespace
}  // namespace assay::trace::path
