#include "trace/compare/cut_steps.h"

#include <gtest/gtest.h>

namespace assay::trace {
namespace {

// Steps of 100 ms and 50 events, the last of which may be shorter and have fewer.
void add_ending(std::vector<RankStep>& steps, int rank, std::int64_t last, double part = 1) {
  for (std::int64_t step = 1; step <= last; ++step) {
    const double of_whole = step == last ? part : 1;
    steps.push_back(
        {.rank = rank, .step = step, .period_ms = 100 * of_whole, .events = 50 * of_whole});
  }
}

std::vector<std::pair<int, std::int64_t>> cut_in(std::vector<RankStep> steps) {
  mark_cut_steps(steps);
  std::vector<std::pair<int, std::int64_t>> cut;
  for (const RankStep& step : steps)
    if (!step.is_whole) cut.emplace_back(step.rank, step.step);
  return cut;
}

// Each is judged by the ranks that have all of its last step.
TEST(CutSteps, RanksMayBeCutInDifferentSteps) {
  std::vector<RankStep> steps;
  add_ending(steps, 0, 5);
  add_ending(steps, 1, 5, 0.5);
  add_ending(steps, 2, 4, 0.6);
  add_ending(steps, 3, 4, 0.7);
  add_ending(steps, 4, 5);
  EXPECT_EQ(cut_in(steps), (std::vector<std::pair<int, std::int64_t>>{{1, 5}, {2, 4}, {3, 4}}));
}

TEST(CutSteps, AStepThatNobodyHasAllOfIsNotCut) {
  std::vector<RankStep> steps;
  add_ending(steps, 0, 4, 0.5);
  add_ending(steps, 1, 4, 0.6);
  add_ending(steps, 2, 3);
  EXPECT_TRUE(cut_in(steps).empty());
}

}  // namespace
}  // namespace assay::trace
