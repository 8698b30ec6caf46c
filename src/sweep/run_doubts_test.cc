#include "sweep/run_doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan plan_of_two() {
  Plan plan;
  plan.settings = {{"a-x", {}}, {"b-x", {}}};
  plan.repeats = 2;
  return plan;
}

RunRecord run(const std::string& setting, RunStatus status = RunStatus::kOk) {
  RunRecord record{.setting = setting, .status = status};
  record.traces = {2, 2, ""};
  if (status == RunStatus::kFailed) record.detail = "exit code 7";
  return record;
}

TEST(RunDoubts, GoodRunsRaiseNone) {
  const std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  EXPECT_THAT(run_doubts(plan_of_two(), records, "a-x").sentences(), IsEmpty());
}

TEST(RunDoubts, FailedRunsAreCountedOfAll) {
  const std::vector<RunRecord> records = {run("a-x"), run("b-x", RunStatus::kFailed), run("b-x"),
                                          run("a-x")};
  EXPECT_THAT(run_doubts(plan_of_two(), records, "a-x").sentences(),
              ElementsAre("1 of 2 runs of b-x failed (exit code 7)."));
}

TEST(RunDoubts, AReplacedBaselineAndAnUnfinishedSweepAreTold) {
  const std::vector<RunRecord> records = {run("a-x", RunStatus::kFailed), run("b-x"), run("b-x")};
  const RunDoubts doubts = run_doubts(plan_of_two(), records, "b-x");
  EXPECT_THAT(doubts.without_good_run, ElementsAre("a-x"));
  EXPECT_THAT(
      doubts.sentences(),
      ElementsAre("The first setting, a-x, has no good run: the others are compared with b-x.",
                  "Only 3 of 4 runs have a whole record: the sweep is not finished.",
                  "1 of 2 runs of a-x failed (exit code 7)."));
}

TEST(RunDoubts, ABaselineThatWasNeverRunIsReplacedAloud) {
  const std::vector<RunRecord> records = {run("b-x"), run("b-x")};
  EXPECT_THAT(
      run_doubts(plan_of_two(), records, "b-x").sentences(),
      ElementsAre("The first setting, a-x, has no good run: the others are compared with b-x.",
                  "Only 2 of 4 runs have a whole record: the sweep is not finished."));
}

TEST(RunDoubts, UnlikeNumbersOfRanksAreTold) {
  std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  records[1].traces.expected = records[2].traces.expected = 4;
  EXPECT_THAT(run_doubts(plan_of_two(), records, "a-x").sentences(),
              ElementsAre("a-x ran with 2 ranks, b-x with 4, so they did not do the same work."));
}

TEST(RunDoubts, VariablesThatReachedNoRankAreTold) {
  std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  for (RunRecord& record : records)
    record.seen.not_applied = {"NCCL_ALGO"};
  const RunDoubts doubts = run_doubts(plan_of_two(), records, "a-x");
  EXPECT_EQ(not_applied_in_words(doubts),
            "NCCL_ALGO reached no process that loaded NCCL in runs of a-x, b-x");
  EXPECT_THAT(doubts.sentences().front(), HasSubstr("the setting was not applied."));
}

TEST(RunDoubts, VariablesThatTheLibraryDoesNotHaveVoidASetting) {
  Plan plan = plan_of_two();
  plan.settings[0].variables = {{"NCCL_MAX_CTA", "8"}};
  plan.settings[1].variables = {{"NCCL_MAX_CTA", "4"}, {"NCCL_MIN_CTA", "4"}};
  std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  for (RunRecord& record : records)
    record.seen.not_read = {"NCCL_MAX_CTA"};
  records[1].seen.not_read.emplace_back("NCCL_MIN_CTA");
  records[2].seen.not_read.emplace_back("NCCL_MIN_CTA");
  EXPECT_EQ(not_applied_in_words(run_doubts(plan, records, "a-x")),
            "NCCL_MAX_CTA is no variable of the library that was loaded in runs of a-x; "
            "NCCL_MAX_CTA, NCCL_MIN_CTA are no variables of the library that was loaded in runs of "
            "b-x");
}

TEST(RunDoubts, ASettingThatAllHaveMayBeUnknownToTheLibrary) {
  Plan plan = plan_of_two();
  for (Setting& setting : plan.settings)
    setting.variables = {{"NCCL_IB_CUDA_SUPPORT", "1"}};
  std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  for (RunRecord& record : records)
    record.seen.not_read = {"NCCL_IB_CUDA_SUPPORT"};
  const RunDoubts doubts = run_doubts(plan, records, "a-x");
  EXPECT_TRUE(doubts.missing.empty());
  EXPECT_THAT(doubts.sentences(),
              ElementsAre("NCCL_IB_CUDA_SUPPORT is no variable of the library that was loaded, "
                          "which changes nothing between settings."));
  EXPECT_EQ(idle_in_words(plan, records.front().seen), "");
}

TEST(RunDoubts, VariablesThatMissedOneRunDoNotVoidASetting) {
  std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  records[2].seen.not_applied = {"NCCL_ALGO"};
  const RunDoubts doubts = run_doubts(plan_of_two(), records, "a-x");
  EXPECT_TRUE(doubts.missing.empty());
  EXPECT_THAT(
      doubts.sentences(),
      ElementsAre("NCCL_ALGO reached no process that loaded NCCL in 1 of 2 good runs of b-x, "
                  "which count all the same."));
}

TEST(RunDoubts, AVariableThatEveryRunMissedVoidsASettingWhateverTheReasons) {
  std::vector<RunRecord> records = {run("a-x"), run("b-x"), run("b-x"), run("a-x")};
  records[1].seen.not_applied = {"NCCL_ALGO"};
  records[2].seen.not_read = {"NCCL_ALGO"};
  Plan plan = plan_of_two();
  plan.settings[1].variables = {{"NCCL_ALGO", "Ring"}};
  const RunDoubts doubts = run_doubts(plan, records, "a-x");
  EXPECT_EQ(doubts.missing.count("b-x"), 1U);
  EXPECT_TRUE(doubts.others.empty());
}

}  // namespace
}  // namespace assay::sweep
