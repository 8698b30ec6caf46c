#include <gtest/gtest.h>

#include "core/files.h"
#include "report/book.h"
#include "report/column_header.h"
#include "report/test_support.h"

namespace assay::report {
namespace {

model::Table latencies() {
  model::Table table{.name = "latencies",
                     .title = "Latencies",
                     .columns = {{.name = "engine"},
                                 {.name = "TTFT", .unit = "ms"},
                                 {.name = "duration (s)", .unit = "s"}}};
  table.add_row({"vllm", 12.5, 3.0});
  return table;
}

TEST(Csv, NumbersOfASummaryHaveUnits) {
  EXPECT_EQ(csv(latencies()), "engine,TTFT (ms),duration (s)\nvllm,12.5,3.0\n");
}

TEST(Csv, SheetsThatOtherProgramsReadHaveTheirNames) {
  EXPECT_EQ(csv(latencies(), CsvHeader::kNames), "engine,TTFT,duration (s)\nvllm,12.5,3.0\n");
  const TemporaryFolder folder;
  ASSERT_TRUE(write_csv_folder({.title = "Book", .tables = {latencies()}}, folder.path()).ok());
  const auto text = core::read_file(folder.path() / "latencies.csv");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(), csv(latencies(), CsvHeader::kNames));
}

TEST(ColumnHeader, ANameThatTellsItsUnitStaysAsItIs) {
  const auto header = [](const char* name, const char* unit) {
    return column_header({.name = name, .unit = unit});
  };
  EXPECT_EQ(header("kernels", "s"), "kernels (s)");
  EXPECT_EQ(header("start_us", "us"), "start_us");
  EXPECT_EQ(header("time ms", "ms"), "time ms");
  EXPECT_EQ(header("load_percent", "%"), "load_percent");
  EXPECT_EQ(header("bandwidth_gbps", "GB/s"), "bandwidth_gbps");
  EXPECT_EQ(header("bytes", "B"), "bytes");
  EXPECT_EQ(header("", "ms"), " (ms)");
}

}  // namespace
}  // namespace assay::report
