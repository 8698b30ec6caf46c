#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/output_file.h"
#include "core/terminal.h"
#include "trace/pipelines.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

CommandResult compared(const std::string& test_run) {
  const std::filesystem::path inputs =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/trace/compare_repeats/in";
  CompareRequest request;
  request.baseline = inputs / "slow";
  request.test = inputs / test_run;
  request.output.kind = Output::Kind::kBook;
  core::Progress silent("", core::Progress::Show::kNever);
  return run_compare(request, silent).value();
}

TEST(RunCompare, TheHeadlineCountsRuns) {
  const Headline headline = compared("fast").headline.value();
  // The last step is completed by its wait, which the mean of the window lacks.
  EXPECT_NEAR(headline.baseline_ms, 0.775506, 1e-6);
  EXPECT_NEAR(headline.test_ms, 0.623446, 1e-6);
  EXPECT_NEAR(headline.baseline_mean_ms, 0.763368, 1e-6);
  EXPECT_NEAR(headline.test_mean_ms, 0.613688, 1e-6);
  EXPECT_NEAR(headline.change_percent, 19.61, 0.01);
  EXPECT_LT(headline.change_percent_low, headline.change_percent);
  EXPECT_GT(headline.change_percent_high, headline.change_percent);
  EXPECT_EQ(headline.verdict, "Better");
  EXPECT_EQ(headline.repetition, "run");
  EXPECT_EQ(headline.baseline_runs, 2U);
  EXPECT_EQ(headline.test_steps, 10U);
}

TEST(RunCompare, TheHeadlineCountsRunsAlsoWhereASideWasRunOnce) {
  const Headline headline = compared("fast/repeat1").headline.value();
  EXPECT_EQ(headline.repetition, "run");
  EXPECT_EQ(headline.baseline_repetitions, 2U);
  EXPECT_EQ(headline.test_repetitions, 1U);
  EXPECT_EQ(headline.test_runs, 1U);
  EXPECT_EQ(headline.baseline_steps, 10U);
}

// Copies of a run say nothing of the noise between runs, however they were compressed.
TEST(RunCompare, RepeatsThatAreOneMeasurementCountOnce) {
  const fs::path folder = fs::path(::testing::TempDir()) / "compare_test_copies";
  fs::remove_all(folder);
  CompareRequest request;
  request.baseline = folder / "slow";
  request.test = folder / "fast";
  request.output.kind = Output::Kind::kBook;
  for (const char* side : {"slow", "fast"})
    for (const char* repeat : {"repeat1", "repeat2", "repeat3"}) {
      fs::create_directories(folder / side);
      fs::copy(
          fs::path(ASSAY_SOURCE_DIR) / "tests/golden/trace/compare_repeats/in" / side / "repeat1",
          folder / side / repeat, fs::copy_options::recursive);
    }
  core::Progress silent("", core::Progress::Show::kNever);
  const CommandResult result = run_compare(request, silent).value();
  const Headline& headline = result.headline.value();
  EXPECT_EQ(headline.baseline_runs, 1U);
  EXPECT_EQ(headline.repetition, "step");
  EXPECT_EQ(headline.verdict, "Different in these runs");
  fs::remove_all(folder);
}

TEST(RunCompare, ABookOpensWithTheAnswerAndIsNoFile) {
  const CommandResult result = compared("fast");
  ASSERT_TRUE(result.book);
  EXPECT_EQ(result.book->tables.front().name, "summary");
  EXPECT_NE(result.book->find("Summary_Dashboard"), nullptr);
  EXPECT_TRUE(result.written.empty());
}

TEST(RunCompare, OtherLibrariesAreWarnedOf) {
  const CommandResult result = compared("fast");
  ASSERT_EQ(result.warnings.all().size(), 2U);
  EXPECT_NE(result.warnings.all()[0].reason.find("different NCCL version"), std::string::npos);
  EXPECT_TRUE(compared("fast/repeat1").warnings.empty());
}

// Returns the clock offsets of a comparison of a run of two hosts that list more devices than they
// use, one row for each rank.
std::string offsets_with(std::optional<int> gpus_per_node) {
  CompareRequest request;
  request.baseline =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/trace/hosts_with_idle_devices/in/run";
  request.test = request.baseline;
  request.baseline_label = "a";
  request.test_label = "b";
  request.gpus_per_node = gpus_per_node;
  request.output.folder =
      std::filesystem::path(::testing::TempDir()) / "compare_test_gpus_per_node";
  request.output.formats = {FileFormat::kCsv};
  core::Progress silent("", core::Progress::Show::kNever);
  EXPECT_TRUE(run_compare(request, silent).ok());
  std::string text =
      core::read_file(request.output.folder / "collective_combined_csvs" / "clock_offsets.csv")
          .value();
  std::filesystem::remove_all(request.output.folder);
  return text;
}

TEST(RunCompare, TakesTheRanksPerHostThatItIsTold) {
  EXPECT_EQ(offsets_with(2), offsets_with(std::nullopt));
  EXPECT_NE(offsets_with(4), offsets_with(std::nullopt));
}

// Writes a trace of one rank whose steps have these lengths, in us.
void write_steps(const fs::path& folder, const std::vector<int>& steps) {
  std::string events;
  int time = 1000;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    events += fmt::format(
        R"({}{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":{}}},)"
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":2,)"
        R"("args":{{"correlation":{}}}}},{{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,)"
        R"("ts":{},"dur":{},"args":{{"device":0,"stream":7,"correlation":{}}}}})",
        i == 0 ? "" : ",", i + 3, time, steps[i] - 1, time + 1, i + 1, time + 10, steps[i] - 20,
        i + 1);
    time += steps[i];
  }
  fs::create_directories(folder / "torch_profiler/rank0");
  ASSERT_TRUE(core::write_file(folder / "torch_profiler/rank0/trace.json",
                               "{\"traceEvents\":[" + events + "]}")
                  .ok());
}

// In the baseline two steps are transient, unless those of a test's second mode count.
TEST(RunCompareEach, TheBaselineIsTheSameInAllComparisons) {
  const fs::path folder = fs::path(::testing::TempDir()) / "compare_test_each";
  fs::remove_all(folder);
  const int a = 10'000;
  const int b = 11'000;
  write_steps(folder / "base", {a, a, b, a, a, a, a, b, a, a, a, a});
  write_steps(folder / "modes", {a, b, a, b, a, a, b, a, b, a, a, a});
  write_steps(folder / "flat", {a, a, a, a, a, a, a, a, a, a, a, a});
  CompareRequest request;
  request.baseline = folder / "base";
  request.output.kind = Output::Kind::kBook;
  core::Progress silent("", core::Progress::Show::kNever);
  for (const bool swapped : {false, true}) {
    std::vector<ComparedTest> tests = {{.configuration = folder / "modes", .folder = {}},
                                       {.configuration = folder / "flat", .folder = {}}};
    if (swapped) std::swap(tests[0], tests[1]);
    const auto results = run_compare_each(request, tests, silent).value();
    ASSERT_EQ(results.size(), 2U);
    for (const auto& result : results)
      EXPECT_NEAR(result.value().headline->baseline_ms, 10 + 2.0 / 12, 0.01);
  }
  fs::remove_all(folder / "modes");
  const auto alone = run_compare_each(
      request, std::vector<ComparedTest>{{.configuration = folder / "flat", .folder = {}}}, silent);
  EXPECT_NEAR(alone.value()[0].value().headline->baseline_ms, 10, 0.01);
  fs::remove_all(folder);
}

// A copy of two runs, each of which is analysed before they are compared.
class KeptRunsTest : public ::testing::Test {
 protected:
  KeptRunsTest() : folder_(fs::path(::testing::TempDir()) / "compare_test_kept_runs") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const char* side : {"slow", "fast"})
      fs::copy(fs::path(ASSAY_SOURCE_DIR) / "tests/golden/trace/compare_better/in" / side,
               folder_ / side, fs::copy_options::recursive);
    request_.baseline = folder_ / "slow";
    request_.test = folder_ / "fast";
    request_.output.folder = folder_ / "compared";
    request_.output.formats = {FileFormat::kJson};
  }

  ~KeptRunsTest() override { fs::remove_all(folder_); }

  core::Result<CommandResult> analyze(const char* side) {
    AnalyzeRequest request;
    request.configuration = folder_ / side;
    request.output.formats = {FileFormat::kJson};
    request.kept = request_.kept;
    return run_analyze(request, silent_);
  }

  std::string report() {
    EXPECT_TRUE(run_compare(request_, silent_).ok());
    return core::read_file(folder_ / "compared/final_analysis_report.json").value();
  }

  [[nodiscard]] fs::path trace(const char* side, const char* rank) const {
    return folder_ / side / "torch_profiler" / rank / "trace.json";
  }

  fs::path folder_;
  CompareRequest request_;
  core::Progress silent_{"", core::Progress::Show::kNever};
};

TEST_F(KeptRunsTest, WhatAnAnalysisReadIsComparedWithoutReadingItAgain) {
  const std::string expected = report();
  request_.kept = keep_for(request_);
  ASSERT_TRUE(analyze("slow").ok());
  ASSERT_TRUE(analyze("fast").ok());
  for (const char* side : {"slow", "fast"})
    for (const char* rank : {"rank0", "rank1"})
      ASSERT_TRUE(core::write_file(trace(side, rank), R"({"traceEvents": []})").ok());
  EXPECT_EQ(report(), expected);
  EXPECT_NE(expected.find("Attribution"), std::string::npos);
}

TEST_F(KeptRunsTest, ADamagedTraceIsAnErrorThatNamesIt) {
  const fs::path damaged = trace("slow", "rank0");
  const std::string whole = core::read_file(damaged).value();
  ASSERT_TRUE(core::write_file(damaged, whole.substr(0, whole.size() / 2)).ok());
  EXPECT_TRUE(analyze("slow").ok());
  request_.kept = keep_for(request_);
  const auto result = analyze("slow");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find(damaged.string() + "': cut off after"), std::string::npos)
      << result.error().message;
}

}  // namespace
}  // namespace assay::trace
