#include "trace/collectives/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/collectives/run_test_util.h"

namespace assay::trace::collectives {
namespace {

using ::testing::AllOf;
using testing::Call;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TestRun;

constexpr int kCalls = 5;

Call call(int index) {
  return {.start_us = 100.0 * index, .duration_us = 50};
}

// Three ranks with five equal all-reduces, one of which is missing on one rank.
TestRun run_without(int missing_rank, int missing_call) {
  TestRun run(3);
  for (int c = 0; c < kCalls; ++c) {
    for (int r = 0; r < 3; ++r) {
      if (r == missing_rank && c == missing_call) continue;
      Call made = call(c);
      made.start_us += r;
      made.duration_us -= r;
      run.add(r, made);
    }
  }
  return run;
}

// Returns the start of every matched collective on every rank, in microseconds.
std::vector<std::vector<int>> starts(const Recording& recording, const Matching& matching) {
  std::vector<std::vector<int>> result;
  for (const Collective& collective : matching.collectives) {
    result.emplace_back();
    for (const Member& member : matching.members_of(collective))
      result.back().push_back(static_cast<int>(event_of(recording, member).start_ns / 1000));
  }
  return result;
}

// Two groups all-reduce at the same time, without metadata. Their kernels begin in another order on
// each rank, and their streams have other numbers.
TEST(Match, UnrecordedGroupsAreToldByTheirStreams) {
  TestRun run(2);
  const auto reduce = [](double start_us, int stream) {
    return Call{.start_us = start_us,
                .duration_us = 90,
                .collective = "",
                .kernel = "cross_device_reduce_1stage",
                .stream = stream};
  };
  run.add(0, reduce(0, 20)).add(0, reduce(100, 20)).add(0, reduce(110, 24));
  run.add(1, reduce(0, 13)).add(1, reduce(105, 17)).add(1, reduce(115, 13));
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(starts(recording, matching),
              ElementsAre(ElementsAre(0, 0), ElementsAre(100, 115), ElementsAre(110, 105)));
}

Call unrecorded(double start_us, double duration_us) {
  return {.start_us = start_us,
          .duration_us = duration_us,
          .collective = "",
          .kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)"};
}

TEST(Match, KernelsOfNcclWithoutMetadataAreMatchedByName) {
  TestRun run(3);
  for (const double start_us : {0.0, 1000.0})
    run.add_to({0, 1, 2}, unrecorded(start_us, 500), 100);
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(starts(recording, matching),
              ElementsAre(ElementsAre(0, 100, 200), ElementsAre(1000, 1100, 1200)));
  const Metadata& metadata = recording.catalog[matching.collectives.front().metadata];
  EXPECT_EQ(recording.catalog.text(metadata.name), "allreduce");
  EXPECT_EQ(recording.catalog.text(metadata.dtype), "BFloat16");
}

TEST(Match, KernelsWithoutMetadataAreNotMatchedWhereTheirNumbersDiffer) {
  TestRun run(2);
  run.add_to({0, 1}, unrecorded(0, 500)).add(1, unrecorded(1000, 500));
  const Matching matching = match(extract(run.ranks()));
  EXPECT_THAT(matching.collectives, IsEmpty());
  EXPECT_THAT(matching.unmatched, SizeIs(3));
}

// The ranks belong to two groups, whose kernels overlap by chance.
TEST(Match, KernelsWithoutMetadataAreNotMatchedWhereRanksDoNotLeaveThemTogether) {
  TestRun run(4);
  for (const double start_us : {0.0, 1000.0, 2000.0})
    run.add_to({0, 1}, unrecorded(start_us, 300)).add_to({2, 3}, unrecorded(start_us + 250, 300));
  const Matching matching = match(extract(run.ranks()));
  EXPECT_THAT(matching.collectives, IsEmpty());
  EXPECT_THAT(matching.unmatched, SizeIs(12));
}

// Ranks of two groups had been taken for one whose clocks are apart.
TEST(Match, KernelsWithoutMetadataTellNothingOfClocks) {
  TestRun run(2);
  run.add_to({0, 1}, unrecorded(0, 500));
  EXPECT_THAT(match_by_order(extract(run.ranks())).collectives, IsEmpty());
}

TEST(Match, BroadcastsAndBarriersMayJoin) {
  TestRun run(2);
  run.add_to({0, 1}, {.start_us = 0, .duration_us = 5, .collective = "broadcast"});
  run.add_to({0, 1}, {.start_us = 10, .duration_us = 5, .collective = "barrier"});
  run.add_to({0, 1}, {.start_us = 20, .duration_us = 5, .collective = "recv"});
  EXPECT_THAT(match(extract(run.ranks()), Kinds::kThatMayJoin).collectives, SizeIs(2));
}

TEST(Match, PairsEverythingWhenRanksAgree) {
  TestRun run = run_without(-1, -1);
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(
      starts(recording, matching),
      ElementsAre(ElementsAre(0, 1, 2), ElementsAre(100, 101, 102), ElementsAre(200, 201, 202),
                  ElementsAre(300, 301, 302), ElementsAre(400, 401, 402)));
  EXPECT_THAT(matching.unmatched, IsEmpty());
  EXPECT_EQ(matching.collectives[3].number, 3U);
}

class MatchWithGap : public ::testing::TestWithParam<int> {};

TEST_P(MatchWithGap, OneMissingEventCostsOneCollective) {
  for (int rank = 0; rank < 3; ++rank) {
    TestRun run = run_without(rank, GetParam());
    const Recording recording = extract(run.ranks());
    const Matching matching = match(recording);
    ASSERT_THAT(matching.collectives, SizeIs(kCalls - 1));
    for (const auto& members : starts(recording, matching)) {
      EXPECT_NE(members.front() / 100, GetParam());
      EXPECT_EQ(members.front() / 100, members.back() / 100);
    }
    ASSERT_THAT(matching.unmatched, SizeIs(2));
    for (const Unmatched& unmatched : matching.unmatched)
      EXPECT_THAT(unmatched.absent, ElementsAre(rank));
  }
}

INSTANTIATE_TEST_SUITE_P(FirstMiddleLast, MatchWithGap, ::testing::Values(0, 2, 4));

TEST(Match, AnExtraEventStandsAlone) {
  TestRun run = run_without(-1, -1);
  run.add(1, {.start_us = 160, .duration_us = 10});
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(matching.collectives, SizeIs(kCalls));
  ASSERT_THAT(matching.unmatched, SizeIs(1));
  EXPECT_EQ(matching.unmatched.front().member.rank, 1U);
  EXPECT_THAT(matching.unmatched.front().absent, ElementsAre(0, 2));
}

// One rank lacks the first call and another the last, so the counts are equal but the order is
// wrong.
TEST(Match, EqualCountsDoNotHideTwoGaps) {
  TestRun run(2);
  for (int c = 0; c < kCalls; ++c) {
    if (c != 0) run.add(0, call(c));
    if (c != kCalls - 1) run.add(1, call(c));
  }
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(starts(recording, matching),
              ElementsAre(ElementsAre(100, 100), ElementsAre(200, 200), ElementsAre(300, 300)));
  EXPECT_THAT(matching.unmatched, SizeIs(2));
}

TEST(Match, OtherMetadataAtOnePlaceIsNoPartner) {
  TestRun run(2);
  for (int c = 0; c < 3; ++c) {
    Call second = call(c);
    if (c == 1) second.dtype = "Half";
    run.add(0, call(c)).add(1, second);
  }
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(starts(recording, matching), ElementsAre(ElementsAre(0, 0), ElementsAre(200, 200)));
  EXPECT_THAT(matching.unmatched, SizeIs(2));
}

// Two kinds that start at the same time may come in any order on each rank.
TEST(Match, TiesBetweenKindsDoNotMatter) {
  TestRun run(2);
  const Call reduce{.start_us = 10, .duration_us = 5};
  const Call gather{.start_us = 10, .duration_us = 5, .collective = "_allgather_base"};
  run.add(0, reduce).add(0, gather).add(1, gather).add(1, reduce);
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(matching.collectives, SizeIs(2));
  EXPECT_THAT(matching.unmatched, IsEmpty());
  for (const Collective& collective : matching.collectives) {
    const auto members = matching.members_of(collective);
    EXPECT_EQ(event_of(recording, members[0]).metadata, event_of(recording, members[1]).metadata);
  }
}

TEST(Match, SubgroupsOnlyExpectTheirOwnRanks) {
  TestRun run(4);
  const Call low{.start_us = 10, .duration_us = 5, .group = "1", .ranks = "[0, 1]"};
  const Call high{.start_us = 12, .duration_us = 5, .group = "1", .ranks = "[2, 3]"};
  run.add_to({0, 1}, low).add_to({2, 3}, high);
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(matching.collectives, ElementsAre(AllOf(::testing::Field(&Collective::size, 2U),
                                                      ::testing::Field(&Collective::number, 0U)),
                                                AllOf(::testing::Field(&Collective::size, 2U),
                                                      ::testing::Field(&Collective::number, 0U))));
  EXPECT_THAT(matching.unmatched, IsEmpty());
}

TEST(Match, SendsAndBroadcastsAreNotCompared) {
  TestRun run(2);
  run.add(0, {.start_us = 0, .duration_us = 5, .collective = "send"});
  run.add_to({0, 1}, {.start_us = 10, .duration_us = 5, .collective = "broadcast"});
  const Recording recording = extract(run.ranks());
  const Matching matching = match(recording);
  EXPECT_THAT(matching.collectives, IsEmpty());
  EXPECT_THAT(matching.unmatched, IsEmpty());
}

TEST(Match, OneRankAloneAndNoRankAtAll) {
  TestRun run(1);
  run.add(0, call(0)).add(0, call(1));
  const Recording one = extract(run.ranks());
  EXPECT_THAT(match(one).collectives, SizeIs(2));
  const Recording none = extract({});
  EXPECT_THAT(match(none).collectives, IsEmpty());
  TestRun silent(2);
  const Recording empty = extract(silent.ranks());
  EXPECT_THAT(match(empty).collectives, IsEmpty());
}

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

// The rank entered its second collective while the others still ran the missing one. Its event
// overlaps two others, and the nearest end decides.
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
