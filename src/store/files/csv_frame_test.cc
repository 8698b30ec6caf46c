#include "store/files/csv_frame.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::store {
namespace {

std::vector<std::int64_t> whole(const Frame& frame, std::string_view name) {
  return std::get<std::vector<std::int64_t>>(frame.find(name)->values);
}

std::vector<double> real(const Frame& frame, std::string_view name) {
  return std::get<std::vector<double>>(frame.find(name)->values);
}

std::string text(const Frame& frame, std::string_view name, std::size_t row) {
  return std::get<std::string>(frame.find(name)->value(row));
}

TEST(CsvFrame, InfersTheKindOfEachColumn) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("n,x,name\n1,2,a\n-2,0.5,\"b, c\"\n", warnings);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  EXPECT_EQ(whole(frame.value(), "n"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(real(frame.value(), "x"), (std::vector<double>{2, 0.5}));
  EXPECT_EQ(text(frame.value(), "name", 1), "b, c");
  EXPECT_TRUE(warnings.empty());
}

TEST(CsvFrame, AnEmptyFieldIsMissing) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("n,x,empty\r\n1,,\r\n,0.5,\r\n", warnings);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  const Frame& rows = frame.value();
  EXPECT_FALSE(rows.find("n")->is_missing(0));
  EXPECT_TRUE(rows.find("n")->is_missing(1));
  EXPECT_TRUE(rows.find("x")->is_missing(0));
  EXPECT_TRUE(rows.find("empty")->is_missing(0) && rows.find("empty")->is_missing(1));
  EXPECT_EQ(write_csv_frame(rows), "n,x,empty\n1,,\n,0.5,\n");
}

// 4e12345 and 7e99999 are commits.
TEST(CsvFrame, BlanksAreMissingAndNumbersBeyondRangeAreTexts) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("n,x\n1,4e12345\n  ,7e99999\n", warnings);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  EXPECT_EQ(text(frame.value(), "x", 0), "4e12345");
  EXPECT_EQ(text(frame.value(), "x", 1), "7e99999");
  EXPECT_EQ(whole(frame.value(), "n")[0], 1);
  EXPECT_TRUE(frame.value().find("n")->is_missing(1));
}

TEST(CsvFrame, AVersionStaysTextWhereAsked) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("version\n2.20\n", warnings, {.text_columns = {"version"}});
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  EXPECT_EQ(text(frame.value(), "version", 0), "2.20");
}

TEST(CsvFrame, NamesTheLineOfARaggedRow) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("a,b\n1,2\n\n3\n4,5\n", warnings);
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().message, "line 4: 1 field, but 2 columns are named");
}

TEST(CsvFrame, DropsALastLineThatBreaksOff) {
  for (const char* torn : {"3", "\"3", "3,\"4"}) {
    model::Warnings warnings;
    const auto frame = read_csv_frame(std::string("a,b\n1,2\n") + torn, warnings);
    ASSERT_TRUE(frame.ok()) << frame.error().message;
    EXPECT_EQ(frame.value().num_rows(), 1U);
    ASSERT_EQ(warnings.all().size(), 1U);
    EXPECT_EQ(warnings.all()[0].reason, "the last line breaks off");
    EXPECT_EQ(warnings.all()[0].example, "line 3");
  }
}

TEST(CsvFrame, KeepsALastLineWithoutItsEnd) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("a,b\n1,2\n3,4", warnings);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  EXPECT_EQ(whole(frame.value(), "b"), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(warnings.all().size(), 1U);
}

TEST(CsvFrame, AQuoteOpenOverManyLinesIsAnError) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("a,b\n1,\"2\n3,4\n5,6", warnings);
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().message, "line 2: a quote that is never closed");
}

TEST(CsvFrame, PassesOverRepeatedNames) {
  model::Warnings warnings;
  const auto frame = read_csv_frame("a,b\n1,2\na,b\n3,4\n", warnings);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  EXPECT_EQ(whole(frame.value(), "a"), (std::vector<std::int64_t>{1, 3}));
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_EQ(warnings.all()[0].count, 1);
}

TEST(CsvFrame, RefusesNamesThatAreNone) {
  model::Warnings warnings;
  EXPECT_EQ(read_csv_frame("", warnings).error().message, "the file is empty");
  EXPECT_EQ(read_csv_frame("a,,b\n", warnings).error().message, "line 1: a column has no name");
  EXPECT_EQ(read_csv_frame("a,a\n", warnings).error().message,
            "line 1: two columns are named \"a\"");
}

TEST(CsvFrame, WritesTheShortestNumberThatReadsBack) {
  const Frame frame{{{.name = "x", .values = std::vector<double>{0.1, 700, 1e-9, 1.0 / 3}},
                     {.name = "n", .values = std::vector<std::int64_t>{1, -2, 3, 1LL << 62}}}};
  EXPECT_EQ(write_csv_frame(frame),
            "x,n\n0.1,1\n700.0,-2\n1e-09,3\n0.3333333333333333,4611686018427387904\n");
}

TEST(CsvFrame, AMissingValueOfALoneColumnIsARow) {
  const Frame frame{
      {{.name = "n", .values = std::vector<std::int64_t>{1, 0}, .missing = {false, true}}}};
  model::Warnings warnings;
  const auto again = read_csv_frame(write_csv_frame(frame), warnings);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again.value().num_rows(), 2U);
  EXPECT_TRUE(again.value().columns[0].is_missing(1));
}

}  // namespace
}  // namespace assay::store
