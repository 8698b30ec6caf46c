#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(TextTable, AUnitIsAWordOfTheName) {
  model::Table table{
      "t", "", {{"time (s)", "s"}, {"kernels", "s"}, {"gap_us", "us"}, {"use", "us"}}};
  table.add_row({1.0, 2.0, 3.0, 4.0});
  EXPECT_THAT(text_table(table, 80, 10), HasSubstr("time (s)  kernels (s)  gap_us  use (us)\n"));
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
  EXPECT_THAT(text, HasSubstr(" kkkkkkkkkkkkkkkkk…"));
  EXPECT_THAT(text, HasSubstr("   total_\n"));
  EXPECT_THAT(text, HasSubstr(" 123456789\n"));
}

TEST(TextTable, LongTextGoesOnBetweenWordsInTheNextLine) {
  model::Table table{"t", "", {{"table"}, {"mean latency", "ms"}, {"measured at"}}};
  table.add_row({"generation_attention_perf", 12.5, "2026-11-21T17:42:31Z"});
  table.add_row({"nccl_perf", 3.25, "2026-11-21T17:42:32Z"});
  EXPECT_EQ(text_table(table, 38, 10),
            "table              mean  measured at\n"
            "                latency\n"
            "                   (ms)\n"
            "─────────────  ────────  ─────────────\n"
            "generation_        12.5  2026-11-21\n"
            " attention_               T17:42:31Z\n"
            " perf\n"
            "nccl_perf          3.25  2026-11-21\n"
            "                          T17:42:32Z\n");
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
  EXPECT_THAT(text, HasSubstr("… and 2 more rows\n… and 9 more columns: column 3, column\n"));
  EXPECT_THAT(text_table(table, 400, 4), HasSubstr("… and 1 more row\n"));
}

TEST(TextTable, NeverWiderThanAskedOrThanAWordOfItsNotes) {
  model::Table table{"t", "a title that is long", {{"name µµµµµµµµµµµµµ"}, {"x"}}};
  table.add_row({"🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀", 1.25});
  constexpr std::size_t kLongestWord = 7;  // "column:", of the note on the column that is left out
  for (std::size_t width = 1; width < 40; ++width) {
    EXPECT_LE(widest_line(text_table(table, width, 10)), std::max(width, kLongestWord)) << width;
  }
}

// A path that lacks a letter cannot be copied.
TEST(TextTable, ALongWordOfANoteIsWhole) {
  const std::string path = "/home/someone/measurements/run_of_monday/comparison_32";
  const model::Table table{.name = "t",
                           .title = "ranking",
                           .columns = {{"a"}},
                           .notes = {"Next: see " + path + " first."}};
  EXPECT_EQ(text_table(table, 30, 10), "ranking\nNext: see\n  " + path + "\n  first.\na\n─\n");
}

TEST(TextTable, ATableWithoutRowsShowsItsHeader) {
  EXPECT_EQ(text_table({"t", "", {{"a"}, {"b"}}}, 80, 10), "a  b\n─  ─\n");
  EXPECT_EQ(text_table({"t", "", {}}, 80, 10), "");
}

model::Table judged_table() {
  model::Table table{.name = "t",
                     .title = "",
                     .columns = {{"setting"}, {"faster by (%)"}, {"low (%)"}, {"verdict"}}};
  table.style.verdict_column = "verdict";
  table.add_row({std::string("a"), 1.5, 1.0, std::string("Better")});
  table.add_row({std::string("b"), -1.5, -2.0, std::string("Worse")});
  table.add_row({std::string("c"), -1.5, -20.0, std::string("Unclear")});
  table.add_row({std::string("d"), 0.1, -0.2, std::string("Same")});
  return table;
}

TEST(TextTable, VerdictsHaveColorsOnlyWhereAsked) {
  const std::string plain = text_table(judged_table(), 100, 10);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  const std::string colored = text_table(judged_table(), 100, 10, TextColors::kTerminal);
  for (const char* word : {"\x1b[38;5;32mBetter\x1b[0m", "\x1b[38;5;166mWorse\x1b[0m",
                           "\x1b[4;38;5;244mUnclear\x1b[0m", "\x1b[38;5;244mSame\x1b[0m"})
    EXPECT_NE(colored.find(word), std::string::npos) << colored;
  EXPECT_EQ(std::count(colored.begin(), colored.end(), '\x1b'), 8);
}

TEST(TextTable, TheVerdictIsTheLastColumnToGo) {
  const std::string narrow = text_table(judged_table(), 30, 10);
  EXPECT_NE(narrow.find("Better"), std::string::npos) << narrow;
  EXPECT_EQ(narrow.find("-20"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("… and 1 more column: low (%)"), std::string::npos) << narrow;
}

}  // namespace
}  // namespace assay::report
