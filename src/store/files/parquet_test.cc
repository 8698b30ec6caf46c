#include "store/files/parquet.h"

#include <gtest/gtest.h>

#include <cmath>

#include "store/files/parquet_format.h"
#include "store/files/thrift_compact.h"

namespace assay::store {
namespace {

// More rows than a page holds, with missing values, repeated and different numbers.
Frame sample(std::size_t num_rows) {
  std::vector<std::int64_t> repeated;
  std::vector<std::int64_t> different;
  std::vector<double> times;
  TextColumn names{.codes = {}, .words = {"", "gemm", "moe, \"x\"", "attention"}};
  std::vector<bool> missing;
  for (std::size_t row = 0; row < num_rows; ++row) {
    repeated.push_back(static_cast<std::int64_t>(row / 100 % 7) - 3);
    different.push_back(static_cast<std::int64_t>(row * row) * 1'000'003);
    times.push_back(1.0 / static_cast<double>(row + 1));
    names.codes.push_back(static_cast<std::uint32_t>(1 + row % 3));
    missing.push_back(row % 5 == 2);
  }
  return {{{.name = "repeated", .values = repeated, .missing = missing},
           {.name = "different", .values = different},
           {.name = "latency", .values = times, .missing = missing},
           {.name = "op_name", .values = names, .missing = missing}}};
}

std::string written(const Frame& frame) {
  return write_parquet(frame).value();
}

TEST(Parquet, WhatIsWrittenReadsBack) {
  for (const std::size_t num_rows : {0U, 1U, 9U, 1000U, 300'000U}) {
    const Frame frame = sample(num_rows);
    const auto again = read_parquet(written(frame));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(same_values(frame, again.value()));
  }
}

TEST(Frame, IsTheSameWithEqualValuesAlone) {
  const Frame frame = sample(3);
  Frame other = frame;
  EXPECT_TRUE(same_values(frame, other));
  std::get<std::vector<double>>(other.columns[2].values)[0] = 2;
  EXPECT_FALSE(same_values(frame, other));
  other = frame;
  other.columns[0].missing[0] = true;
  EXPECT_FALSE(same_values(frame, other));
  other = frame;
  other.columns[1].name = "m";
  EXPECT_FALSE(same_values(frame, other));
  const Frame nan{{{.name = "x", .values = std::vector<double>{std::nan("")}}}};
  EXPECT_TRUE(same_values(nan, nan));
}

TEST(Parquet, RefusesToWriteColumnsOfDifferentLengths) {
  const Frame frame{{{.name = "a", .values = std::vector<std::int64_t>{1}},
                     {.name = "b", .values = std::vector<double>{1, 2}}}};
  EXPECT_EQ(write_parquet(frame).error().message, "column \"b\" has 2 rows, the first column 1");
  EXPECT_FALSE(write_parquet({}).ok());
}

TEST(Parquet, SaysWhatIsWrongWithAFile) {
  const std::string file = written(sample(100));
  EXPECT_EQ(read_parquet("hello").error().message, "this is no Parquet file");
  EXPECT_EQ(read_parquet(file.substr(0, file.size() - 1)).error().message,
            "the Parquet file is cut off: its end is missing; copy it again");
  std::string lying = file;
  lying[lying.size() - 5] = '\x7F';  // the highest byte of the metadata's length
  EXPECT_EQ(read_parquet(lying).error().message,
            "the Parquet file is damaged: its metadata is longer than the file");
}

TEST(Parquet, EveryCutAndEveryChangedByteIsAnAnswer) {
  const std::string file = written(sample(20));
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(read_parquet(file.substr(0, size)).ok());
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const char change : {'\x01', '\x80', '\xFF'}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto frame = read_parquet(changed);
      if (!frame.ok()) continue;
      EXPECT_EQ(frame.value().num_rows(), frame.value().columns.back().size());
    }
  }
}

TEST(Parquet, RefusesMoreThanItsLimits) {
  const std::string file = written(sample(1000));
  const auto rows = read_parquet(file, {.max_rows = 999});
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.error().message.find("1000 rows of 4 columns"), std::string::npos);
  EXPECT_FALSE(read_parquet(file, {.max_cells = 3999}).ok());
  const auto page = read_parquet(file, {.max_page_bytes = 500});
  ASSERT_FALSE(page.ok());
  EXPECT_NE(page.error().message.find("column \"different\": a page says"), std::string::npos)
      << page.error().message;
  EXPECT_FALSE(read_parquet(file, {.max_metadata_bytes = 50}).ok());
}

TEST(Parquet, RunsReadBack) {
  std::vector<std::uint32_t> numbers = {1, 2, 3};
  numbers.insert(numbers.end(), 50, 6);
  for (std::uint32_t i = 0; i < 21; ++i)
    numbers.push_back(i % 8);
  numbers.insert(numbers.end(), 9, 0);
  for (const int bit_width : {3, 8, 17, 32}) {
    const std::string bytes = parquet::write_runs(numbers, bit_width);
    EXPECT_EQ(parquet::read_runs(bytes, bit_width, numbers.size()).value(), numbers);
    EXPECT_FALSE(parquet::read_runs(bytes, bit_width, numbers.size() + 8).ok());
  }
  EXPECT_EQ(parquet::read_runs(parquet::write_runs({0, 0, 0}, 0), 0, 3).value(),
            (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_FALSE(parquet::read_runs("", 33, 0).ok());
}

// A run of 2^30 ones in five bytes, of which few are wanted.
TEST(Parquet, ALongRunTakesOnlyWhatIsWanted) {
  const std::string_view run("\x80\x80\x80\x80\x08\x01", 6);
  EXPECT_EQ(parquet::read_runs(run, 1, 5).value(), (std::vector<std::uint32_t>(5, 1)));
}

TEST(Parquet, MetadataNestedWithoutEndIsRefused) {
  const std::string nested(1000, '\x1C');  // a structure in the first field, again and again
  ThriftReader reader(nested);
  const ThriftField first = reader.enter();
  reader.skip(first);
  EXPECT_EQ(reader.problem(), "its metadata is nested too deeply");
}

TEST(Parquet, AListLongerThanTheFileIsRefused) {
  const std::string_view list("\x19\xFC\xFF\xFF\xFF\xFF\x0F", 7);  // 4 billion structures
  ThriftReader reader(list);
  const ThriftField field = reader.enter();
  EXPECT_EQ(reader.list(field, ThriftType::kStruct), 0U);
  EXPECT_EQ(reader.problem(), "its metadata holds a list longer than the file");
}

}  // namespace
}  // namespace assay::store
