// Compares the report in compat mode with the public tool's own CSV files, cell by cell.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"
#include "report/book.h"
#include "trace/collectives/report.h"
#include "trace/golden_test_util.h"
#include "trace/reader/reader.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;

bool is_real(const std::string& field) {
  return field.find_first_of(".e") != std::string::npos;
}

// Compares reals to 1e-6, since differences of times of 4e12 us are multiples of 5e-4 us in the
// public tool, and everything else letter by letter: "8" is not "8.0".
bool is_same(const std::string& actual, const std::string& expected) {
  if (actual == expected) return true;
  if (!is_real(actual) || !is_real(expected)) return false;
  char* end = nullptr;
  const double a = std::strtod(actual.c_str(), &end);
  if (*end != '\0') return false;
  const double e = std::strtod(expected.c_str(), &end);
  return *end == '\0' && std::fabs(a - e) <= 1e-6 * std::fabs(e);
}

void expect_same(const model::Table& table, const std::filesystem::path& file) {
  SCOPED_TRACE(file.string());
  const auto text = core::read_file(file);
  ASSERT_TRUE(text.ok());
  const auto actual = testing::csv_records(report::csv(table, report::CsvHeader::kNames));
  const auto expected = testing::csv_records(text.value());
  ASSERT_EQ(actual.front(), expected.front());
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t r = 1; r < expected.size(); ++r) {
    ASSERT_EQ(actual[r].size(), expected[r].size());
    for (std::size_t c = 0; c < expected[r].size(); ++c) {
      EXPECT_TRUE(is_same(actual[r][c], expected[r][c]))
          << "row " << r << ", " << expected.front()[c] << ": " << actual[r][c] << ", expected "
          << expected[r][c];
    }
  }
}

std::vector<model::Trace> read_ranks(const std::filesystem::path& run, int count) {
  std::vector<model::Trace> traces;
  for (int rank = 0; rank < count; ++rank) {
    auto trace =
        read_trace(run / "torch_profiler" / ("rank" + std::to_string(rank)) / "trace.json.gz");
    if (!trace.ok()) ADD_FAILURE() << trace.error().message;
    if (trace.ok()) traces.push_back(std::move(trace).value());
  }
  return traces;
}

std::vector<RankAnalysis> analyse(const std::vector<model::Trace>& traces, Compat compat) {
  Options options;
  options.compat = compat;
  std::vector<RankAnalysis> ranks;
  for (const model::Trace& trace : traces)
    ranks.push_back(analyze_rank(trace, options, static_cast<int>(ranks.size())));
  return ranks;
}

void expect_golden_book(const std::filesystem::path& run,
                        int count,
                        const std::filesystem::path& expected) {
  const auto traces = read_ranks(run, count);
  const auto ranks = analyse(traces, Compat::kTraceLens);
  const CollectiveReport report = collective_report(ranks);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(expected)) {
    ++files;
    const model::Table* table = report.book.find(entry.path().stem().string());
    ASSERT_NE(table, nullptr) << entry.path();
    expect_same(*table, entry.path());
  }
  EXPECT_EQ(report.book.tables.size(), files);
}

TEST(CollectiveGolden, TwoGpusInCompatMode) {
  expect_golden_book(kSource / "samples/traces-2gpu/ctas_default", 2,
                     kSource / "tests/golden/trace/collectives/2gpu_ctas_default");
}

TEST(CollectiveGolden, EightGpusInCompatMode) {
  expect_golden_book(kSource / "samples/sweep-nccl-ctas/default/repeat1", 8,
                     testing::golden_folder() / "collective/sweep_default/csvs");
  const auto more = testing::shared_folder() / "samples/traces-8gpu";
  if (!std::filesystem::exists(more)) return;
  for (const std::string configuration : {"default", "16cta_256threads"}) {
    expect_golden_book(
        more / configuration, 8,
        testing::shared_folder() / "golden/trace/collective" / configuration / "csvs");
  }
}

void expect_golden_rank(const std::filesystem::path& run,
                        int rank,
                        const std::filesystem::path& golden) {
  const auto trace =
      read_trace(run / "torch_profiler" / ("rank" + std::to_string(rank)) / "trace.json.gz");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  Options options;
  options.compat = Compat::kTraceLens;
  const model::Book book = individual_report(analyze_rank(trace.value(), options, rank));
  const model::Table* table = book.find("coll_analysis");
  ASSERT_NE(table, nullptr);
  expect_same(*table, golden / "csvs/coll_analysis.csv");
}

TEST(CollectiveGolden, IndividualReportsInCompatMode) {
  const auto bundled = testing::golden_folder() / "individual";
  for (const char* figures : {"h200_ctas_default_rank0", "h200_ctas_default_rank0_linked"})
    expect_golden_rank(kSource / "samples/traces-2gpu/ctas_default", 0, bundled / figures);
  const auto more = testing::shared_folder() / "samples/traces-8gpu";
  if (!std::filesystem::exists(more)) return;
  const auto golden = testing::shared_folder() / "golden/trace/individual";
  for (const char* figures : {"h200_default_rank0", "h200_default_rank0_linked"})
    expect_golden_rank(more / "default", 0, golden / figures);
  for (const char* figures : {"h200_16cta_256threads_rank5", "h200_16cta_256threads_rank5_linked"})
    expect_golden_rank(more / "16cta_256threads", 5, golden / figures);
}

// Without compat mode the leaked kernels are left out. Figures that do not depend on them are
// equal.
TEST(CollectiveGolden, DefaultModeAgreesWhereItShould) {
  const auto traces = read_ranks(kSource / "samples/traces-2gpu/ctas_default", 2);
  const auto right = analyse(traces, Compat::kNone);
  const auto compat = analyse(traces, Compat::kTraceLens);
  const CollectiveReport by_default = collective_report(right);
  const CollectiveReport public_tool = collective_report(compat);
  const model::Table* ours = by_default.book.find("nccl_summary_implicit_sync");
  const model::Table* theirs = public_tool.book.find("nccl_summary_implicit_sync");
  ASSERT_NE(ours, nullptr);
  ASSERT_NE(theirs, nullptr);
  ASSERT_EQ(ours->row_count(), theirs->row_count());
  const auto figure = [](const model::Table& table, std::size_t row, const char* column) {
    return model::number(table.at(row, table.column(column).value()));
  };
  for (std::size_t r = 0; r < ours->row_count(); ++r) {
    EXPECT_DOUBLE_EQ(figure(*ours, r, "count"), figure(*theirs, r, "count"));
    EXPECT_NEAR(figure(*ours, r, "comm_latency_mean"), figure(*theirs, r, "comm_latency_mean"),
                1e-9);
    EXPECT_NEAR(figure(*ours, r, "skew in start time_mean"),
                figure(*theirs, r, "skew in start time_mean"), 1e-3);
    EXPECT_NEAR(figure(*ours, r, "algo bw (GiB/s)_mean"), figure(*theirs, r, "algo bw (GB/s)_mean"),
                1e-9);
    EXPECT_NEAR(figure(*ours, r, "bus bw (GB/s)_mean"),
                figure(*theirs, r, "bus bw (GB/s)_mean") * 1.073741824, 1e-9);
    EXPECT_GT(figure(*ours, r, "channels"), 0);
    EXPECT_GT(figure(*ours, r, "threads"), 0);
  }
  EXPECT_EQ(by_default.book.find("unmatched_collectives"), nullptr);
  EXPECT_NE(by_default.book.find("clock_offsets"), nullptr);
  EXPECT_NE(by_default.book.find("nccl_all2allv_heatmap"), nullptr);
}

}  // namespace
}  // namespace assay::trace
