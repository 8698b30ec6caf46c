#include "sweep/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace assay::sweep {
namespace {

Plan plan(int repeats = 3) {
  return {.id = "1234",
          .command = {"train", "{dir}", "ü"},
          .config = "c.yaml",
          .settings = {{"a", {{"X", "1"}}}, {"b", {{"X", ""}}}, {"c", {{"X", "3"}}}},
          .repeats = repeats,
          .seed = 18'446'744'073'709'551'615U,
          .expected_library = "/lib/librccl.so"};
}

TEST(Plan, SurvivesItsFile) {
  const Plan read = parse_plan(plan_json(plan())).value();
  EXPECT_EQ(plan_difference(plan(), read), "");
  EXPECT_EQ(read.id, "1234");
  EXPECT_EQ(read.seed, plan().seed);
  EXPECT_EQ(read.settings[1].variables, (Variables{{"X", ""}}));
}

TEST(Plan, DamagedFilesAreErrors) {
  const std::string whole = plan_json(plan());
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7)
    EXPECT_FALSE(parse_plan(whole.substr(0, size)).ok()) << size;
  for (const char* wrong : {"null", "[]", "{}", "{\"format\": 1}"})
    EXPECT_FALSE(parse_plan(wrong).ok()) << wrong;
  std::string negative = whole;
  negative.replace(negative.find("\"repeats\": 3"), 12, "\"repeats\":-3");
  EXPECT_FALSE(parse_plan(negative).ok());
}

TEST(Plan, NamesOfSettingsLeadNowhereElse) {
  for (const char* name : {"..", "", "a/b", "../x", "/x", "a\nb"}) {
    Plan other = plan();
    other.settings[0].name = name;
    EXPECT_FALSE(parse_plan(plan_json(other)).ok()) << name;
  }
  for (const char* variable : {"", "X; touch y", "1X", "X Y", "X\n", "X=Y"}) {
    Plan other = plan();
    other.settings[0].variables = {{variable, "1"}};
    EXPECT_FALSE(parse_plan(plan_json(other)).ok()) << variable;
  }
}

TEST(Plan, SaysWhatDiffers) {
  Plan other = plan();
  other.command.emplace_back("--fast");
  EXPECT_NE(plan_difference(plan(), other).find("commands"), std::string::npos);
  other = plan();
  other.settings[0].variables[0].second = "2";
  EXPECT_NE(plan_difference(plan(), other).find("settings"), std::string::npos);
  EXPECT_NE(plan_difference(plan(), other).find("a (X=2)"), std::string::npos);
  other = plan();
  other.seed = 5;
  EXPECT_NE(plan_difference(plan(), other).find("the seeds"), std::string::npos);
  other = plan();
  other.expected_library = "";
  EXPECT_NE(plan_difference(plan(), other).find("libraries"), std::string::npos);
  EXPECT_EQ(plan_difference(plan(3), plan(4)), "");
  EXPECT_NE(plan_difference(plan(3), plan(2)), "");
  EXPECT_NE(plan_difference(plan(1), plan(2)), "") << "their folders differ";
}

TEST(RunOrder, HoldsEverySettingInEveryRound) {
  const std::vector<PlannedRun> order = run_order(plan());
  ASSERT_EQ(order.size(), 9U);
  for (std::size_t round = 0; round < 3; ++round) {
    std::set<std::size_t> settings;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(order[3 * round + i].repeat, static_cast<int>(round) + 1);
      settings.insert(order[3 * round + i].setting);
    }
    EXPECT_EQ(settings.size(), 3U);
  }
}

TEST(RunOrder, GoesOnWhenRepeatsAreAdded) {
  const std::vector<PlannedRun> few = run_order(plan(2));
  const std::vector<PlannedRun> more = run_order(plan(5));
  for (std::size_t i = 0; i < few.size(); ++i)
    EXPECT_EQ(few[i].setting, more[i].setting);
}

TEST(RunOrder, FavoursNoPosition) {
  std::map<std::size_t, int> first;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Plan seeded = plan(1);
    seeded.seed = seed;
    ++first[run_order(seeded).front().setting];
  }
  // The expected count is 1000 for each setting, with a standard deviation of 26.
  for (const auto& [setting, count] : first)
    EXPECT_NEAR(count, 1000, 130) << setting;
}

TEST(RunFolder, NamesTheRepeatOnlyWhereThereAreSeveral) {
  EXPECT_EQ(run_folder(plan(1), {2, 1}), "c");
  EXPECT_EQ(run_folder(plan(3), {2, 2}), "c/repeat2");
}

}  // namespace
}  // namespace assay::sweep
