#include "collect/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "report/test_support.h"

namespace assay::collect {
namespace {

using store::CaseOutcome;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

DeviceFacts some_device() {
  DeviceFacts device;
  device.kind = "cuda";
  device.name = "NVIDIA H200";
  device.version = "0.1.0";
  device.sm_version = 90;
  device.more = {{"driver", "580"}, {"cuDNN", "9.13"}};
  return device;
}

Plan plan_of_cases(const std::vector<std::string>& ids) {
  Plan plan;
  for (const std::string& id : ids)
    plan.cases.push_back({.operator_name = "gemm", .id = id, .json = "{}"});
  plan.hash = plan_hash(plan.cases);
  return plan;
}

store::CaseRecord record(const std::string& id, CaseOutcome outcome) {
  return {.operator_name = "gemm",
          .id = id,
          .outcome = outcome,
          .reason = "",
          .error_class = outcome == CaseOutcome::kFailed ? "DeviceError" : "",
          .detail = ""};
}

class RunStateTest : public testing::Test {
 protected:
  core::Result<RunState> open(Beginning beginning, const Plan& plan) const {
    return RunState::open({.folder = folder_.path(),
                           .beginning = beginning,
                           .settings = settings_,
                           .record = record_},
                          plan);
  }

  // A run of a, b and c, in which b failed and c is not finished.
  void leave_unfinished() const {
    auto state = open(Beginning::kNew, plan_);
    ASSERT_TRUE(state.ok()) << state.error().message;
    ASSERT_TRUE(state.value().begin(some_device()).ok());
    ASSERT_TRUE(
        state.value()
            .append({record("a", CaseOutcome::kMeasured), record("b", CaseOutcome::kFailed)})
            .ok());
  }

  std::string refusal(Beginning beginning, const Plan& plan) const {
    const auto state = open(beginning, plan);
    return state.ok() ? "" : state.error().message;
  }

  // Resumes on this device and returns the error.
  std::string refusal(const DeviceFacts& device) const {
    auto state = open(Beginning::kResume, plan_);
    if (!state.ok()) return state.error().message;
    const core::Status begun = state.value().begin(device);
    return begun.ok() ? "" : begun.error().message;
  }

  report::TemporaryFolder folder_;
  Plan plan_ = plan_of_cases({"a", "b", "c"});
  Settings settings_ = {{"--l2", "hot"}, {"--num-runs", "0"}, {"--limit", ""}};
  Settings record_ = {{"--check-every", "100"}, {"--deadline", "60"}, {"made by", "assay"}};
};

std::vector<std::string> ids(const RunState& state) {
  std::vector<std::string> found;
  for (const store::StoredCase& one : state.finished())
    found.push_back(one.id);
  return found;
}

TEST_F(RunStateTest, ANewRunHasNothingFinished) {
  const auto state = open(Beginning::kNew, plan_);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state.value().finished(), IsEmpty());
  EXPECT_THAT(state.value().known_device(), IsEmpty());
}

TEST_F(RunStateTest, ResumingGoesOnPastWhatIsMeasuredAndFailed) {
  leave_unfinished();
  auto state = open(Beginning::kResume, plan_);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(ids(state.value()), ElementsAre("a", "b"));
  EXPECT_FALSE(state.value().is_finished("c"));
  EXPECT_EQ(state.value().known_device().at("cuDNN"), "9.13");
  ASSERT_TRUE(state.value().begin(some_device()).ok());
  ASSERT_TRUE(state.value().append({record("c", CaseOutcome::kMeasured)}).ok());
  EXPECT_EQ(state.value().store().runs().value().size(), 1U);
}

TEST_F(RunStateTest, TheRecordTellsWhichOptionsChangedWhenARunIsResumed) {
  leave_unfinished();
  const auto resumed_facts = [&] {
    auto state = open(Beginning::kResume, plan_);
    EXPECT_TRUE(state.ok()) << state.error().message;
    EXPECT_TRUE(state.value().begin(some_device()).ok());
    return state.value().store().run(state.value().run()).value().facts;
  };
  const Settings before = resumed_facts();
  EXPECT_THAT(without_prefix(before, "resumed "), IsEmpty());
  record_ = {{"--check-every", "1"}, {"--deadline", "60"}, {"made by", "another"}};
  const Settings after = resumed_facts();
  EXPECT_THAT(without_prefix(after, "resumed "),
              ElementsAre(testing::Pair(testing::_, "--check-every was 100 and is 1")));
  EXPECT_EQ(after.at("--check-every"), "1");
  EXPECT_EQ(after.at("made by"), "assay");
  EXPECT_EQ(resumed_facts(), after);
}

TEST_F(RunStateTest, FailuresAreTriedAgainWhenAskedFor) {
  leave_unfinished();
  const auto state = open(Beginning::kRetryFailed, plan_);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(ids(state.value()), ElementsAre("a"));
}

TEST_F(RunStateTest, AnUnfinishedRunIsNotLeftByAccident) {
  leave_unfinished();
  EXPECT_THAT(refusal(Beginning::kNew, plan_),
              AllOf(HasSubstr("holds an unfinished run"), HasSubstr("(2 of 3 cases)")));
  EXPECT_EQ(refusal(Beginning::kFresh, plan_), "");
  auto state = open(Beginning::kFresh, plan_);
  ASSERT_TRUE(state.value().begin(some_device()).ok());
  EXPECT_EQ(state.value().store().runs().value().size(), 2U);
}

TEST_F(RunStateTest, AFinishedRunMakesWayForTheNext) {
  leave_unfinished();
  {
    auto state = open(Beginning::kResume, plan_);
    ASSERT_TRUE(state.value().begin(some_device()).ok());
    ASSERT_TRUE(state.value().append({record("c", CaseOutcome::kSkipped)}).ok());
  }
  EXPECT_EQ(refusal(Beginning::kNew, plan_), "");
}

TEST_F(RunStateTest, NothingToResume) {
  EXPECT_THAT(refusal(Beginning::kResume, plan_), HasSubstr("nothing to resume: there is no '"));
  EXPECT_TRUE(store::Store::open(folder_.path() / "perf.db", store::Store::Mode::kCreate).ok());
  EXPECT_THAT(refusal(Beginning::kResume, plan_), HasSubstr("holds no collection"));
}

TEST_F(RunStateTest, ARefusalNamesEverySettingThatDiffers) {
  leave_unfinished();
  settings_ = {{"--l2", "cold"}, {"--num-runs", "6"}, {"--limit", "9"}, {"--m", "1"}};
  EXPECT_THAT(
      refusal(Beginning::kResume, plan_),
      AllOf(HasSubstr("--l2 was hot and is cold"), HasSubstr("--num-runs was 0 and is 6"),
            HasSubstr("--limit was not given and is 9"), HasSubstr("--m was not given and is 1")));
  settings_ = {{"--l2", "hot"}, {"--limit", ""}};
  EXPECT_THAT(refusal(Beginning::kResume, plan_), HasSubstr("--num-runs was 0 and is not given"));
}

TEST_F(RunStateTest, OtherCasesOfTheSameSettingsAreRefused) {
  leave_unfinished();
  EXPECT_THAT(refusal(Beginning::kResume, plan_of_cases({"a", "b"})),
              AllOf(HasSubstr("its plan had 3 other cases"), HasSubstr("this one has 2")));
  EXPECT_EQ(refusal(Beginning::kResume, plan_of_cases({"c", "b", "a"})), "");
}

TEST_F(RunStateTest, ARefusalNamesEveryFactOfTheDeviceThatDiffers) {
  leave_unfinished();
  DeviceFacts other = some_device();
  EXPECT_EQ(refusal(other), "");
  other.name = "NVIDIA H100";
  other.more["driver"] = "590";
  other.more.erase("cuDNN");
  other.more["NCCL"] = "2.28";  // earlier runs did not record it, so that it is no difference
  EXPECT_THAT(refusal(other), AllOf(HasSubstr("name was NVIDIA H200 and is NVIDIA H100"),
                                    HasSubstr("driver was 580 and is 590"),
                                    HasSubstr("cuDNN was 9.13 and is not given"),
                                    Not(HasSubstr("NCCL")), Not(HasSubstr("version"))));
}

TEST_F(RunStateTest, AFileThatIsNoStoreIsNotOverwritten) {
  std::ofstream(folder_.path() / "perf.db") << "my notes, which are long enough for a header";
  EXPECT_THAT(refusal(Beginning::kNew, plan_), HasSubstr("perf.db"));
  std::ifstream kept(folder_.path() / "perf.db");
  std::string word;
  kept >> word;
  EXPECT_EQ(word, "my");
}

}  // namespace
}  // namespace assay::collect
