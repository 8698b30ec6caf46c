#include "trace/interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Intervals, MergeSortsJoinsTouchingOnesAndDropsEmptyOnes) {
  EXPECT_THAT(merged({{8, 9}, {1, 3}, {3, 5}, {2, 4}, {7, 7}, {6, 2}}),
              ElementsAre(Interval{1, 5}, Interval{8, 9}));
  EXPECT_THAT(merged({}), IsEmpty());
}

TEST(Intervals, DifferenceCutsEveryPiece) {
  const std::vector<Interval> from{{0, 10}, {20, 30}, {40, 50}};
  const std::vector<Interval> removed{{2, 4}, {6, 22}, {25, 26}, {40, 50}};
  EXPECT_THAT(difference(from, removed),
              ElementsAre(Interval{0, 2}, Interval{4, 6}, Interval{22, 25}, Interval{26, 30}));
  EXPECT_THAT(difference(std::span(from).subspan(1), removed),
              ElementsAre(Interval{22, 25}, Interval{26, 30}));
  EXPECT_EQ(total_length(difference(from, {})), 30);
  EXPECT_THAT(difference({}, removed), IsEmpty());
}

TEST(Intervals, IntersectionIsWhatBothCover) {
  const std::vector<Interval> a{{0, 10}, {20, 30}};
  const std::vector<Interval> b{{5, 25}, {29, 40}};
  EXPECT_THAT(intersection(a, b), ElementsAre(Interval{5, 10}, Interval{20, 25}, Interval{29, 30}));
  EXPECT_EQ(total_length(intersection(a, b)) + total_length(difference(a, b)), total_length(a));
}

TEST(Intervals, CoveredLengthCountsOverlapsOnce) {
  EXPECT_EQ(covered_length({{0, 10}, {5, 12}, {100, 101}}), 13);
}

}  // namespace
}  // namespace assay::trace
