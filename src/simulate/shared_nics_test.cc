#include "simulate/shared_nics.h"

#include <gtest/gtest.h>

#include <map>

namespace assay::simulate {
namespace {

using Uses = SharedNics::Uses;

constexpr double kTurnNs = 10;
constexpr Uses kWhole = {{{1, kTurnNs}, {}}};
constexpr Uses kHalf = {{{0.5, kTurnNs}, {}}};
constexpr Uses kOther = {{{}, {1, kTurnNs}}};

// Groups, each with when it begins and the parts that it has then.
struct Begun {
  std::int64_t time_ns = 0;
  std::vector<SharedNics::Part> parts;
};

// Returns when the last part of each group ends.
std::map<std::uint32_t, std::int64_t> ends_of(const std::vector<Begun>& groups) {
  SharedNics nics(8);
  std::multimap<std::int64_t, std::uint32_t> planned;
  std::map<std::uint32_t, std::int64_t> ends;
  const auto follow = [&] {
    for (const SharedNics::NextEnd& end : nics.take_changes())
      planned.emplace(end.time_ns, end.group);
  };
  const auto run_until = [&](std::int64_t until_ns) {
    while (!planned.empty() && planned.begin()->first <= until_ns) {
      const auto [time_ns, group] = *planned.begin();
      planned.erase(planned.begin());
      if (!nics.is_current({group, time_ns})) continue;
      EXPECT_FALSE(nics.end_next(group, time_ns).empty());
      ends[group] = time_ns;
      follow();
    }
  };
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    run_until(groups[group].time_ns);
    nics.begin(group, groups[group].time_ns, groups[group].parts);
    follow();
  }
  run_until(1'000'000);
  return ends;
}

Begun on_rank(std::uint32_t rank, std::int64_t begin_ns, std::int64_t end_ns, const Uses& uses) {
  return {begin_ns, {{.rank = rank, .launch = 0, .end_ns = end_ns, .uses = uses}}};
}

TEST(SharedNics, TwoThatWantAllOfItTakeTurns) {
  const auto ends = ends_of({on_rank(0, 0, 100, kWhole), on_rank(0, 50, 150, kWhole)});
  EXPECT_EQ(ends.at(0), 150) << "half as fast from 50 on";
  EXPECT_EQ(ends.at(1), 200);
}

TEST(SharedNics, WhatFitsBesideEachOtherIsNotDelayed) {
  const auto ends =
      ends_of({on_rank(0, 0, 100, kHalf), on_rank(0, 0, 100, kHalf), on_rank(0, 0, 100, kOther)});
  for (const std::uint32_t group : {0U, 1U, 2U})
    EXPECT_EQ(ends.at(group), 100) << group;
}

TEST(SharedNics, WhatHasEndedDelaysNothing) {
  const auto ends = ends_of({on_rank(0, 0, 100, kWhole), on_rank(0, 100, 200, kWhole)});
  EXPECT_EQ(ends.at(0), 100);
  EXPECT_EQ(ends.at(1), 200);
}

TEST(SharedNics, AGroupIsAsSlowAsItsSlowestRank) {
  Begun wide{40, {}};
  for (const std::uint32_t rank : {0U, 1U, 2U})
    wide.parts.push_back({.rank = rank, .launch = 0, .end_ns = 140, .uses = kWhole});
  const auto ends = ends_of({on_rank(0, 0, 100, kWhole), wide});
  EXPECT_EQ(ends.at(0), 160) << "60 left, half as fast";
  EXPECT_EQ(ends.at(1), 200) << "60 of 100 done at 160, though two of its ranks are alone";
}

TEST(SharedNics, AGroupFollowsItsNextRankWhenTheSlowestIsFree) {
  Begun wide{0, {}};
  for (const std::uint32_t rank : {0U, 1U})
    wide.parts.push_back({.rank = rank, .launch = 0, .end_ns = 100, .uses = kWhole});
  const auto ends = ends_of(
      {on_rank(0, 0, 20, kWhole), on_rank(0, 0, 20, kWhole), on_rank(1, 0, 100, kWhole), wide});
  EXPECT_EQ(ends.at(0), 60) << "a third as fast";
  EXPECT_EQ(ends.at(2), 200) << "half as fast";
  EXPECT_EQ(ends.at(3), 210) << "20 of 100 done at 60, 90 at 200, and then alone";
}

TEST(SharedNics, ThreeThatWantAllOfItHaveAThirdEach) {
  const auto ends =
      ends_of({on_rank(0, 0, 90, kWhole), on_rank(0, 0, 90, kWhole), on_rank(0, 0, 90, kWhole)});
  for (const std::uint32_t group : {0U, 1U, 2U})
    EXPECT_EQ(ends.at(group), 270) << group;
}

// Each message waits as long, by w. Of shares of 1 with turns of 90 and 10 ns that is 30:
// 90 / (90 + 30) + 10 / (10 + 30) = 1.
TEST(SharedNics, LongTurnsLoseLess) {
  const Uses long_turns = {{{1, 90}, {}}};
  const auto ends = ends_of({on_rank(0, 0, 75, long_turns), on_rank(0, 0, 75, kWhole)});
  EXPECT_EQ(ends.at(0), 100) << "3/4 as fast";
  EXPECT_EQ(ends.at(1), 150) << "1/4 as fast until 100, then alone";
}

TEST(SharedNics, PartsOfAGroupEndOneAfterAnother) {
  Begun group{0, {}};
  group.parts.push_back({.rank = 0, .launch = 0, .end_ns = 50, .uses = kWhole});
  group.parts.push_back({.rank = 1, .launch = 0, .end_ns = 100, .uses = kWhole});
  const auto ends = ends_of({group, on_rank(0, 0, 100, kWhole)});
  EXPECT_EQ(ends.at(0), 150) << "half as fast until its part on the shared rank has ended, at 100";
  EXPECT_EQ(ends.at(1), 150);
}

// The uses of a group on a rank are those of all its launches there.
TEST(SharedNics, TwoLaunchesOfAGroupOnARankCountOnce) {
  Begun twice{0, {}};
  for (const std::uint32_t launch : {0U, 1U})
    twice.parts.push_back({.rank = 0, .launch = launch, .end_ns = 100, .uses = kWhole});
  EXPECT_EQ(ends_of({twice}).at(0), 100);
  const auto ends = ends_of({twice, on_rank(0, 0, 100, kWhole)});
  EXPECT_EQ(ends.at(0), 200);
  EXPECT_EQ(ends.at(1), 200);
}

}  // namespace
}  // namespace assay::simulate
