// What the public tool makes of traces that the samples do not hold. The figures are the public
// tool's own for these traces.
#include <gtest/gtest.h>

#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

const Options kCompat{.compat = Compat::kTraceLens};

model::Book report_of(const testing::SmallTrace& small, const Options& options = kCompat) {
  const bool compat = options.compat == Compat::kTraceLens;
  const model::Trace trace = small.read(compat ? LaunchFlows::kRead : LaunchFlows::kSkip);
  return individual_report(analyze_rank(trace, options, 0));
}

std::vector<std::string> cells_of(const model::Book& book, const char* table, std::size_t row) {
  const model::Table* found = book.find(table);
  std::vector<std::string> cells;
  for (std::size_t c = 0; found != nullptr && row < found->row_count() && c < found->columns.size();
       ++c)
    cells.push_back(model::text(found->at(row, c)));
  return cells;
}

// Two threads without names cannot be told apart in a row, nor can two spellings of one list.
TEST(OperatorRows, ThatLookAlikeAreOne) {
  testing::SmallTrace small;
  int start = 0;
  for (const char* dims : {"[[2,2],[2,2]]", "[[2, 2], [2, 2]]"}) {
    for (const int thread : {1, 2}) {
      const std::string arguments =
          std::string(R"("Input Dims": )") + dims + R"(, "Input type": ["float", "float"])";
      small.op({.name = "aten::add",
                .thread = thread,
                .start = start,
                .duration = 10,
                .arguments = arguments});
      small.launch("add_kernel", thread, start + 1, 5);
      start += 20;
    }
  }
  for (const Options& options : {Options{}, kCompat}) {
    const model::Book book = report_of(small, options);
    for (const char* name : {"ops_unique_args", "unified_perf_summary"}) {
      const model::Table* table = book.find(name);
      ASSERT_NE(table, nullptr);
      EXPECT_EQ(table->row_count(), 1U) << name;
    }
  }
  EXPECT_EQ(cells_of(report_of(small), "ops_unique_args", 0)[4], "Unknown");
}

TEST(GpuOnlyTraces, ShowKernelsWithoutOperators) {
  testing::SmallTrace small;
  for (const int start : {0, 10, 20})
    small.launch(start == 20 ? "long_kernel" : "kernel", 1, start, start == 20 ? 60 : 4);
  const model::Book book = report_of(small);
  EXPECT_EQ(book.find("ops_summary"), nullptr);
  EXPECT_EQ(book.find("ops_unique_args"), nullptr);
  EXPECT_EQ(book.find("unified_perf_summary"), nullptr);
  EXPECT_EQ(book.find("kernel_summary")->columns[1].name, "Kernel name");
  EXPECT_EQ(book.find("short_kernels_summary")->columns.size(), 5U);
  const std::vector<std::string> expected{"kernel", "8.0", "2", "4.0", "10.0"};
  EXPECT_EQ(cells_of(book, "short_kernels_summary", 0), expected);
  EXPECT_EQ(book.find("short_kernels_summary")->row_count(), 1U);

  const model::Book right = report_of(small, {});
  EXPECT_NE(right.find("ops_summary"), nullptr);
  EXPECT_EQ(right.find("short_kernels_summary")->columns.size(), 9U);
}

// On ROCm a call that sets memory has no arrow to its GPU work, so the public tool does not know
// who launched it.
TEST(LaunchFlows, AreNeededInCompatMode) {
  testing::SmallTrace small;
  small.op({.name = "aten::zero_", .start = 0, .duration = 50});
  small.launch("kernel", 1, 1, 10);
  small.set_memory(1, 20, 30);
  const auto direct_us = [](const model::Book& book) {
    return cells_of(book, "ops_summary", 0)[1];
  };
  EXPECT_EQ(direct_us(report_of(small)), "10.0");
  EXPECT_EQ(direct_us(report_of(small, {})), "40.0");
}

TEST(SyntheticRows, HaveNoCategoryOfTheirKernel) {
  testing::SmallTrace small;
  small.op({.name = "aten::add", .start = 0, .duration = 10});
  small.launch_by("cudaGraphLaunch", "void at::native::elementwise_kernel<4>", 1, 20, 5);
  EXPECT_EQ(cells_of(report_of(small, kCompat), "unified_perf_summary", 0)[1], "other");
  EXPECT_EQ(cells_of(report_of(small, {}), "unified_perf_summary", 0)[1], "elementwise");
}

// The types of the arguments are not shown, so they must not split a row.
TEST(ShortKernels, OfCallsThatLookAlikeAreOneRow) {
  testing::SmallTrace small;
  int start = 0;
  for (const char* type : {"float", "long int"}) {
    const std::string arguments =
        std::string(R"("Input Dims": [[2], []], "Input Strides": [[1], []], "Input type": [")") +
        type + R"(", ""], "Concrete Inputs": ["", "1"])";
    small.op({.name = "aten::add", .start = start, .duration = 10, .arguments = arguments});
    small.launch("add_kernel", 1, start + 1, 4);
    start += 20;
  }
  for (const Options& options : {Options{}, kCompat}) {
    const model::Book book = report_of(small, options);
    EXPECT_EQ(book.find("short_kernels_summary")->row_count(), 1U);
    EXPECT_EQ(cells_of(book, "short_kernels_summary", 0)[6], "2");
  }
}

// A duration on the edge of two bins belongs to the upper one.
TEST(ShortKernels, FallIntoTheBinsThatAreShown) {
  testing::SmallTrace small;
  std::size_t count = 0;
  for (int duration = 1; duration <= 9; ++duration, ++count)
    small.launch("kernel", 1, 20 * duration, duration);
  const model::Book book = report_of(small);
  const model::Table* table = book.find("short_kernel_histogram");
  std::int64_t total = 0;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    const double begin = model::number(table->at(row, 0));
    const double end = model::number(table->at(row, 1));
    std::int64_t within = 0;
    for (int duration = 1; duration <= 9; ++duration) {
      const bool last = row + 1 == table->row_count();
      if (duration >= begin && (duration < end || last)) ++within;
    }
    EXPECT_EQ(std::get<std::int64_t>(table->at(row, 2)), within) << begin;
    total += within;
  }
  EXPECT_EQ(total, 9);
}

}  // namespace
}  // namespace assay::trace
