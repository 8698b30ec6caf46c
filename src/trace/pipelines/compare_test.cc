#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/files.h"
#include "trace/pipelines.h"

namespace assay::trace {
namespace {

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

TEST(RunCompare, TheHeadlineCountsStepsWhereASideWasRunOnce) {
  const Headline headline = compared("fast/repeat1").headline.value();
  EXPECT_EQ(headline.repetition, "step");
  EXPECT_EQ(headline.test_runs, 1U);
  EXPECT_EQ(headline.baseline_steps, 10U);
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
  const std::string text =
      core::read_file(request.output.folder / "collective_combined_csvs" / "clock_offsets.csv")
          .value();
  std::filesystem::remove_all(request.output.folder);
  return text;
}

TEST(RunCompare, TakesTheRanksPerHostThatItIsTold) {
  EXPECT_EQ(offsets_with(2), offsets_with(std::nullopt));
  EXPECT_NE(offsets_with(4), offsets_with(std::nullopt));
}

}  // namespace
}  // namespace assay::trace
