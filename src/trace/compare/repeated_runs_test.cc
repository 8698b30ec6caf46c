#include "trace/compare/repeated_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"

namespace assay::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::rank_report;

Configuration run_of_ranks(const std::vector<double>& rank0, const std::vector<double>& rank1) {
  Configuration run;
  run.ranks = {rank_report(0, {{"total_time", rank0}}), rank_report(1, {{"total_time", rank1}})};
  return run;
}

TEST(RepeatedRuns, RunsWithTheSameStepsCountOnce) {
  std::vector<Configuration> runs = {
      run_of_ranks({60.5, 61}, {60.5, 62}), run_of_ranks({60.5, 62}, {60.5, 61}),
      run_of_ranks({60.5, 61}, {60.5, 62}), run_of_ranks({60.5, 61}, {60.5, 63})};
  std::vector<int> repeats = {1, 2, 4, 5};
  const std::vector<RepeatedRun> repeated = remove_repeated(runs, repeats);
  EXPECT_THAT(repeats, ElementsAre(1, 2));
  EXPECT_EQ(runs.size(), 2U);
  ASSERT_EQ(repeated.size(), 2U);
  EXPECT_EQ(repeated[0].run, 4);
  EXPECT_EQ(repeated[0].original, 1);
  EXPECT_EQ(repeated[1].run, 5);  // rank 0 has the trace of another run
  EXPECT_EQ(repeated_in_words("a", repeated),
            "a has the same events at the same times in repeats 1, 4, 5: they are one measurement "
            "and count once");
}

TEST(RepeatedRuns, RanksThatMeasuredNothingTellNoRunApart) {
  std::vector<Configuration> runs = {run_of_ranks({0, 0}, {60.5, 62}),
                                     run_of_ranks({0, 0}, {60.5, 63})};
  std::vector<int> repeats = {1, 2};
  EXPECT_TRUE(remove_repeated(runs, repeats).empty());
}

TEST(RepeatedRuns, ARunOfBothSidesIsTold) {
  Configuration a = run_of_ranks({60.5, 61}, {60.5, 62});
  a.label = "a";
  Configuration b = a;
  b.label = "b";
  EXPECT_THAT(answer({a, b}).lines[0].answer,
              HasSubstr(" But a and b have the same events at the same times"));
  b.ranks = run_of_ranks({60, 61.5}, {60.5, 62}).ranks;
  EXPECT_EQ(shared_in_words("a", fingerprints(a.ranks), "b", fingerprints(b.ranks)),
            "a and b have the same events at the same times on rank 1, not on the others: they are "
            "one measurement there, and tell no difference between the two");
  b.ranks = run_of_ranks({60, 61.5}, {60, 62.5}).ranks;
  EXPECT_EQ(shared_in_words("a", fingerprints(a.ranks), "b", fingerprints(b.ranks)), "");
}

}  // namespace
}  // namespace assay::trace
