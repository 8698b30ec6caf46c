#include "trace/collectives/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::trace::collectives {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<Span> kReference = {{0, 10}, {20, 30}, {40, 50}, {60, 70}};

TEST(AlignByEnds, EqualListsPairInOrder) {
  EXPECT_THAT(align_by_ends(kReference, kReference), ElementsAre(0, 1, 2, 3));
}

TEST(AlignByEnds, FirstMiddleOrLastIsMissing) {
  const std::vector<Span> without_first = {{21, 30}, {41, 50}, {61, 70}};
  const std::vector<Span> without_middle = {{1, 10}, {41, 50}, {61, 70}};
  const std::vector<Span> without_last = {{1, 10}, {21, 30}, {41, 50}};
  EXPECT_THAT(align_by_ends(without_first, kReference), ElementsAre(1, 2, 3));
  EXPECT_THAT(align_by_ends(without_middle, kReference), ElementsAre(0, 2, 3));
  EXPECT_THAT(align_by_ends(without_last, kReference), ElementsAre(0, 1, 2));
}

// The rank entered its second collective while the others still ran the missing one: it overlaps
// two, and the end decides.
TEST(AlignByEnds, LongWaiterBelongsToTheNearestEnd) {
  const std::vector<Span> early = {{2, 31}, {41, 50}, {61, 70}};
  EXPECT_THAT(align_by_ends(early, kReference), ElementsAre(1, 2, 3));
}

TEST(AlignByEnds, ExtraEventsStayAlone) {
  const std::vector<Span> extra = {{0, 10}, {12, 14}, {20, 30}, {40, 50}, {52, 53}, {60, 70}};
  EXPECT_THAT(align_by_ends(extra, kReference), ElementsAre(0, kAbsent, 1, 2, kAbsent, 3));
}

TEST(AlignByEnds, ExtraHereAndMissingThere) {
  const std::vector<Span> mixed = {{0, 10}, {12, 14}, {40, 50}, {60, 70}};
  EXPECT_THAT(align_by_ends(mixed, kReference), ElementsAre(0, kAbsent, 2, 3));
}

TEST(AlignByEnds, EqualDistancesKeepTheOrder) {
  const std::vector<Span> same = {{0, 10}, {0, 10}};
  EXPECT_THAT(align_by_ends(same, same), ElementsAre(0, 1));
}

TEST(AlignByEnds, NothingToPair) {
  EXPECT_THAT(align_by_ends({}, kReference), IsEmpty());
  EXPECT_THAT(align_by_ends(std::vector<Span>{{0, 1}}, {}), ElementsAre(kAbsent));
}

}  // namespace
}  // namespace assay::trace::collectives
