#include "sweep/one_run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

class RunOnce : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(::testing::TempDir()) / fmt::format("run_once.{}", ::getpid());
    fs::create_directories(path_ / "a");
  }

  void TearDown() override { fs::remove_all(path_); }

  // Runs a command that would not end by itself.
  [[nodiscard]] RunRecord stopped_after(std::chrono::milliseconds deadline) const {
    const Plan plan{.id = fmt::format("run_once_{}", ::getpid()),
                    .command = {"sleep", "60"},
                    .config = "",
                    .settings = {{"a", {}}}};
    const SweepOptions options{.deadline = deadline, .sources = {.nvml_library = "none"}};
    Observer observer(options.sources, "");
    const RunFiles files{path_ / "a", path_ / "a.log"};
    return run_once(plan, {}, files, options, observer, [](double) {}).value();
  }

  fs::path path_;
};

TEST_F(RunOnce, ADeadlineIsToldWithItsFractionOfASecond) {
  const RunRecord record = stopped_after(std::chrono::milliseconds(50));
  EXPECT_EQ(record.status, RunStatus::kHung);
  EXPECT_EQ(record.detail, "ended at its deadline of 0.05 s");
  EXPECT_EQ(stopped_after(std::chrono::seconds(1)).detail, "ended at its deadline of 1 s");
}

}  // namespace
}  // namespace assay::sweep
