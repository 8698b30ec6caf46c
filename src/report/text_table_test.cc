#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "core/text.h"
#include "report/book.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, core::character_count(line));
  }
  return widest;
}

TEST(TextTable, AlignsTextLeftAndNumbersRight) {
  model::Table table{"t", "Times of a step", {{"type"}, {"time µs"}, {"count"}, {"ok"}}};
  table.notes = {"mean of 2 ranks"};
  table.add_row({"busy", 1234567.89, std::int64_t{42}, true});
  table.add_row({"comm µ", 0.0123456, std::int64_t{1234567}, false});
  table.add_row({model::Cell{}, std::nan(""), std::int64_t{-1}, model::Cell{}});
  EXPECT_EQ(text_table(table, 80, 10),
            "Times of a step\n"
            "mean of 2 ranks\n"
            "type    time µs    count  ok\n"
            "──────  ───────  ───────  ─────\n"
            "busy    1234568       42  True\n"
            "comm µ  0.01235  1234567  False\n"
            "                      -1\n");
}

TEST(TextTable, RoundsToFourDigitsButKeepsWholeParts) {
  model::Table table{"t", "", {{"x"}}, {0.1, 12.3456, 999.96, 1000.4, -98765.6, 1e-7, 3e17}};
  EXPECT_EQ(text_table(table, 80, 10),
            "     x\n──────\n   0.1\n 12.35\n  1000\n  1000\n-98766\n 1e-07\n 3e+17\n");
}

TEST(TextTable, LongTextGivesWayToNumbers) {
  model::Table table{"t", "", {{"kernel name"}, {"total_direct_kernel_time_ms"}}};
  table.add_row({std::string(200, 'k') + "\nsecond line", 123456789.0});
  const std::string text = text_table(table, 30, 10);
  EXPECT_EQ(widest_line(text), 30U);
  EXPECT_THAT(text, HasSubstr("kkkkkkkkkkkkk…"));
  EXPECT_THAT(text, HasSubstr("total_direct_…"));
  EXPECT_THAT(text, HasSubstr(" 123456789\n"));
}

TEST(TextTable, MarksRowsAndColumnsLeftOut) {
  model::Table table{"t", "", {}};
  for (int c = 0; c < 12; ++c)
    table.columns.push_back({"column " + std::to_string(c)});
  for (int r = 0; r < 5; ++r) {
    table.add_row(std::vector<model::Cell>(12, std::int64_t{1234567890}));
  }
  const std::string text = text_table(table, 40, 3);
  EXPECT_LE(widest_line(text), 40U);
  EXPECT_THAT(text, HasSubstr("… and 2 more rows\n… and 9 more columns\n"));
  EXPECT_THAT(text_table(table, 400, 4), HasSubstr("… and 1 more row\n"));
}

TEST(TextTable, NeverWiderThanAsked) {
  model::Table table{"t", "a title that is long", {{"name µµµµµµµµµµµµµ"}, {"x"}}};
  table.add_row({"🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀", 1.25});
  for (std::size_t width = 1; width < 40; ++width) {
    EXPECT_LE(widest_line(text_table(table, width, 10)), width) << width;
  }
}

TEST(TextTable, ATableWithoutRowsShowsItsHeader) {
  EXPECT_EQ(text_table({"t", "", {{"a"}, {"b"}}}, 80, 10), "a  b\n─  ─\n");
  EXPECT_EQ(text_table({"t", "", {}}, 80, 10), "");
}

}  // namespace
}  // namespace assay::report
