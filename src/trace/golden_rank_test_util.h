// For tests of sheets: ranks of ../shared/samples/traces-8gpu and the figures that the public tool
// gives for them.
//
//   const GoldenRank& golden = golden_rank({"default", 0, Unlinked::kCounted});
//   if (!golden.analysis) GTEST_SKIP() << golden.reason;
//   expect_golden_sheet(tables, "GEMM", golden.csv_folder);
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/analysis.h"

namespace assay::trace::testing {

// Equal but for numbers, anywhere in the texts, that differ by less than one part in a million.
bool nearly_equal(std::string_view actual, std::string_view expected);

// Columns, row order and cells that differ; at most `limit` lines.
std::vector<std::string> differences(const model::Table& actual,
                                     const model::Table& expected,
                                     std::size_t limit = 8);

// Fails the test unless the table of this name is as in <csv_folder>/<name>.csv.
void expect_golden_sheet(std::span<const model::Table> tables,
                         std::string_view name,
                         const std::filesystem::path& csv_folder);

enum class Unlinked { kCounted, kLeftOut };

struct RankChoice {
  std::string configuration;
  int rank = 0;
  Unlinked unlinked = Unlinked::kCounted;

  auto operator<=>(const RankChoice&) const = default;
};

// The ranks whose figures are known.
inline const std::array kGoldenRanks = {RankChoice{"default", 0, Unlinked::kCounted},
                                        RankChoice{"default", 0, Unlinked::kLeftOut},
                                        RankChoice{"16cta_256threads", 5, Unlinked::kCounted},
                                        RankChoice{"16cta_256threads", 5, Unlinked::kLeftOut}};

// "h200_default_rank0_linked": the folder of the figures.
std::string folder_name(const RankChoice& choice);

struct GoldenRank {
  std::unique_ptr<model::Trace> trace;
  std::optional<RankAnalysis> analysis;  // in compat mode; empty when the sample is not there
  std::filesystem::path csv_folder;
  std::string reason;  // why there is no analysis
};

// Read and analysed once for all tests.
const GoldenRank& golden_rank(const RankChoice& choice);

}  // namespace assay::trace::testing
