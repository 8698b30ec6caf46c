#include "core/file_kind.h"

#include <gtest/gtest.h>

#include <string_view>

#include "core/output_file.h"

namespace assay::core {
namespace {

using namespace std::string_view_literals;

TEST(FileKind, IsToldByTheFirstBytes) {
  EXPECT_EQ(foreign_kind("\x1f\x8b\x08rest"sv, TextFormat::kCsv), "gzip data");
  EXPECT_EQ(foreign_kind("PK\x03\x04rest"sv, TextFormat::kJson), "a ZIP archive or a workbook");
  EXPECT_EQ(foreign_kind("SQLite format 3\0rest"sv, TextFormat::kYaml), "an SQLite database");
  EXPECT_EQ(foreign_kind("PAR1rest"sv, TextFormat::kCsv), "a Parquet file");
  EXPECT_EQ(foreign_kind("a,b\0,c"sv, TextFormat::kCsv), "binary data");
}

TEST(FileKind, JsonIsForeignWhereNoTextBeginsSo) {
  for (const TextFormat format : {TextFormat::kCsv, TextFormat::kGoal}) {
    EXPECT_EQ(foreign_kind("\n {\"a\": 1}", format), "JSON");
    EXPECT_EQ(foreign_kind("[1]", format), "JSON");
  }
  for (const TextFormat format : {TextFormat::kYaml, TextFormat::kJson, TextFormat::kJsonLines})
    EXPECT_EQ(foreign_kind("{\"a\": 1}", format), "");
}

TEST(FileKind, TextIsNotForeign) {
  for (const std::string_view text : {""sv, "a,b\n1,2\n"sv, "num_ranks 2\n"sv, "µ: 1\n"sv, " \n"sv})
    EXPECT_EQ(foreign_kind(text, TextFormat::kCsv), "");
}

TEST(FileKind, AFileOfAnotherKindIsNotRead) {
  const std::filesystem::path path = testing::TempDir() + "file_kind_test.csv";
  ASSERT_TRUE(write_file(path, "\x1f\x8b\x08").ok());
  const Result<std::string> text = read_text(path, TextFormat::kCsv);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, path.string() + ": it is gzip data, not CSV");
  ASSERT_TRUE(write_file(path, "a,b\n").ok());
  EXPECT_EQ(read_text(path, TextFormat::kCsv).value(), "a,b\n");
  EXPECT_FALSE(read_text(path.string() + ".none", TextFormat::kCsv).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace assay::core
