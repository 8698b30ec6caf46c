// Compares all sheets of the individual report in compat mode with those of the public tool. Also
// implements golden_test_util.h, here because only the tests need it, and proves that its
// comparisons can fail.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "trace/golden_test_util.h"
#include "trace/reader/reader.h"
#include "trace/sheet.h"

namespace assay::trace::testing {
namespace {

bool starts_with_number(std::string_view text) {
  const std::size_t digit = text[0] == '-' && text.size() > 1 ? 1 : 0;
  return text[digit] >= '0' && text[digit] <= '9';
}

// Returns the number at the start of `text` and removes it from there.
double take_number(std::string_view& text) {
  constexpr std::size_t kLongest = 40;
  const std::string copy(text.substr(0, kLongest));
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  text.remove_prefix(static_cast<std::size_t>(end - copy.c_str()));
  return value;
}

bool close(double actual, double expected) {
  constexpr double kRounding = 1e-9;  // figures are microseconds and percentages
  return std::fabs(actual - expected) <= std::max(kRounding, 1e-6 * std::fabs(expected));
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kShown = 160;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "…";
}

// The CSV files hold the text "nan" for NaN.
std::string golden_text(const model::Cell& cell) {
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr && std::isnan(*real) ? "nan" : model::text(cell);
}

std::string column_name(const model::Table& table, std::size_t column) {
  return column < table.columns.size() ? table.columns[column].name : "nothing";
}

std::vector<std::string> column_differences(const model::Table& actual,
                                            const model::Table& expected) {
  std::vector<std::string> found;
  for (std::size_t c = 0; c < std::max(actual.columns.size(), expected.columns.size()); ++c) {
    const std::string is = column_name(actual, c);
    const std::string wanted = column_name(expected, c);
    if (is != wanted) found.push_back(fmt::format("column {} is {} instead of {}", c, is, wanted));
  }
  return found;
}

}  // namespace

bool nearly_equal(std::string_view actual, std::string_view expected) {
  while (!actual.empty() && !expected.empty()) {
    if (starts_with_number(actual) && starts_with_number(expected)) {
      if (!close(take_number(actual), take_number(expected))) return false;
    } else {
      if (actual[0] != expected[0]) return false;
      actual.remove_prefix(1);
      expected.remove_prefix(1);
    }
  }
  return actual.empty() && expected.empty();
}

std::vector<std::string> differences(const model::Table& actual,
                                     const model::Table& expected,
                                     std::size_t limit) {
  std::vector<std::string> found = column_differences(actual, expected);
  if (!found.empty()) return found;
  if (actual.row_count() != expected.row_count())
    found.push_back(fmt::format("{} rows instead of {}", actual.row_count(), expected.row_count()));
  for (std::size_t r = 0; r < std::min(actual.row_count(), expected.row_count()); ++r) {
    for (std::size_t c = 0; c < actual.columns.size() && found.size() < limit; ++c) {
      const std::string is = model::text(actual.at(r, c));
      const std::string wanted = golden_text(expected.at(r, c));
      if (nearly_equal(is, wanted)) continue;
      found.push_back(fmt::format("row {} ({}), {}: {} instead of {}", r + 1,
                                  shortened(model::text(expected.at(r, 0))),
                                  expected.columns[c].name, shortened(is), shortened(wanted)));
    }
  }
  return found;
}

void expect_golden_sheet(std::span<const model::Table> tables,
                         std::string_view name,
                         const std::filesystem::path& csv_folder) {
  const auto expected = read_csv_table(csv_folder / (std::string(name) + ".csv"));
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto actual = std::find_if(tables.begin(), tables.end(),
                                   [&](const model::Table& table) { return table.name == name; });
  ASSERT_NE(actual, tables.end()) << "no table " << name;
  for (const std::string& difference : differences(*actual, expected.value()))
    ADD_FAILURE() << name << ": " << difference;
}

std::string folder_name(const RankChoice& choice) {
  return fmt::format("h200_{}_rank{}{}", choice.configuration, choice.rank,
                     choice.unlinked == Unlinked::kCounted ? "" : "_linked");
}

namespace {

// The run of samples/traces-2gpu; other runs lie in the shared folder.
constexpr const char* kBundledRun = "ctas_default";

std::filesystem::path trace_file(const RankChoice& choice) {
  const bool bundled = choice.configuration == kBundledRun;
  return (bundled ? std::filesystem::path(ASSAY_SOURCE_DIR) / "samples/traces-2gpu"
                  : shared_folder() / "samples/traces-8gpu") /
         choice.configuration / "torch_profiler" / fmt::format("rank{}", choice.rank) /
         "trace.json.gz";
}

}  // namespace

const GoldenRank& golden_rank(const RankChoice& choice) {
  static std::map<RankChoice, GoldenRank> ranks;
  const auto [found, is_new] = ranks.try_emplace(choice);
  GoldenRank& golden = found->second;
  if (!is_new) return golden;
  const bool bundled = choice.configuration == kBundledRun;
  const std::filesystem::path figures =
      bundled ? golden_folder() : shared_folder() / "golden/trace";
  golden.csv_folder = figures / "individual" / folder_name(choice) / "csvs";
  core::Result<model::Trace> trace =
      read_trace(trace_file(choice), {}, {.flows = LaunchFlows::kRead});
  if (!trace.ok()) {
    ADD_FAILURE() << trace.error().message;
    return golden;
  }
  golden.trace = std::make_unique<model::Trace>(std::move(trace).value());
  Options options;
  options.compat = Compat::kTraceLens;
  options.include_unlinked = choice.unlinked == Unlinked::kCounted;
  options.short_kernel_us = options.include_unlinked ? 50 : 10;  // as the public tool was run
  golden.analysis = analyze_rank(*golden.trace, options, choice.rank);
  return golden;
}

namespace {

TEST(GoldenComparison, TellsNumbersApartWithinTexts) {
  EXPECT_TRUE(nearly_equal("{'a': 1.0000001, 'b': 'x'}", "{'a': 1, 'b': 'x'}"));
  EXPECT_FALSE(nearly_equal("{'a': 1.00001}", "{'a': 1}"));
  EXPECT_TRUE(nearly_equal("25167872", "25167872.0"));
  EXPECT_TRUE(nearly_equal("-2e-3", "-0.002"));
  EXPECT_FALSE(nearly_equal("kernel_1", "kernel_2"));
  EXPECT_FALSE(nearly_equal("", "0"));
  EXPECT_FALSE(nearly_equal("ab", "abc"));
}

TEST(GoldenComparison, ListsWhatDiffers) {
  model::Table table{"t", "", {{"name"}, {"value"}}};
  table.add_row({std::string("a"), 1.5});
  table.add_row({std::string("b"), std::monostate()});
  EXPECT_TRUE(differences(table, table).empty());

  model::Table other = table;
  other.at(0, 1) = 2.5;
  EXPECT_EQ(differences(table, other),
            std::vector<std::string>{"row 1 (a), value: 1.5 instead of 2.5"});
  other.cells.resize(2);
  EXPECT_EQ(differences(table, other).front(), "2 rows instead of 1");
  other.columns[1].name = "size";
  EXPECT_EQ(differences(table, other),
            std::vector<std::string>{"column 1 is value instead of size"});
}

class GoldenReport : public ::testing::TestWithParam<RankChoice> {};

TEST_P(GoldenReport, IsThatOfThePublicTool) {
  const GoldenRank& golden = golden_rank(GetParam());
  ASSERT_TRUE(golden.analysis);
  const model::Book book = individual_report(*golden.analysis);
  int sheets = 0;
  for (const auto& file : std::filesystem::directory_iterator(golden.csv_folder)) {
    expect_golden_sheet(book.tables, file.path().stem().string(), golden.csv_folder);
    ++sheets;
  }
  EXPECT_GE(sheets, 16);
}

// Returns the ranks whose traces are here.
std::vector<RankChoice> golden_ranks() {
  std::vector<RankChoice> ranks;
  for (const RankChoice& rank :
       {RankChoice{kBundledRun, 0}, RankChoice{"default", 0}, RankChoice{"16cta_256threads", 5}}) {
    if (rank.configuration != kBundledRun && !std::filesystem::exists(trace_file(rank))) {
      continue;
    }
    for (const Unlinked unlinked : {Unlinked::kCounted, Unlinked::kLeftOut})
      ranks.push_back({rank.configuration, rank.rank, unlinked});
  }
  return ranks;
}

INSTANTIATE_TEST_SUITE_P(Ranks,
                         GoldenReport,
                         ::testing::ValuesIn(golden_ranks()),
                         [](const auto& choice) { return folder_name(choice.param); });

}  // namespace
}  // namespace assay::trace::testing
