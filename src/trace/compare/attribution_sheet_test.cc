#include "trace/compare/attribution_sheet.h"

#include <gtest/gtest.h>

namespace assay::trace {
namespace {

Configuration measured(const std::string& label,
                       double clock_mhz,
                       double watts,
                       const std::string& held_down) {
  model::Facts facts = {{.item = "GPU SM clock under load (median)", .value = clock_mhz},
                        {.item = "GPU power under load (median)", .value = watts}};
  if (!held_down.empty()) facts.push_back({.item = "GPU clocks held down by", .value = held_down});
  return {.label = label, .ranks = {}, .collectives = {}, .environments = {{0, facts}}};
}

TEST(ClockChange, ThePowerLimitIsACauseWhereItHeldTheSlowerSideDown) {
  const Configuration fast = measured("fast", 1980, 520, "");
  const Configuration capped =
      measured("capped", 1800, 698, "software power cap: GPUs 0-7 in 6 of 8 looks");
  for (const Sides& sides : {Sides{fast, capped}, Sides{capped, fast}}) {
    const auto change = clock_change(sides);
    ASSERT_TRUE(change);
    EXPECT_TRUE(change->by_power);
  }
  EXPECT_DOUBLE_EQ(clock_change({fast, capped})->ratio, 1.1);
  EXPECT_EQ(conditions_in_words({fast, capped}),
            "GPUs under load: SM clock 1980 to 1800 MHz, power 520 to 698 W, capped held down by "
            "software power cap: GPUs 0-7 in 6 of 8 looks.");
}

// Heat, a locked clock or the faster side's power limit are no power limit of the slower side.
TEST(ClockChange, OtherReasonsAreTheClocks) {
  const Configuration fast =
      measured("fast", 1980, 700, "software power cap: GPU 1 in 1 of 8 looks");
  const Configuration hot = measured("hot", 1800, 600,
                                     "hardware thermal slowdown: GPU 2 in 2 of 2 looks; software "
                                     "power cap: GPU 2 in 1 of 2 looks");
  EXPECT_FALSE(clock_change({fast, hot})->by_power);
  EXPECT_FALSE(clock_change({fast, measured("locked", 1500, 400, "")})->by_power);
}

TEST(ClockChange, IsUnknownWhereARunRecordedNone) {
  const Configuration known = measured("known", 1980, 520, "");
  const Configuration unknown{.label = "unknown", .ranks = {}, .collectives = {}};
  EXPECT_FALSE(clock_change({known, unknown}));
  EXPECT_EQ(conditions_in_words({known, unknown}), "");
}

}  // namespace
}  // namespace assay::trace
