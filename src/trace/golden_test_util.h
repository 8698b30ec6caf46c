// Helps tests to compare tables with the figures that the public tool gives for the same traces:
// those of samples/, and where they are there also those of ../shared.
//
//   const GoldenRank& golden = golden_rank({"ctas_default", 0, Unlinked::kCounted});
//   ASSERT_TRUE(golden.analysis);
//   expect_golden_sheet(tables, "GEMM", golden.csv_folder);
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/result.h"
#include "model/table.h"
#include "trace/analysis.h"

namespace assay::trace::testing {

// Returns the folder of the public tool's figures, which tests/data/README.md describes.
inline const std::filesystem::path& golden_folder() {
  static const std::filesystem::path unpacked = [] {
    std::filesystem::path folder = ::testing::TempDir() + "/public_trace_figures";
    std::filesystem::create_directories(folder);
    const std::string command = "tar --zstd -xf '" ASSAY_SOURCE_DIR
                                "/tests/data/public_trace_figures.tar.zst' -C '" +
                                folder.string() + "'";
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << command << " failed";
    return folder;
  }();
  return unpacked;
}

// Returns a folder with more traces and figures; it is absent from a clone.
inline std::filesystem::path shared_folder() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared";
}

// Splits a CSV text into records (RFC 4180).
inline std::vector<std::vector<std::string>> csv_records(std::string_view text) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      records.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      records.back().emplace_back();
    } else if (!quoted && c == '\n') {
      records.push_back({""});
    } else if (quoted || c != '\r') {
      records.back().back() += c;
    }
  }
  if (records.back().size() == 1 && records.back().front().empty()) records.pop_back();
  return records;
}

// Returns a number where the text is one, an empty cell for an empty text, else the text.
inline model::Cell csv_cell(const std::string& text) {
  if (text.empty()) return {};
  char* end = nullptr;
  errno = 0;
  const std::int64_t integer = std::strtoll(text.c_str(), &end, 10);
  if (*end == '\0' && errno == 0) return integer;
  const double real = std::strtod(text.c_str(), &end);
  if (*end == '\0') return real;
  return text;
}

// Reads a CSV file as a table with the name of the file.
inline core::Result<model::Table> read_csv_table(const std::filesystem::path& path) {
  const std::string text = ASSAY_TRY(core::read_file(path));
  const auto records = csv_records(text);
  if (records.empty()) return core::Error{path.string() + " is empty"};
  model::Table table{.name = path.stem().string(), .title = "", .columns = {}};
  for (const std::string& name : records.front())
    table.columns.push_back({.name = name});
  for (std::size_t r = 1; r < records.size(); ++r) {
    if (records[r].size() != records.front().size())
      return core::Error{path.string() + ": ragged row " + std::to_string(r)};
    for (const std::string& field : records[r])
      table.cells.push_back(csv_cell(field));
  }
  return table;
}

// Reads all CSV files of a folder as a book.
inline core::Result<model::Book> read_csv_book(const std::filesystem::path& folder) {
  model::Book book;
  for (const auto& path : ASSAY_TRY(core::list_directory(folder))) {
    const std::filesystem::path file = folder / path.filename();
    if (file.extension() == ".csv") book.tables.push_back(ASSAY_TRY(read_csv_table(file)));
  }
  return book;
}

inline bool same_cell(const model::Cell& actual, const model::Cell& expected, double tolerance) {
  const double a = model::number(actual);
  const double e = model::number(expected);
  if (std::isnan(a) || std::isnan(e)) return model::text(actual) == model::text(expected);
  constexpr double kCancellation = 1e-9;  // differences of nearly equal figures
  return std::fabs(a - e) <= tolerance * std::fabs(e) + kCancellation;
}

// Fails the test unless both tables have the same columns and the same rows in the same order.
inline void expect_same_table(const model::Table& actual,
                              const model::Table& expected,
                              double tolerance) {
  SCOPED_TRACE(expected.name);
  ASSERT_EQ(actual.columns.size(), expected.columns.size());
  for (std::size_t c = 0; c < actual.columns.size(); ++c)
    ASSERT_EQ(actual.columns[c].name, expected.columns[c].name);
  ASSERT_EQ(actual.row_count(), expected.row_count());
  for (std::size_t r = 0; r < actual.row_count(); ++r)
    for (std::size_t c = 0; c < actual.columns.size(); ++c)
      EXPECT_TRUE(same_cell(actual.at(r, c), expected.at(r, c), tolerance))
          << "row " << r << ", " << expected.columns[c].name << ": " << model::text(actual.at(r, c))
          << ", expected " << model::text(expected.at(r, c));
}

// Returns whether two texts are equal, except that numbers in them may differ by one part in a
// million.
bool nearly_equal(std::string_view actual, std::string_view expected);

// Describes the columns, rows and cells that differ, in at most `limit` lines.
std::vector<std::string> differences(const model::Table& actual,
                                     const model::Table& expected,
                                     std::size_t limit = 8);

// Fails the test unless the table named `name` equals <csv_folder>/<name>.csv.
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

// Returns the name of the folder with the figures: "h200_ctas_default_rank0_linked".
std::string folder_name(const RankChoice& choice);

struct GoldenRank {
  std::unique_ptr<model::Trace> trace;
  std::optional<RankAnalysis> analysis;  // in compat mode; empty when the trace cannot be read
  std::filesystem::path csv_folder;
};

// Reads and analyses a rank when it is first asked for; later calls return the same object.
const GoldenRank& golden_rank(const RankChoice& choice);

}  // namespace assay::trace::testing
