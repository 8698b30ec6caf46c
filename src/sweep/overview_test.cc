#include "sweep/overview.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::sweep {
namespace {

TEST(Overview, BaselineFirstThenTheFastest) {
  const SettingResult results[] = {{.setting = "default", .step_ms = 10, .verdict = "baseline"},
                                   {.setting = "slow", .step_ms = 12, .verdict = "Worse"},
                                   {.setting = "unknown", .step_ms = std::nan(""), .verdict = ""},
                                   {.setting = "fast", .step_ms = 8, .verdict = "Better"}};
  const model::Table table = overview(results, 0.95, "run");
  ASSERT_EQ(table.row_count(), 4U);
  const char* order[] = {"default", "fast", "slow", "unknown"};
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_EQ(model::text(table.at(row, 0)), order[row]);
  EXPECT_EQ(model::text(table.at(3, 3)), "");
}

TEST(Overview, ManyComparisonsNeedMoreConfidenceEach) {
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 1), 0.95);
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 5), 0.99);
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 0), 0.95);
}

}  // namespace
}  // namespace assay::sweep
