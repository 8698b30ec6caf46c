// For tests: compares tables with CSV files of expected figures, cell by cell. The files lie
// outside the repository; a test skips with the reason where they are not.
//
//   const GoldenRank& rank = golden_rank("default", 0, Unlinked::kCounted);
//   if (!rank.analysis) GTEST_SKIP() << rank.reason;
//   expect_golden(book, "GEMM", golden_file("individual/h200_default_rank0/csvs/GEMM.csv"));
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/analysis.h"

namespace assay::trace {

// The path of something in ../shared beside the source folder.
std::filesystem::path shared_path(std::string_view relative);

inline std::filesystem::path golden_file(std::string_view relative) {
  return shared_path("golden/trace") / relative;
}

// Fields of an RFC 4180 document; empty when the file is not there.
using CsvRows = std::vector<std::vector<std::string>>;
std::optional<CsvRows> read_csv(const std::filesystem::path& path);

// Equal but for numbers anywhere in the texts, which may differ by a factor of 1 ± `tolerance`.
bool nearly_equal(std::string_view actual, std::string_view expected, double tolerance = 1e-6);

// What differs, at most `limit` lines; empty when columns, row order and cells agree.
std::vector<std::string> differences(const model::Table& actual,
                                     const CsvRows& expected,
                                     std::size_t limit = 8);

// Fails the test with the first differences, or when the book has no such table.
void expect_golden(const model::Book& book,
                   std::string_view table,
                   const std::filesystem::path& csv_path);

// One rank of ../shared/samples/traces-8gpu, analysed in compat mode. Kept for all tests.
enum class Unlinked { kCounted, kLeftOut };

struct GoldenRank {
  std::unique_ptr<model::Trace> trace;
  std::optional<RankAnalysis> analysis;  // empty when the sample is not there
  std::string reason;
};

const GoldenRank& golden_rank(std::string_view configuration, int rank, Unlinked unlinked);

}  // namespace assay::trace
