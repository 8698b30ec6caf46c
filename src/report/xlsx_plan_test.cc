#include "report/xlsx_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::report {
namespace {

using ::testing::HasSubstr;

model::Table table_named(const std::string& name) {
  model::Table table{name, "", {{"a"}}};
  table.add_row({std::int64_t{1}});
  return table;
}

std::string error_for(const std::vector<std::string>& names) {
  model::Book book;
  for (const std::string& name : names)
    book.tables.push_back(table_named(name));
  const auto plan = plan_sheets(book);
  return plan.ok() ? "" : plan.error().message;
}

TEST(SheetPlan, RefusesNamesThatExcelRefuses) {
  EXPECT_EQ(error_for({std::string(31, 'n'), "µs", "it's"}), "");
  EXPECT_THAT(error_for({std::string(32, 'n')}), HasSubstr("longer than 31"));
  EXPECT_THAT(error_for({"GEMM", "gemm"}), HasSubstr("two worksheets would be named 'gemm'"));
  EXPECT_THAT(error_for({""}), HasSubstr("without a name"));
  for (const char* name : {"a/b", "a\\b", "a[1]", "a:b", "a*", "a?", "'a", "a'", "a\nb", "\xFF"}) {
    EXPECT_THAT(error_for({name}), HasSubstr("not allowed")) << name;
  }
}

TEST(SheetPlan, RowsPastTheLimitGoToFurtherSheets) {
  model::Book book;
  book.tables.push_back({"a sheet name of 31 characters !", "", {{"a"}}});
  book.tables[0].cells.resize(2 * (kMaxSheetRows - 1) + 5);
  const auto plan = plan_sheets(book).value();
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[1].name, "a sheet name of 31 characte (2)");
  EXPECT_EQ(plan[1].first_row, kMaxSheetRows - 1);
  EXPECT_EQ(plan[1].row_count, kMaxSheetRows - 1);
  EXPECT_EQ(plan[2].row_count, 5U);
  book.tables.push_back(table_named("A sheet name of 31 characte (3)"));
  EXPECT_FALSE(plan_sheets(book).ok());
}

TEST(SheetPlan, AFullSheetNeedsNoSecondOne) {
  model::Book book;
  book.tables.push_back({"full", "", {{"a"}}});
  book.tables[0].cells.resize(kMaxSheetRows - 1);
  EXPECT_EQ(plan_sheets(book).value().size(), 1U);
}

TEST(SheetPlan, TableNamesAreValidAndUnique) {
  model::Book book;
  for (const char* name : {"GPU_Summary", "A1", "R1C1", "rc", "2 runs", "a b", "a_b", "ops_v2"}) {
    book.tables.push_back(table_named(name));
    book.tables.back().style.excel_table = true;
  }
  std::vector<std::string> names;
  for (const SheetPlan& sheet : plan_sheets(book).value())
    names.push_back(sheet.table_name);
  EXPECT_THAT(names, ::testing::ElementsAre("GPU_Summary", "T_A1", "T_R1C1", "T_rc", "T_2_runs",
                                            "a_b", "a_b_2", "ops_v2"));
}

TEST(SheetPlan, WhatCannotBeAnExcelTableStaysAPlainSheet) {
  model::Style style;
  style.excel_table = true;
  model::Book book;
  book.tables = {{"no rows", "", {{"a"}}, {}, style},
                 {"same headers", "", {{"Name"}, {"name"}}, {1.0, 2.0}, style},
                 {"empty header", "", {{""}}, {1.0}, style},
                 {"line break", "", {{"a\nb"}}, {1.0}, style},
                 {"long header", "", {{std::string(256, 'h')}}, {1.0}, style}};
  for (const SheetPlan& sheet : plan_sheets(book).value())
    EXPECT_EQ(sheet.table_name, "");
}

TEST(SheetPlan, OneSheetIsAlwaysVisible) {
  model::Book book;
  for (const char* name : {"a", "b"}) {
    book.tables.push_back(table_named(name));
    book.tables.back().style.visibility = model::Visibility::kHidden;
  }
  const auto plan = plan_sheets(book).value();
  EXPECT_EQ(plan[0].visibility, model::Visibility::kVisible);
  EXPECT_EQ(plan[1].visibility, model::Visibility::kHidden);
}

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
