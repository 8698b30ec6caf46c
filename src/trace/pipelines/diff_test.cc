#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/terminal.h"
#include "trace/pipelines.h"

namespace assay::trace {
namespace {

const std::filesystem::path kRuns = std::filesystem::path(ASSAY_SOURCE_DIR) / "samples/traces-2gpu";

template <class Request>
Request request() {
  Request request;
  request.baseline = kRuns / "ctas_default";
  request.test = kRuns / "ctas_16";
  request.output.kind = Output::Kind::kBook;
  return request;
}

// Each run has a step that is not steady.
TEST(RunDiff, TellsTheStepTimesThatAComparisonTells) {
  core::Progress silent("", core::Progress::Show::kNever);
  const auto diff = run_diff(request<DiffRequest>(), silent);
  const auto compared = run_compare(request<CompareRequest>(), silent);
  ASSERT_TRUE(diff.ok());
  ASSERT_TRUE(compared.ok());
  const Headline& headline = compared.value().headline.value();
  EXPECT_THAT(
      diff.value().summary.tables.front().title,
      testing::StartsWith(fmt::format("ctas_16 takes {:.4g} ms a step, {:.4g} ms", headline.test_ms,
                                      headline.test_ms - headline.baseline_ms)));
}

TEST(RunDiff, TracesOfOneNameAreToldApartByTheirFolders) {
  core::Progress silent("", core::Progress::Show::kNever);
  auto traces = request<DiffRequest>();
  traces.baseline /= "torch_profiler/rank0/trace.json.gz";
  traces.test /= "torch_profiler/rank0/trace.json.gz";
  const auto diff = run_diff(traces, silent);
  ASSERT_TRUE(diff.ok());
  EXPECT_EQ(diff.value().book->title, "ctas_16 against ctas_default");
  traces.test = traces.baseline;
  EXPECT_EQ(run_diff(traces, silent).value().book->title, "test against baseline");
}

}  // namespace
}  // namespace assay::trace
