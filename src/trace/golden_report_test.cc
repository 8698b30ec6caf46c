// The individual report in compat mode against all sheets of the public tool.
#include <gtest/gtest.h>

#include "trace/golden_rank_test_util.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

class GoldenReport : public ::testing::TestWithParam<testing::RankChoice> {};

TEST_P(GoldenReport, IsThatOfThePublicTool) {
  const testing::GoldenRank& golden = testing::golden_rank(GetParam());
  if (!golden.analysis) GTEST_SKIP() << golden.reason;
  const model::Book book = individual_report(*golden.analysis);
  int sheets = 0;
  for (const auto& file : std::filesystem::directory_iterator(golden.csv_folder)) {
    testing::expect_golden_sheet(book.tables, file.path().stem().string(), golden.csv_folder);
    ++sheets;
  }
  EXPECT_GE(sheets, 16);
}

INSTANTIATE_TEST_SUITE_P(Ranks,
                         GoldenReport,
                         ::testing::ValuesIn(testing::kGoldenRanks),
                         [](const auto& choice) { return testing::folder_name(choice.param); });

}  // namespace
}  // namespace assay::trace
