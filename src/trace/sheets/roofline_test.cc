#include <gtest/gtest.h>

#include "trace/golden_rank_test_util.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

class RooflineGolden : public ::testing::TestWithParam<testing::RankChoice> {};

TEST_P(RooflineGolden, IsThatOfThePublicTool) {
  const testing::GoldenRank& golden = testing::golden_rank(GetParam());
  if (!golden.analysis) GTEST_SKIP() << golden.reason;
  const model::Book book = individual_report(*golden.analysis);
  for (const char* sheet : {"GEMM", "SDPA_fwd", "SDPA_bwd", "Normalization", "Reduce_fwd",
                            "Reduce_bwd", "UnaryElementwise", "BinaryElementwise"})
    testing::expect_golden_sheet(book.tables, sheet, golden.csv_folder);
}

INSTANTIATE_TEST_SUITE_P(
    Ranks,
    RooflineGolden,
    ::testing::Values(testing::RankChoice{"default", 0, testing::Unlinked::kCounted},
                      testing::RankChoice{"default", 0, testing::Unlinked::kLeftOut},
                      testing::RankChoice{"16cta_256threads", 5, testing::Unlinked::kCounted},
                      testing::RankChoice{"16cta_256threads", 5, testing::Unlinked::kLeftOut}));

}  // namespace
}  // namespace assay::trace
