#include "sweep/made_order.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace assay::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(MadeOrder, ALongPauseBeginsASession) {
  std::vector<RunRecord> records;
  for (const int minute : {0, 2, 4, 6, 30, 32})
    records.push_back({.setting = "a",
                       .repeat = static_cast<int>(records.size()) + 1,
                       .position = static_cast<int>(records.size()) + 1,
                       .started = fmt::format("2026-11-30T15:{:02}:00+0000", minute),
                       .duration_s = 90});
  using Sessions = std::map<int, int>;
  EXPECT_EQ(sessions(records).at("a"), (Sessions{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 2}, {6, 2}}));
  for (RunRecord& record : records)
    record.duration_s = 0;
  EXPECT_TRUE(sessions(records).empty());
}

TEST(MadeOrder, ASettingWhoseRunsAllCameLaterIsTold) {
  std::vector<RunRecord> records;
  for (const int repeat : {1, 2}) {
    records.push_back({.setting = "a",
                       .repeat = repeat,
                       .started = fmt::format("2026-11-30T15:00:1{}+0000", repeat)});
    records.push_back({.setting = "b",
                       .repeat = repeat,
                       .started = fmt::format("2026-11-30T15:00:2{}+0000", repeat)});
  }
  EXPECT_THAT(settings_apart(records, "a"),
              ElementsAre("All good runs of b were made after those of a: what changed on the "
                          "machine in between looks like an effect of the setting"));
  EXPECT_THAT(settings_apart(records, "b"), ElementsAre(HasSubstr("of a were made before those")));
  records[1].started = "2026-11-30T15:00:11.5+0000";
  EXPECT_THAT(settings_apart(records, "a"), IsEmpty());
}

}  // namespace
}  // namespace assay::sweep
