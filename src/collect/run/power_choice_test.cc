#include "collect/run/power_choice.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::collect {
namespace {

using testing::ElementsAre;

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
  EXPECT_THAT(cases_with_power(cases, 4),
              ElementsAre("0001 of 128", "0016 of 128", "0064 of 128", "0512 of 256"));
  EXPECT_EQ(cases_with_power(cases, 1).size(), cases.size());
}

TEST(PowerChoice, CasesWithoutASizeAreAllMeasured) {
  const std::vector<PlannedCase> cases = {
      {.operator_name = "of a module", .id = "a", .json = "[1, 2]"},
      {.operator_name = "of a module", .id = "b", .json = "[1, 3]"}};
  EXPECT_THAT(cases_with_power(cases, 4), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace assay::collect
