#include "core/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::core {
namespace {

using testing::ElementsAre;

TEST(Csv, RecordsKnowTheirLines) {
  const auto records = parse_csv(
                           "\xEF\xBB\xBF"
                           "a,b\r\n\r\n\"1\n2\",\"say \"\"hi\"\"\"\nx,")
                           .value();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_THAT(records[0].fields, ElementsAre("a", "b"));
  EXPECT_EQ(records[0].line, 1);
  EXPECT_THAT(records[1].fields, ElementsAre("1\n2", "say \"hi\""));
  EXPECT_EQ(records[1].line, 3);
  EXPECT_THAT(records[2].fields, ElementsAre("x", ""));
  EXPECT_EQ(records[2].line, 5);
}

TEST(Csv, NothingIsNoRecord) {
  EXPECT_TRUE(parse_csv("").value().empty());
  EXPECT_TRUE(parse_csv("\n\r\n").value().empty());
}

TEST(Csv, BadQuotesAreErrorsWithTheirLine) {
  EXPECT_EQ(parse_csv("a\n\"b\nc").error().message, "line 2: a quote that is never closed");
  EXPECT_EQ(parse_csv("a\n\"b\"c").error().message, "line 2: text behind a closing quote");
  EXPECT_EQ(parse_csv("a\"b").error().message, "line 1: a quote inside a field that is not quoted");
}

TEST(Csv, TextsAreNoFormulas) {
  EXPECT_EQ(csv_text("=1+1"), "'=1+1");
  EXPECT_EQ(csv_text("@SUM(1,1)"), "\"'@SUM(1,1)\"");
  EXPECT_EQ(csv_text("+1+1"), "'+1+1");
  EXPECT_EQ(csv_text("\r=1"), "\"'\r=1\"");
  for (const char* plain : {"", "-", "-1", "-1.5e-7", "a=1", "-inf"})
    EXPECT_EQ(csv_text(plain), plain);
  for (const char* text : {"=1+1", "'=1+1", "''-1", "'-1", "'=", "'", "''x", "+1", "-1", "-", "x"})
    EXPECT_EQ(csv_meaning(csv_text(text)), text);
}

TEST(Csv, WrittenFieldsReadBack) {
  for (const std::string field :
       {"plain", "a,b", "say \"hi\"", "two\nlines", "\r", "\xEF\xBB\xBFmark", ""}) {
    const auto records = parse_csv(csv_field(field) + ",end\n").value();
    ASSERT_EQ(records.size(), 1U) << field;
    EXPECT_THAT(records[0].fields, ElementsAre(field, "end"));
  }
}

}  // namespace
}  // namespace assay::core
