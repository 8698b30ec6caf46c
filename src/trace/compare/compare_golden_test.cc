// Compares every sheet with the public tool's comparison of two real 8-GPU runs, from the same
// inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "trace/compare/compare.h"
#include "trace/compare/rows.h"
#include "trace/golden_test_util.h"

namespace assay::trace {
namespace {

constexpr double kTolerance = 1e-6;

std::filesystem::path comparison_folder() {
  return testing::golden_folder() / "comparison/default_vs_16cta_256threads";
}

// The rows of All_Ranks_Combined hold the timeline of each rank.
std::vector<RankReport> rank_reports(const model::Table& all_ranks, const std::string& source) {
  std::vector<RankReport> reports;
  const RowGroups groups = group_rows(&all_ranks, {"source", "rank"}, MissingKeys::kDrop);
  for (const auto& [key, rows] : groups) {
    if (model::text(key[0]) != source) continue;
    model::Table timeline{.name = "gpu_timeline",
                          .title = "",
                          .columns = {{.name = "type"}, {.name = "time ms"}, {.name = "percent"}}};
    for (const std::size_t row : rows)
      timeline.add_row({all_ranks.at(row, 0), all_ranks.at(row, 1), all_ranks.at(row, 2)});
    RankReport report{.rank = static_cast<int>(model::number(key[1])), .book = {}};
    report.book.tables.push_back(std::move(timeline));
    reports.push_back(std::move(report));
  }
  return reports;
}

// The sheets are in the order of the public tool's workbook.
model::Book collective_report(const std::string& configuration) {
  const auto folder = testing::golden_folder() / "collective" / configuration / "csvs";
  model::Book book;
  for (const char* sheet :
       {"nccl_summary_implicit_sync", "nccl_summary_long", "nccl_summary_all2allv", "nccl_long",
        "nccl_implicit_sync", "nccl_all2allv", "straggler_summary"})
    book.tables.push_back(testing::read_csv_table(folder / (std::string(sheet) + ".csv")).value());
  return book;
}

Configuration golden_configuration(const std::string& label, const std::string& folder) {
  const auto path = comparison_folder() / "gpu_timeline_combined_sheets/All_Ranks_Combined.csv";
  return {.label = label,
          .ranks = rank_reports(testing::read_csv_table(path).value(), label),
          .collectives = collective_report(folder)};
}

const Comparison& golden_comparison() {
  static const Configuration baseline = golden_configuration("baseline", "default");
  static const Configuration test = golden_configuration("saleelk", "16cta_256threads");
  static const Comparison comparison =
      compare({baseline, test, {.compat = Compat::kTraceLens}}).value();
  return comparison;
}

std::vector<std::string> sheet_names(const model::Book& book) {
  std::vector<std::string> names;
  for (const model::Table& table : book.tables)
    names.push_back(table.name);
  return names;
}

// In the golden runs, rank columns and rows are in the order in which the processes ended
// (trace-analysis.md, 3.3), so columns are brought into our order and rows are sorted.
enum class Order { kExact, kAny };

model::Table ordered(const model::Table& table, const model::Table& like) {
  model::Table result{.name = table.name, .title = "", .columns = like.columns};
  std::vector<std::vector<model::Cell>> rows;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    std::vector<model::Cell> row;
    for (const model::Column& column : like.columns) {
      const auto position = table.column(column.name);
      row.push_back(position ? normalized(table.at(r, *position)) : model::Cell{"no column"});
    }
    rows.push_back(std::move(row));
  }
  const std::size_t source = like.columns.size() - 1;
  std::stable_sort(rows.begin(), rows.end(), [source](const auto& a, const auto& b) {
    return std::tie(a[source], a[0], a[1], a[2]) < std::tie(b[source], b[0], b[1], b[2]);
  });
  for (auto& row : rows)
    result.add_row(std::move(row));
  return result;
}

void expect_golden(const model::Book& book, const std::string& name, Order order) {
  const auto folder = comparison_folder() / (name + "_sheets");
  const model::Book golden = testing::read_csv_book(folder).value();
  EXPECT_EQ(book.tables.size(), golden.tables.size());
  for (const model::Table& expected : golden.tables) {
    const model::Table* actual = book.find(expected.name);
    ASSERT_NE(actual, nullptr) << expected.name;
    if (order == Order::kExact) {
      testing::expect_same_table(*actual, expected, kTolerance);
    } else {
      ASSERT_EQ(actual->columns.size(), expected.columns.size());
      testing::expect_same_table(ordered(*actual, *actual), ordered(expected, *actual), kTolerance);
    }
  }
}

TEST(CompareGolden, GpuTimelineCombined) {
  expect_golden(golden_comparison().timeline_combined, "gpu_timeline_combined", Order::kExact);
}

TEST(CompareGolden, GpuTimelineComparison) {
  const model::Book& book = golden_comparison().timeline_comparison;
  expect_golden(book, "gpu_timeline_comparison", Order::kExact);
  EXPECT_EQ(
      sheet_names(book),
      (std::vector<std::string>{"Summary", "All_Ranks_Combined", "Per_Rank_Time_ms",
                                "Per_Rank_Percent", "Comparison_By_Rank", "Summary_Comparison"}));
}

TEST(CompareGolden, CollectiveCombined) {
  expect_golden(golden_comparison().collective_combined, "collective_combined", Order::kAny);
}

TEST(CompareGolden, CollectiveComparison) {
  const model::Book& book = golden_comparison().collective_comparison;
  expect_golden(book, "collective_comparison", Order::kExact);
  EXPECT_EQ(sheet_names(book),
            (std::vector<std::string>{"nccl_summary_implicit_sync", "nccl_summary_long",
                                      "nccl_summary_all2allv", "straggler_summary",
                                      "nccl_implicit_sync_cmp", "nccl_long_cmp"}));
}

TEST(CompareGolden, FinalReport) {
  const model::Book& book = golden_comparison().final_report;
  expect_golden(book, "final_analysis_report", Order::kExact);
  EXPECT_EQ(sheet_names(book),
            (std::vector<std::string>{
                "Summary_Dashboard", "GPU_Summary_Raw", "GPU_AllRanks_Raw", "GPU_Time_Raw",
                "GPU_Pct_Raw", "GPU_ByRank_Cmp", "GPU_Summary_Cmp", "NCCL_ImplSync_Raw",
                "NCCL_Long_Raw", "NCCL_nccl_summary_all2allv_Raw", "NCCL_straggler_summary_Raw",
                "NCCL_ImplSync_Cmp", "NCCL_Long_Cmp"}));
  for (const model::Table& table : book.tables) {
    const bool raw = table.name.find("_Raw") != std::string::npos;
    EXPECT_EQ(table.style.visibility == model::Visibility::kHidden, raw) << table.name;
    EXPECT_TRUE(table.style.excel_table) << table.name;
  }
  EXPECT_EQ(book.find("NCCL_ImplSync_Cmp")->style.color_scales.size(), 4U);
  EXPECT_EQ(book.find("GPU_Summary_Cmp")->style.color_scales,
            std::vector<std::string>{"percent_change"});
}

// The workbook has 100 where the figures before had 100.0.
TEST(CompareGolden, WholeNumbersAreIntegers) {
  const model::Table& summary = *golden_comparison().timeline_combined.find("Summary");
  EXPECT_EQ(model::text(summary.at(7, 0)), "total_time");
  EXPECT_EQ(summary.at(7, 2), model::Cell{std::int64_t{100}});
}

// These whole traces name no steps, so the default mode must claim nothing.
TEST(CompareGolden, DefaultModeClaimsNothingWithoutSteps) {
  const Configuration baseline = golden_configuration("baseline", "default");
  const Configuration test = golden_configuration("saleelk", "16cta_256threads");
  const Comparison comparison = compare({baseline, test}).value();
  EXPECT_FALSE(comparison.answer.regression);
  const model::Table& dashboard = *comparison.final_report.find("Summary_Dashboard");
  for (std::size_t row = 0; row < dashboard.row_count(); ++row)
    EXPECT_EQ(model::text(dashboard.at(row, *dashboard.column("Verdict"))), "Unknown: no steps");

  // 48 instances a side are enough to show a real difference of the all-gather; 1.0737 converts GiB
  // to GB.
  const model::Table& cmp = *comparison.collective_comparison.find("nccl_implicit_sync_cmp");
  const auto value = [&cmp](const char* column) { return cmp.at(0, *cmp.column(column)); };
  EXPECT_EQ(model::text(value("Collective name")), "_allgather_base");
  EXPECT_EQ(model::text(value("status")), "Different in these runs");
  EXPECT_NEAR(model::number(value("percent_change_comm_latency (us)_mean")), -68.19254428754611,
              1e-6);
  EXPECT_NEAR(model::number(value("baseline_bus bw (GB/s)_mean")), 288.3639479827847 * 1.073741824,
              1e-6);
}

}  // namespace
}  // namespace assay::trace
