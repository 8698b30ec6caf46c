// Implementation of golden_test_util.h (named so that it is built into the tests only), with the
// proof that a comparison can fail.
#include "trace/golden_test_util.h"

#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>

#include "trace/reader/reader.h"

namespace assay::trace {
namespace {

// Below this, a difference is rounding: figures are µs, ms, percent or larger.
constexpr double kAbsoluteTolerance = 1e-9;

bool is_number_start(std::string_view text) {
  const std::size_t digit = text[0] == '-' && text.size() > 1 ? 1 : 0;
  return text[digit] >= '0' && text[digit] <= '9';
}

// The number at the start of `text` and the length of its spelling.
std::pair<double, std::size_t> leading_number(std::string_view text) {
  const std::string copy(text.substr(0, 40));
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return {value, static_cast<std::size_t>(end - copy.c_str())};
}

bool close(double a, double b, double tolerance) {
  return std::fabs(a - b) <= std::max(kAbsoluteTolerance, tolerance * std::fabs(b));
}

std::string shortened(std::string_view text) {
  return std::string(text.substr(0, 160)) + (text.size() > 160 ? "…" : "");
}

std::string row_label(const std::vector<std::string>& row) {
  return row.empty() ? "" : shortened(row[0]);
}

}  // namespace

std::filesystem::path shared_path(std::string_view relative) {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / ".." / "shared" / relative;
}

std::optional<CsvRows> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CsvRows rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.emplace_back(1);
    } else if (quoted || c != '\r') {
      rows.back().back() += c;
    }
  }
  if (rows.back().size() == 1 && rows.back()[0].empty()) rows.pop_back();
  return rows;
}

bool nearly_equal(std::string_view actual, std::string_view expected, double tolerance) {
  while (!actual.empty() && !expected.empty()) {
    if (is_number_start(actual) && is_number_start(expected)) {
      const auto [a, a_size] = leading_number(actual);
      const auto [b, b_size] = leading_number(expected);
      if (!close(a, b, tolerance)) return false;
      actual.remove_prefix(a_size);
      expected.remove_prefix(b_size);
    } else {
      if (actual[0] != expected[0]) return false;
      actual.remove_prefix(1);
      expected.remove_prefix(1);
    }
  }
  return actual.empty() && expected.empty();
}

std::vector<std::string> differences(const model::Table& actual,
                                     const CsvRows& expected,
                                     std::size_t limit) {
  std::vector<std::string> found;
  if (expected.empty()) return {"the expected table is empty"};
  std::vector<std::string> columns;
  for (const model::Column& column : actual.columns)
    columns.push_back(column.name);
  if (columns != expected[0]) {
    for (std::size_t c = 0; c < std::max(columns.size(), expected[0].size()); ++c) {
      const std::string is = c < columns.size() ? columns[c] : "nothing";
      const std::string wanted = c < expected[0].size() ? expected[0][c] : "nothing";
      if (is != wanted && found.size() < limit)
        found.push_back(fmt::format("column {} is '{}' instead of '{}'", c, is, wanted));
    }
    return found;
  }
  if (actual.row_count() + 1 != expected.size())
    found.push_back(fmt::format("{} rows instead of {}", actual.row_count(), expected.size() - 1));
  for (std::size_t r = 0; r < actual.row_count() && r + 1 < expected.size(); ++r) {
    for (std::size_t c = 0; c < columns.size() && found.size() < limit; ++c) {
      const std::string is = model::text(actual.at(r, c));
      const std::string& wanted = expected[r + 1][c];
      if (!nearly_equal(is, wanted))
        found.push_back(fmt::format("row {} ({}), {}: {} instead of {}", r + 1,
                                    row_label(expected[r + 1]), columns[c], shortened(is),
                                    shortened(wanted)));
    }
  }
  return found;
}

void expect_golden(const model::Book& book,
                   std::string_view table,
                   const std::filesystem::path& csv_path) {
  const std::optional<CsvRows> expected = read_csv(csv_path);
  ASSERT_TRUE(expected.has_value()) << csv_path << " is not there";
  const model::Table* actual = book.find(table);
  ASSERT_NE(actual, nullptr) << "no table " << table;
  for (const std::string& difference : differences(*actual, *expected))
    ADD_FAILURE() << table << ": " << difference;
}

const GoldenRank& golden_rank(std::string_view configuration, int rank, Unlinked unlinked) {
  static std::map<std::tuple<std::string, int, Unlinked>, GoldenRank> ranks;
  const auto [found, is_new] = ranks.try_emplace({std::string(configuration), rank, unlinked});
  GoldenRank& golden = found->second;
  if (!is_new) return golden;
  const std::string relative = fmt::format(
      "samples/traces-8gpu/{}/torch_profiler/rank{}/trace.json.gz", configuration, rank);
  if (!std::filesystem::exists(shared_path(relative))) {
    golden.reason = "../shared/" + relative + " is not there";
    return golden;
  }
  core::Result<model::Trace> trace = read_trace(shared_path(relative));
  if (!trace.ok()) {
    golden.reason = trace.error().message;
    ADD_FAILURE() << golden.reason;
    return golden;
  }
  golden.trace = std::make_unique<model::Trace>(std::move(trace).value());
  Options options;
  options.compat = Compat::kTraceLens;
  options.include_unlinked = unlinked == Unlinked::kCounted;
  options.short_kernel_us = 50;
  golden.analysis = analyze_rank(*golden.trace, options, rank);
  return golden;
}

namespace {

TEST(Golden, TellsNumbersApartWithinTexts) {
  EXPECT_TRUE(nearly_equal("{'a': 1.0000001, 'b': 'x'}", "{'a': 1, 'b': 'x'}"));
  EXPECT_FALSE(nearly_equal("{'a': 1.00001}", "{'a': 1}"));
  EXPECT_TRUE(nearly_equal("25167872", "25167872.0"));
  EXPECT_TRUE(nearly_equal("-2e-3", "-0.002"));
  EXPECT_FALSE(nearly_equal("kernel_1", "kernel_2"));
  EXPECT_FALSE(nearly_equal("", "0"));
  EXPECT_FALSE(nearly_equal("ab", "abc"));
}

TEST(Golden, ListsWhatDiffers) {
  model::Table table{"t", "", {{"name"}, {"value"}}};
  table.add_row({std::string("a"), 1.5});
  table.add_row({std::string("b"), std::monostate()});
  EXPECT_TRUE(differences(table, {{"name", "value"}, {"a", "1.5"}, {"b", ""}}).empty());
  EXPECT_EQ(differences(table, {{"name", "value"}, {"a", "2.5"}, {"b", ""}}),
            std::vector<std::string>{"row 1 (a), value: 1.5 instead of 2.5"});
  EXPECT_EQ(differences(table, {{"name", "value"}, {"a", "1.5"}}).size(), 1U);
  EXPECT_EQ(differences(table, {{"name", "size"}}),
            std::vector<std::string>{"column 1 is 'value' instead of 'size'"});
}

}  // namespace
}  // namespace assay::trace
