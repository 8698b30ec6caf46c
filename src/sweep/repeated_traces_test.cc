#include "sweep/repeated_traces.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/output_file.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RepeatedTraces : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(path_); }

  // Adds a run whose only trace has this text.
  void add(const std::string& setting, int repeat, const std::string& text) {
    RunRecord record{.setting = setting, .repeat = repeat};
    record.folder = path_ / fmt::format("{}{}", setting, repeat);
    fs::create_directories(record.folder / "torch_profiler/rank0");
    const fs::path trace = record.folder / "torch_profiler/rank0/trace.json";
    EXPECT_TRUE(core::write_file(trace, text).ok());
    records_.push_back(std::move(record));
  }

  fs::path path_ = fs::path(::testing::TempDir()) / fmt::format("repeated.{}", ::getpid());
  std::vector<RunRecord> records_;
};

std::vector<fs::path> traces_of(const fs::path& run) {
  return {run / "torch_profiler/rank0/trace.json"};
}

TEST_F(RepeatedTraces, FilesThatAreNoTracesMayBeTheSame) {
  for (const int repeat : {1, 2}) {
    add("a", repeat, fmt::format("{{{}}}", repeat));
    EXPECT_TRUE(
        core::write_file(records_.back().folder / "torch_profiler/README.txt", "traces").ok());
  }
  EXPECT_THAT(repeated_traces(records_, traces_of), IsEmpty());
}

TEST_F(RepeatedTraces, TracesOfTheSameBytesAreOneMeasurement) {
  add("a", 1, "{1}");
  add("a", 2, "{2}");
  add("b", 1, "{1}");
  EXPECT_THAT(repeated_traces(records_, traces_of),
              ElementsAre("2 runs have a trace of the same bytes (a repeat 1, b repeat 1): the "
                          "command wrote no new one, so they are one measurement"));
  records_.back().status = RunStatus::kFailed;
  EXPECT_THAT(repeated_traces(records_, traces_of), IsEmpty());
}

}  // namespace
}  // namespace assay::sweep
