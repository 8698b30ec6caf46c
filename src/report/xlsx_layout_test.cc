#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/xlsx_plan.h"

namespace assay::report {
namespace {

ColumnLayout layout_of(const std::vector<model::Cell>& cells, const std::string& header = "h") {
  model::Table table{"t", "", {{header}}, cells};
  return lay_out({&table, "t", 0, table.row_count(), "", model::Visibility::kVisible})[0];
}

TEST(ColumnLayout, DecimalsFollowTheColumnsMagnitude) {
  EXPECT_EQ(layout_of({1.5, 1234.25}).decimals, 3);
  EXPECT_EQ(layout_of({0.5}).decimals, 3);
  EXPECT_EQ(layout_of({0.0125, 0.001}).decimals, 4);
  EXPECT_EQ(layout_of({1.25e-5}).decimals, 7);
  EXPECT_EQ(layout_of({2048.0, 4.0}).decimals, 0);
}

TEST(ColumnLayout, FiguresTooSmallOrLargeShowAnExponent) {
  const ColumnLayout column = layout_of({1234.25, 0.0042, 0.0, 0.0125});
  EXPECT_EQ(shown_decimals(column, 1234.25), 3);
  EXPECT_EQ(shown_decimals(column, 0.0125), 3);
  EXPECT_EQ(shown_decimals(column, -0.0042), kScientific);
  EXPECT_EQ(shown_decimals(column, 0.0), 3);
  EXPECT_EQ(shown_decimals(column, -3e15), kScientific);
}

TEST(ColumnLayout, WidthHoldsEveryNumberAndIsClamped) {
  EXPECT_EQ(layout_of({std::int64_t{1}}).width, 8);
  EXPECT_GE(layout_of({std::int64_t{-123456789012}}).width, 13);
  EXPECT_GE(layout_of({-123456789.125}).width, 14);
  EXPECT_GE(layout_of({1.0, 1e300}).width, 9);
  EXPECT_GT(layout_of({true}, "a header of thirty characters.").width, 30);
  EXPECT_EQ(layout_of({std::string(500, 'x')}).width, 80);
  EXPECT_LT(layout_of({std::string("first line\nand a much longer second line")}).width, 14);
}

TEST(ColumnLayout, TellsNumbersFromOtherContent) {
  EXPECT_EQ(layout_of({1.5, model::Cell{}, std::int64_t{2}}).content, ColumnContent::kNumbers);
  EXPECT_EQ(layout_of({1.5, "text"}).content, ColumnContent::kOther);
  EXPECT_EQ(layout_of({model::Cell{}}).content, ColumnContent::kOther);
}

TEST(ColumnLayout, RangeIgnoresWhatIsNoNumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ColumnLayout column =
      layout_of({model::Cell{}, kInfinity, std::nan(""), -2.5, std::int64_t{7}, "99"});
  EXPECT_EQ(column.least, -2.5);
  EXPECT_EQ(column.greatest, 7);
}

}  // namespace
}  // namespace assay::report
