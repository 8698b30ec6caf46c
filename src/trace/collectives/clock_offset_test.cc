#include "trace/collectives/clock_offset.h"

#include <gtest/gtest.h>

#include "trace/collectives/run_test_util.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {
namespace {

using testing::Call;
using testing::TestRun;

// Four ranks on two nodes. Each rank starts 3 us later than the one before; all end together.
TestRun two_nodes(double second_clock_ahead_us) {
  TestRun run(4, Compat::kNone, 2);
  for (int c = 0; c < 9; ++c) {
    run.add_to(
        {0, 1, 2, 3},
        {.start_us = 1000.0 * c, .duration_us = 100, .ranks = "[0, 1, 2, 3]", .group_size = 4}, 3);
  }
  run.shift_clock(2, second_clock_ahead_us);
  run.shift_clock(3, second_clock_ahead_us);
  return run;
}

TEST(ClockOffset, OfASecondNodeIsFoundAndRemoved) {
  TestRun run = two_nodes(123456.789);
  const Study study = study_collectives(extract(run.ranks()));
  ASSERT_EQ(study.node_offsets.size(), 2U);
  EXPECT_FALSE(study.node_offsets[0].applied);
  EXPECT_TRUE(study.node_offsets[1].applied);
  EXPECT_NEAR(study.node_offsets[1].clock.offset_us, 123456.789, 1e-9);
  EXPECT_EQ(study.node_offsets[1].samples, 9);
  ASSERT_EQ(study.synchronised.size(), 9U);
  for (const Synchronised& item : study.synchronised) {
    EXPECT_NEAR(item.start_skew_us, 9, 1e-9);
    EXPECT_NEAR(item.end_skew_us, 0, 1e-9);
    EXPECT_EQ(item.earliest_rank, 0);
  }
  EXPECT_NEAR(study.offsets[3].offset_us, 123456.789, 1e-3);
  EXPECT_NEAR(study.offsets[3].removed_us, 123456.789, 1e-9);
  EXPECT_NEAR(study.offsets[0].offset_us, 0, 1e-3);
  EXPECT_TRUE(study.warnings.empty());
}

// Each host lists four devices and uses two, so the ranks' device numbers repeat. Without the hosts
// the clock of the second would look like ranks that are late.
TEST(ClockOffset, HostsAreToldByTheDevicesInUse) {
  TestRun run(4, Compat::kNone, 4);
  for (int c = 0; c < 9; ++c)
    run.add_to(
        {0, 1, 2, 3},
        {.start_us = 1000.0 * c, .duration_us = 100, .ranks = "[0, 1, 2, 3]", .group_size = 4}, 3);
  for (int rank = 0; rank < 4; ++rank)
    run.use_device(rank, rank % 2);
  run.shift_clock(2, 5000);
  run.shift_clock(3, 5000);
  const Study study = study_collectives(extract(run.ranks()));
  ASSERT_EQ(study.node_offsets.size(), 2U);
  EXPECT_NEAR(study.node_offsets[1].clock.offset_us, 5000, 1e-9);
  EXPECT_EQ(study.synchronised.front().earliest_rank, 0);
  EXPECT_EQ(stragglers(study).front().rank->rank, 3);
  ASSERT_EQ(study.warnings.all().size(), 1U);
  EXPECT_EQ(study.warnings.all()[0].example, "ranks 0 and 2");
  EXPECT_TRUE(study_collectives(extract(run.ranks(), 4)).node_offsets.empty());
}

// Each of two hosts lists four devices and uses the first: by their devices both ranks are on one.
TEST(ClockOffset, RanksWhoseClocksAreApartAreOnSeveralHosts) {
  TestRun run(2, Compat::kNone, 4);
  for (int c = 0; c < 9; ++c)
    run.add_to({0, 1},
               {.start_us = 1000.0 * c, .duration_us = 200, .ranks = "[0, 1]", .group_size = 2},
               100);
  run.shift_clock(1, 5e6);
  const Study study = study_collectives(extract(run.ranks()));
  ASSERT_EQ(study.synchronised.size(), 9U);
  EXPECT_NEAR(study.synchronised.front().start_skew_us, 100, 1e-6);
  EXPECT_EQ(stragglers(study).front().rank->rank, 1);
  EXPECT_NEAR(stragglers(study).back().total_wait_us, 900, 1e-6);
  EXPECT_NEAR(study.offsets[1].removed_us - study.offsets[0].removed_us, 5e6, 1e-6);
  ASSERT_EQ(study.warnings.all().size(), 1U);
  EXPECT_EQ(study.warnings.all()[0].example, "rank 1 by 5e+06 us");
}

TEST(ClockOffset, OneCollectiveThatRanksLeaveApartIsNoProof) {
  TestRun run(2, Compat::kNone, 4);
  run.add_to({0, 1}, {.start_us = 0, .duration_us = 200, .ranks = "[0, 1]", .group_size = 2});
  run.shift_clock(1, 50);
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_EQ(study.offsets[1].removed_us, 0);
  EXPECT_TRUE(study.warnings.empty());
}

TEST(ClockOffset, DevicesOfOneHostMayStayIdle) {
  TestRun run(3, Compat::kNone, 8);
  run.add_to({0, 1, 2}, {.start_us = 0, .duration_us = 100, .ranks = "[0, 1, 2]", .group_size = 3});
  for (int rank = 0; rank < 3; ++rank)
    run.use_device(rank, rank + 3);
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_EQ(study.recording.ranks_per_node, 8);
  EXPECT_TRUE(study.warnings.empty());
}

TEST(ClockOffset, RanksThatSeeOneDeviceEachMayShareAHost) {
  TestRun run(2, Compat::kNone, 1);
  run.add_to({0, 1}, {.start_us = 0, .duration_us = 100, .ranks = "[0, 1]", .group_size = 2});
  for (int rank = 0; rank < 2; ++rank)
    run.use_device(rank, 0);
  const Study study = study_collectives(extract(run.ranks()));
  ASSERT_EQ(study.warnings.all().size(), 1U);
  EXPECT_EQ(study.warnings.all()[0].reason, "traces that list one GPU each");
  EXPECT_TRUE(study_collectives(extract(run.ranks(), 1)).warnings.empty());
  EXPECT_TRUE(study_collectives(extract(run.ranks(), 2)).warnings.empty());
}

// Matching by ends needs the offset, and the offset needs a matching. So the offset comes from the
// ranks that agree on the number of events.
TEST(ClockOffset, IsFoundWhenARankLacksAnEvent) {
  TestRun run(4, Compat::kNone, 2);
  for (int c = 0; c < 9; ++c) {
    const Call call{
        .start_us = 1000.0 * c, .duration_us = 100, .ranks = "[0, 1, 2, 3]", .group_size = 4};
    run.add_to(c == 4 ? std::vector{0, 1, 3} : std::vector{0, 1, 2, 3}, call);
  }
  run.shift_clock(2, -5e6);
  run.shift_clock(3, -5e6);
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_NEAR(study.node_offsets[1].clock.offset_us, -5e6, 1e-6);
  EXPECT_EQ(study.synchronised.size(), 8U);
  EXPECT_EQ(study.matching.unmatched.size(), 3U);
}

// One clock gains 40 us a second: 2 ms of steps with 100 ms between them.
TEST(ClockOffset, ADriftIsFoundAndRemoved) {
  TestRun run(4, Compat::kNone, 2);
  for (int c = 0; c < 20; ++c)
    run.add_to({0, 1, 2, 3},
               {.start_us = 1e5 * c, .duration_us = 100, .ranks = "[0, 1, 2, 3]", .group_size = 4},
               3);
  run.drift_clock(2, {.offset_us = 5000, .drift_ppm = 40});
  run.drift_clock(3, {.offset_us = 5000, .drift_ppm = 40});
  const Study study = study_collectives(extract(run.ranks()));
  ASSERT_EQ(study.synchronised.size(), 20U);
  for (const Synchronised& item : study.synchronised) {
    EXPECT_NEAR(item.start_skew_us, 9, 0.01);
    EXPECT_NEAR(item.end_skew_us, 0, 0.01);
  }
  EXPECT_EQ(study.offsets[1].drift_ppm, 0);
  EXPECT_NEAR(study.offsets[3].drift_ppm, 40, 0.01);
  EXPECT_NEAR(study.offsets[3].removed_us, 5038, 3);
  EXPECT_TRUE(study.warnings.empty());
}

// The ranks are on several hosts, although their devices do not tell, and the clocks are equal in
// the middle.
TEST(ClockOffset, RanksWhoseClocksDriftAreOnSeveralHosts) {
  TestRun run(2, Compat::kNone, 4);
  for (int c = 0; c < 21; ++c)
    run.add_to({0, 1},
               {.start_us = 1e5 * c, .duration_us = 200, .ranks = "[0, 1]", .group_size = 2}, 100);
  run.drift_clock(1, {.offset_us = -40, .drift_ppm = 40});
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_NEAR(study.offsets[1].drift_ppm, 40, 0.01);
  EXPECT_NEAR(study.synchronised.front().start_skew_us, 100, 0.01);
  EXPECT_NEAR(study.synchronised.back().start_skew_us, 100, 0.01);
  ASSERT_EQ(study.warnings.all().size(), 1U);
}

TEST(ClockOffset, ClocksThatRunUnevenlyAreTold) {
  TestRun run(2, Compat::kNone, 1);
  for (int c = 0; c < 20; ++c) {
    const double set_us = c < 9 ? 0 : 50;
    run.add(0, {.start_us = 1e5 * c, .duration_us = 200});
    run.add(1, {.start_us = 1e5 * c + 5000 + set_us, .duration_us = 200});
  }
  const Study study = study_collectives(extract(run.ranks(), 1));
  EXPECT_EQ(study.offsets[1].drift_ppm, 0);
  ASSERT_EQ(study.warnings.all().size(), 1U);
  EXPECT_EQ(study.warnings.all()[0].effect, "skews and waits tell little of the ranks");
}

// Noise between the ranks of one node is shown but not removed.
TEST(ClockOffset, InsideANodeIsOnlyShown) {
  TestRun run(2);
  for (int c = 0; c < 5; ++c)
    run.add_to({0, 1}, {.start_us = 1000.0 * c, .duration_us = 100});
  run.shift_clock(1, 4);
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_TRUE(study.node_offsets.empty());
  EXPECT_NEAR(study.offsets[1].offset_us - study.offsets[0].offset_us, 4, 1e-9);
  EXPECT_FALSE(study.offsets[1].applied);
  EXPECT_NEAR(study.synchronised.front().start_skew_us, 4, 1e-9);
}

// Nodes 0 and 2 never meet; node 1 meets both.
TEST(ClockOffset, IsCarriedFromNodeToNode) {
  TestRun run(3, Compat::kNone, 1);
  for (int c = 0; c < 3; ++c) {
    const double start_us = 1000.0 * c;
    run.add_to({0, 1}, {.start_us = start_us, .duration_us = 9, .group = "a", .ranks = "[0, 1]"});
    run.add_to({1, 2},
               {.start_us = start_us + 20, .duration_us = 9, .group = "b", .ranks = "[1, 2]"});
  }
  run.shift_clock(1, 300);
  run.shift_clock(2, 1000);
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_NEAR(study.node_offsets[1].clock.offset_us, 300, 1e-9);
  EXPECT_NEAR(study.node_offsets[2].clock.offset_us, 1000, 1e-9);
  for (const Synchronised& item : study.synchronised)
    EXPECT_NEAR(item.start_skew_us, 0, 1e-9);
}

TEST(ClockOffset, IsNotRemovedInCompatMode) {
  TestRun run(2, Compat::kTraceLens, 1);
  run.add_to({0, 1}, {.start_us = 0, .duration_us = 9});
  run.shift_clock(1, 300);
  const Study study = study_collectives(extract(run.ranks()));
  EXPECT_NEAR(study.synchronised.front().start_skew_us, 300, 1e-9);
}

}  // namespace
}  // namespace assay::trace::collectives
