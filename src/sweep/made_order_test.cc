#include "sweep/made_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::sweep {
namespace {

TEST(MadeOrder, ARunThatIsMadeAgainComesLast) {
  // b failed at first, at its place in the plan, and was made again.
  std::vector<RunRecord> records = {
      {.setting = "b", .repeat = 1, .position = 1, .started = "2026-11-30T15:00:09.500000+0100"},
      {.setting = "a", .repeat = 1, .position = 2, .started = "2026-11-30T15:00:09.250000+0100"},
      {.setting = "a", .repeat = 2, .position = 3, .started = "2026-11-30T14:00:09.375000+0000"}};
  const MadeOrder order = made_order(records);
  EXPECT_EQ(order.at("a").at(1), 1);
  EXPECT_EQ(order.at("a").at(2), 2);
  EXPECT_EQ(order.at("b").at(1), 3);
}

TEST(MadeOrder, ThePlanOrdersRunsOfOneSecondOfOlderRecords) {
  std::vector<RunRecord> records = {
      {.setting = "a", .repeat = 1, .started = "2026-11-30T15:00:10+0000"},
      {.setting = "b", .repeat = 1, .started = "2026-11-30T15:00:09+0000"}};
  EXPECT_EQ(made_order(records).at("a").at(1), 2);
  records[1].started = records[0].started;
  EXPECT_TRUE(made_order(records).empty());  // their places are unknown, too
  records[0].position = 4;
  records[1].position = 3;
  EXPECT_EQ(made_order(records).at("b").at(1), 1);
  records[1].started = "";
  EXPECT_TRUE(made_order(records).empty());
}

}  // namespace
}  // namespace assay::sweep
