#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "report/book.h"
#include "report/test_support.h"

namespace assay::report {
namespace {

TEST(WriteAll, WritesWorkbookJsonAndCsvFolder) {
  const TemporaryFolder folder;
  model::Book book{"b"};
  book.tables.push_back({"µ table", "", {{"x"}, {"text"}}, {0.5, "a,\"b\""}});
  const auto stem = folder.path() / "run.2024_report";
  ASSERT_TRUE(write_all(book, stem).ok());
  EXPECT_THAT(core::list_directory(folder.path()).value(),
              ::testing::ElementsAre("run.2024_report.json", "run.2024_report.xlsx",
                                     "run.2024_report_csvs"));
  EXPECT_EQ(read_json(stem.string() + ".json").value().tables[0].cells, book.tables[0].cells);
  EXPECT_EQ(core::read_file(stem.string() + "_csvs/µ table.csv").value(),
            "x,text\n0.5,\"a,\"\"b\"\"\"\n");
  ASSERT_TRUE(write_all(book, stem).ok()) << "a second time, over the first";
}

}  // namespace
}  // namespace assay::report
