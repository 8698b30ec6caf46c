#include "report/xlsx_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::report
