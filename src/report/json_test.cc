#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <tuple>

#include "core/output_file.h"
#include "report/book.h"
#include "report/test_support.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;

model::Book sample_book() {
  model::Book book{"Two runs, \"8\" ranks"};
  model::Table table{"GEMM", "Matrix multiplications", {}};
  table.columns = {{"name"},
                   {"time", "µs", model::Better::kLower, "Sum over\nall launches"},
                   {"rate", "TFLOP/s", model::Better::kHigher}};
  table.notes = {"first note", "second \\ note"};
  table.style = {model::Visibility::kHidden, {"rate"}, true};
  table.add_row({"aten::mm(\"a\")\t测试 🚀", 2048.0, std::int64_t{-7}});
  table.add_row({model::Cell{}, 1e-300, true});
  table.add_row({"", 0.1 + 0.2, false});
  table.add_row({std::string("nul\0byte", 8), -0.0, std::numeric_limits<std::int64_t>::min()});
  table.add_row({"µ", 1e22, std::numeric_limits<std::int64_t>::max()});
  book.tables = {table, {"empty", "no rows", {{"a"}}}, {"nothing", "", {}}};
  return book;
}

core::Result<model::Book> read_back(const std::string& text) {
  static const TemporaryFolder folder;
  const auto path = folder.path() / "book.json";
  std::filesystem::remove(path);                  // some file systems truncate slowly
  std::ofstream(path, std::ios::binary) << text;  // core::write_file waits for the disk
  return read_json(path);
}

std::string error_of(const std::string& text) {
  const auto book = read_back(text);
  return book.ok() ? "" : book.error().message;
}

auto fields(const model::Column& column) {
  return std::tuple(column.name, column.unit, column.better, column.description);
}

// A table's fields other than its columns.
auto fields(const model::Table& table) {
  const model::Style& style = table.style;
  return std::tuple(table.name, table.title, table.notes, table.cells, style.visibility,
                    style.color_scales, style.excel_table);
}

void expect_equal(const model::Table& read, const model::Table& written) {
  EXPECT_TRUE(fields(read) == fields(written)) << json({"", {read}}) << json({"", {written}});
  EXPECT_TRUE(std::equal(read.columns.begin(), read.columns.end(), written.columns.begin(),
                         written.columns.end(),
                         [](const auto& a, const auto& b) { return fields(a) == fields(b); }));
}

TEST(Json, EverythingComesBack) {
  const model::Book written = sample_book();
  const model::Book read = read_back(json(written)).value();
  EXPECT_EQ(read.title, written.title);
  ASSERT_EQ(read.tables.size(), written.tables.size());
  for (std::size_t i = 0; i < read.tables.size(); ++i) {
    expect_equal(read.tables[i], written.tables[i]);
  }
  EXPECT_TRUE(std::signbit(model::number(read.tables[0].at(3, 1))));
}

TEST(Json, DoublesStayDoublesAndAreShortest) {
  model::Book book{"b"};
  book.tables.push_back({"t", "", {{"x"}}, {2048.0, 0.1, 1e22, 1e-9, 123456789.0}});
  EXPECT_THAT(json(book), HasSubstr("[2048.0],\n   [0.1],\n   [1e+22],\n   [1e-09],\n"));
  EXPECT_EQ(read_back(json(book)).value().tables[0].cells, book.tables[0].cells);
}

TEST(Json, WhatIsNoNumberIsNull) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  model::Book book{"b"};
  book.tables.push_back({"t", "", {{"x"}}, {std::nan(""), kInfinity, -kInfinity}});
  EXPECT_EQ(read_back(json(book)).value().tables[0].cells, std::vector<model::Cell>(3));
}

TEST(Json, InvalidUtf8IsReplaced) {
  model::Book book{"b"};
  book.tables.push_back({"t", "", {{"x"}}, {"bad \xFF"}});
  EXPECT_EQ(model::text(read_back(json(book)).value().tables[0].at(0, 0)), "bad \uFFFD");
}

TEST(Json, OnlyWantedTablesAreRead) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "book.json";
  const model::Book written = sample_book();
  ASSERT_TRUE(write_json(written, path).ok());
  const model::Book last = read_json(path, {"nothing", "no such table"}).value();
  ASSERT_EQ(last.tables.size(), 1U);
  expect_equal(last.tables[0], written.tables[2]);
  const model::Book first = read_json(path, {"GEMM"}).value();
  ASSERT_EQ(first.tables.size(), 1U);
  expect_equal(first.tables[0], written.tables[0]);
  EXPECT_TRUE(read_json(path, std::vector<std::string>{}).value().tables.empty());
}

TEST(Json, KeysMayStandInAnyOrderAndUnknownOnesAreIgnored) {
  const auto book = read_back(
      R"({"tables":[{"rows":[[1]],"later":{"x":[1,2]},"columns":[{"name":"a"}],"name":"t"}],)"
      R"("made by":"hand","version":1,"format":"assay-book"})");
  ASSERT_TRUE(book.ok()) << book.error().message;
  EXPECT_EQ(book.value().tables[0].at(0, 0), model::Cell{std::int64_t{1}});
}

TEST(Json, EveryTruncationIsAnError) {
  const std::string whole = json(sample_book());
  ASSERT_EQ(error_of(whole), "");
  for (std::size_t size = 0; size < whole.size() - 1; ++size) {  // the last byte is a newline
    EXPECT_NE(error_of(whole.substr(0, size)), "") << "cut at " << size;
  }
}

// The reader stops at the first damage: what follows it could not be trusted.
TEST(Json, DamageBeforeTheTablesIsAnError) {
  const auto book = parse_json(
      R"({"format":"assay-book","version":1,"tltie":"a"b"c":[],"tables":[{"name":"t","columns":[],"rows":[]}]})");
  ASSERT_FALSE(book.ok());
  EXPECT_THAT(book.error().message, testing::HasSubstr("improper structure"));
}

// Looking for "rows" by name would go back over the damaged "style".
TEST(Json, DamageWithinATableIsAnError) {
  const auto book = parse_json(
      R"({"format":"assay-book","version":1,"tables":[{"name":"t","columns":[],)"
      R"("style":{"color_scales":[]}\f"titame":"x","columns":[{"name":"a"|}],"rows":[]}]})");
  ASSERT_FALSE(book.ok());
  EXPECT_THAT(book.error().message, testing::HasSubstr("table 't': "));
}

TEST(Json, ErrorsNameFileTableAndRow) {
  EXPECT_THAT(read_json("no/such.json").error().message, HasSubstr("no/such.json"));
  EXPECT_THAT(error_of("not json"), HasSubstr("book.json"));
  EXPECT_THAT(error_of("[1,2]"), HasSubstr("not a report of assay"));
  EXPECT_THAT(error_of(R"({"traceEvents":[]})"), HasSubstr("not a report of assay"));
  EXPECT_THAT(error_of(R"({"format":"assay-book","tables":[]})"), HasSubstr("version"));
  EXPECT_THAT(error_of(R"({"format":"assay-book","version":2,"tables":[]})"),
              HasSubstr("newer assay (version 2"));
  const std::string head = R"({"format":"assay-book","version":1,"tables":[{"name":"t",)";
  EXPECT_THAT(error_of(head + R"("columns":[{"name":"a"}],"rows":[[1],[1,2]]}]})"),
              HasSubstr("table 't': row 2: not as many values as the 1 columns"));
  EXPECT_THAT(error_of(head + R"("rows":[[1],[1,2]],"columns":[{"name":"a"}]}]})"),
              HasSubstr("table 't': row 2: not as many values as the 1 columns"));
  EXPECT_THAT(error_of(head + R"("columns":[{"name":"a"}],"rows":[[1,2],[1,2]]}]})"),
              HasSubstr("table 't': row 1: not as many values as the 1 columns"));
  EXPECT_THAT(error_of(head + R"("columns":[{"name":"a"}],"rows":[[[]]]}]})"),
              HasSubstr("table 't': row 1"));
  EXPECT_THAT(error_of(head + R"("columns":[{"name":"a"}],"rows":[[nil]]}]})"),
              HasSubstr("table 't': row 1"));
  EXPECT_THAT(error_of(head + R"("rows":[]}]})"), HasSubstr("table 't'"));
}

}  // namespace
}  // namespace assay::report
