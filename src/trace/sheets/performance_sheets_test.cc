#include <gtest/gtest.h>

#include "trace/golden_rank_test_util.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

class PerformanceSheets : public ::testing::TestWithParam<testing::RankChoice> {};

TEST_P(PerformanceSheets, IsThatOfThePublicTool) {
  const testing::GoldenRank& golden = testing::golden_rank(GetParam());
  if (!golden.analysis) GTEST_SKIP() << golden.reason;
  const model::Book book = individual_report(*golden.analysis);
  for (const char* sheet :
       {"GEMM", "SDPA_fwd", "SDPA_bwd", "Normalization", "Reduce_fwd", "Reduce_bwd",
        "UnaryElementwise", "BinaryElementwise", "unified_perf_summary"})
    testing::expect_golden_sheet(book.tables, sheet, golden.csv_folder);
}

INSTANTIATE_TEST_SUITE_P(Ranks,
                         PerformanceSheets,
                         ::testing::ValuesIn(testing::kGoldenRanks),
                         [](const auto& choice) { return testing::folder_name(choice.param); });

}  // namespace
}  // namespace assay::trace
