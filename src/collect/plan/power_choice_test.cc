#include "collect/plan/power_choice.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::collect {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::string> chosen_of(std::vector<PlannedCase> cases, std::int64_t every) {
  choose_power(cases, every);
  std::vector<std::string> chosen;
  for (const PlannedCase& planned : cases) {
    if (planned.measure_power) chosen.push_back(planned.id);
  }
  return chosen;
}

PlannedCase product_case(std::int64_t m, std::int64_t n) {
  return {.operator_name = "gemm",
          .id = fmt::format("{:04} of {}", m, n),
          .json = fmt::format(R"({{"gemm_dtype":"fp8","m":{},"n":{},"k":64}})", m, n)};
}

TEST(PowerChoice, EveryFourthSizeOfAKeyAndTheLargest) {
  std::vector<PlannedCase> cases;
  for (const std::int64_t m : {64, 1, 2, 32, 4, 8, 16})
    cases.push_back(product_case(m, 128));
  cases.push_back(product_case(512, 256));
  EXPECT_THAT(chosen_of(cases, 4),
              UnorderedElementsAre("0001 of 128", "0016 of 128", "0064 of 128", "0512 of 256"));
  EXPECT_EQ(chosen_of(cases, 1).size(), cases.size());
}

TEST(PowerChoice, OfTwoSizesEveryFourthAlongEach) {
  std::vector<PlannedCase> cases;
  for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
    for (const std::int64_t step : {0, 1023, 4095, 8191, 32767}) {
      for (const std::int64_t heads : {8, 16}) {
        cases.push_back(
            {.operator_name = "generation_attention",
             .id = fmt::format("{} {} {}", heads, batch, step),
             .json = fmt::format(R"({{"batch_size":{},"isl":1,"num_heads":{},"step":{}}})", batch,
                                 heads, step)});
      }
    }
  }
  EXPECT_THAT(chosen_of(cases, 4),
              UnorderedElementsAre("8 1 0", "8 1 32767", "8 2 8191", "8 4 4095", "8 8 1023",
                                   "8 16 0", "8 16 32767", "16 1 0", "16 1 32767", "16 2 8191",
                                   "16 4 4095", "16 8 1023", "16 16 0", "16 16 32767"));
  EXPECT_EQ(chosen_of(cases, 1).size(), cases.size());
}

TEST(PowerChoice, CasesWithoutASizeAreAllMeasured) {
  const std::vector<PlannedCase> cases = {
      {.operator_name = "of a module", .id = "a", .json = "[1, 2]"},
      {.operator_name = "of a module", .id = "b", .json = "[1, 3]"}};
  EXPECT_THAT(chosen_of(cases, 4), ElementsAre("a", "b"));
}

TEST(PowerChoice, MeasuredCasesStayUntilTheyHaveThePowerThatTheyAreToHave) {
  std::vector<PlannedCase> all;
  for (const std::int64_t m : {1, 2, 4, 8, 16, 32})
    all.push_back(product_case(m, 128));
  PlanOptions options{.power_every = 4};
  for (const PlannedCase& planned : all)
    options.measured.ids.insert(planned.id);
  options.measured.with_power = {"0016 of 128"};
  std::vector<std::string> open;
  for (const PlannedCase& planned : select_cases(all, options))
    open.push_back(planned.id);
  EXPECT_THAT(open, UnorderedElementsAre("0001 of 128", "0032 of 128"));
  options.power_every = {};
  EXPECT_TRUE(select_cases(all, options).empty());
}

}  // namespace
}  // namespace assay::collect
