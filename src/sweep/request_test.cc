#include "sweep/request.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "sweep/sweep_folder.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Failed = SweepOptions::Failed;

constexpr std::uint64_t kSeed = 7;

class RequestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(::testing::TempDir()) / fmt::format("sweep_request.{}", ::getpid());
  }

  void TearDown() override { fs::remove_all(path_); }

  [[nodiscard]] Request new_sweep() const {
    return {.command = {"true", "{dir}"}, .folder = path_};
  }

  [[nodiscard]] Request resumed() const {
    return {.folder = path_, .mode = Request::Mode::kResume};
  }

  // Begins a sweep of three settings with one repeat.
  [[nodiscard]] SweepFolder begin() const {
    Request request = new_sweep();
    request.axes = {"A=1,2,3"};
    request.seed = kSeed;
    return SweepFolder::create(path_, prepare(request).value().plan).value();
  }

  // Gives the run at this position a record.
  void end_run(const SweepFolder& folder, std::size_t position, RunStatus status) const {
    const Plan plan = read_plan(path_).value();
    const PlannedRun run = run_order(plan)[position];
    ASSERT_TRUE(folder.begin_run(run_folder(plan, run)).ok());
    RunRecord record{.setting = plan.settings[run.setting].name, .status = status};
    ASSERT_TRUE(folder.end_run(run_folder(plan, run), record).ok());
  }

  // Returns the positions of the runs that are shown.
  [[nodiscard]] std::vector<std::int64_t> shown(Failed failed) const {
    const model::Table table = planned_runs(prepare(resumed()).value(), failed);
    std::vector<std::int64_t> positions;
    for (std::size_t row = 0; row < table.row_count(); ++row)
      positions.push_back(std::get<std::int64_t>(table.at(row, 0)));
    return positions;
  }

  fs::path path_;
};

TEST_F(RequestTest, DefaultAloneUnsetsWhatThePresetSets) {
  Request request = new_sweep();
  request.preset = "nccl-ctas";
  request.pairs = "default";
  const Variables unset{{"NCCL_MIN_CTAS", ""}, {"NCCL_MAX_CTAS", ""}, {"NCCL_NTHREADS", ""}};
  EXPECT_EQ(prepare(request).value().plan.settings[0].variables, unset);
  request.axes = {"A=1"};
  Variables of_both{{"A", "1"}};
  of_both.insert(of_both.end(), unset.begin(), unset.end());
  EXPECT_EQ(prepare(request).value().plan.settings[0].variables, of_both);
}

TEST_F(RequestTest, EmptyPairsAreNotThePresetsOwn) {
  Request request = new_sweep();
  EXPECT_TRUE(check(request).ok());
  request.pairs = "";
  ASSERT_FALSE(check(request).ok());
  EXPECT_EQ(check(request).error().message, "no pair CU_COUNT,THREADS in ''");
}

TEST_F(RequestTest, AResumedSweepKeepsItsSeed) {
  const SweepFolder folder = begin();
  Request request = resumed();
  request.seed = kSeed;
  EXPECT_TRUE(prepare(request).ok());
  request.seed = kSeed + 1;
  const auto refused = prepare(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("the seeds differ"));
}

TEST_F(RequestTest, ThePlanOfAResumedSweepIsWhatIsStarted) {
  const SweepFolder folder = begin();
  EXPECT_THAT(shown(Failed::kKeep), ElementsAre(1, 2, 3));
  end_run(folder, 0, RunStatus::kOk);
  end_run(folder, 1, RunStatus::kFailed);
  EXPECT_THAT(shown(Failed::kKeep), ElementsAre(3));
  EXPECT_THAT(shown(Failed::kRetry), ElementsAre(2, 3));
  const PreparedSweep sweep = prepare(resumed()).value();
  EXPECT_THAT(plan_script(sweep, Failed::kKeep), HasSubstr("# 3 of 3: "));
  EXPECT_THAT(plan_script(sweep, Failed::kKeep), Not(HasSubstr("# 2 of 3: ")));
  end_run(folder, 2, RunStatus::kOk);
  EXPECT_THAT(plan_script(sweep, Failed::kKeep), HasSubstr("none of 3 runs is left to start"));
}

// CPU seconds, of the better of two times.
double planning_seconds(const PreparedSweep& sweep) {
  double best = 1e9;
  for (int time = 0; time < 2; ++time) {
    const std::clock_t start = std::clock();
    EXPECT_FALSE(plan_script(sweep, Failed::kKeep).empty());
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

TEST_F(RequestTest, PlanningTakesTimeInProportionToTheRuns) {
  Request request = new_sweep();
  request.axes = {"A=1"};
  PreparedSweep sweep = prepare(request).value();
  sweep.plan.repeats = 4000;
  const double few = planning_seconds(sweep);
  sweep.plan.repeats *= 4;
  EXPECT_LT(planning_seconds(sweep), 8 * few) << "4 times is linear, 16 times quadratic";
}

TEST_F(RequestTest, ShowingAPlanReadsNoConditions) {
  Request request = new_sweep();
  request.command.emplace_back("/proc/self/exe");
  EXPECT_FALSE(prepare(request).value().plan.conditions.empty());
  request.purpose = Request::Purpose::kShow;
  EXPECT_TRUE(prepare(request).value().plan.conditions.empty());
}

}  // namespace
}  // namespace assay::sweep
