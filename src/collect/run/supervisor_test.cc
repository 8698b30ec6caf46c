#include "collect/run/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "core/files.h"
#include "report/test_support.h"

namespace assay::collect {
namespace {

using std::chrono::milliseconds;
using store::CaseOutcome;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// A worker in the shell. Its cases are {"case":{"do":WORD}}. It measures a WORD that has no branch.
constexpr const char* kWorker = R"(
hello() { echo '{"hello":1,"device":{"kind":"cpu","name":"'"$1"'"}}'; }
row='{"table":"t","framework":"f","version":"1","device":"d","op_name":"o","kernel_source":"k",'
row="$row"'"key":[],"latency_ms":1,"timing":{"median_ms":1}}'
echo start >&2
[ "$1" = fatal ] && { echo '{"fatal":"no driver"}'; exit 1; }
[ "$1" = silent ] && sleep 100
[ "$1" = talk ] && echo 'NCCL INFO'
hello "$1"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in *'"soon"'*) echo "${line#*\"soon\"}" >&2;; esac
  line=${line%%\"soon\"*}  # of the case itself
  case "$line" in *'"idle"'*) exit 7;; esac
  echo "{\"id\":$id,\"doing\":\"time\"}"
  case "$line" in
    *'"exit"'*) echo "{\"id\":$id,\"row\":$row}"; echo 'out of luck' >&2; exit 7;;
    *'"crash"'*) kill -9 $$;;
    *'"hang"'*) sleep 100;;
    *'"flood"'*) while :; do echo "{\"id\":$id,\"doing\":\"time\"}"; done;;
    *'"skip"'*) echo "{\"id\":$id,\"skip\":\"no plan\"}"; continue;;
    *'"oom"'*) echo "{\"id\":$id,\"error\":{\"class\":\"OutOfMemory\",\"message\":\"m\"}}"; continue;;
    *'"lost"'*) echo "{\"id\":$id,\"error\":{\"class\":\"DeviceError\",\"message\":\"m\",\"lost\":true}}"
                sleep 100;;
    *'"fatal"'*) echo '{"fatal":"the GPU fell off"}'; exit 1;;
    *'"stranger"'*) id=$((id + 1));;
    *'"twice"'*) echo "{\"id\":$id,\"row\":$row}";;
    *'"nothing"'*) echo "{\"id\":$id,\"done\":true}"; continue;;
    *'"extra"'*) echo "{\"id\":$id,\"row\":$row}"; echo "{\"id\":$id,\"done\":true}";;
  esac
  echo "{\"id\":$id,\"row\":$row}"
  echo "{\"id\":$id,\"done\":true}"
done
)";

class SupervisorTest : public testing::Test {
 protected:
  // Each word of `starts` is a place, and says how its worker starts.
  core::Result<SupervisorEnd> run(const std::vector<std::string>& starts,
                                  const std::vector<std::string>& words) {
    std::vector<WorkerPlace> places;
    for (const std::string& start : starts) {
      const std::string name = "place " + std::to_string(places.size());
      places.push_back({.name = name,
                        .device_id = std::to_string(places.size()),
                        .arguments = {"sh", "-c", kWorker, "worker", start},
                        .log = folder_.path() / name});
    }
    plan_.clear();
    for (const std::string& word : words) {
      const std::string id = word + " " + std::to_string(plan_.size());
      plan_.push_back({.operator_name = "o", .id = id, .json = R"({"do":")" + word + R"("})"});
    }
    std::vector<const PlannedCase*> cases;
    for (const PlannedCase& one : plan_)
      cases.push_back(&one);
    return Supervisor(places, deadlines_, hooks()).run(cases);
  }

  SupervisorHooks hooks() {
    SupervisorHooks hooks;
    hooks.request_of = [](const PlannedCase& one) {
      CaseRequest request;
      request.operator_name = one.operator_name;
      request.case_json = one.json;
      return request;
    };
    hooks.on_ready = [this](const DeviceFacts& device) -> core::Result<std::optional<std::string>> {
      if (device.name == "refused") return std::optional<std::string>("it is too old");
      if (device.name == "error") return core::Error{"the store is full"};
      ++ready_;
      return std::optional<std::string>();
    };
    hooks.on_finished = [this](std::vector<FinishedCase> finished) -> core::Status {
      for (FinishedCase& one : finished) {
        ++times_finished_[one.planned->id];
        finished_.push_back(std::move(one));
      }
      return write_error_.empty() ? core::Status() : core::Error{write_error_};
    };
    hooks.on_notice = [this](const std::string& text) { notices_.push_back(text); };
    return hooks;
  }

  // The outcome of the first case, which must exist.
  [[nodiscard]] FinishedCase the_case() const {
    EXPECT_THAT(finished_, SizeIs(1));
    return finished_.empty() ? FinishedCase{} : finished_.front();
  }

  [[nodiscard]] FinishedCase only(const std::string& word) {
    finished_.clear();
    const auto end = run({"fine"}, {word});
    EXPECT_TRUE(end.ok() && end.value() == SupervisorEnd::kAllDone);
    return the_case();
  }

  [[nodiscard]] std::size_t starts_of(const std::string& place) const {
    const auto log = core::read_file(folder_.path() / place);
    if (!log.ok()) return 0;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = log.value().find("start\n", at)) != std::string::npos; ++at)
      ++count;
    return count;
  }

  report::TemporaryFolder folder_;
  Deadlines deadlines_{.of_case = milliseconds(20'000), .of_start = milliseconds(20'000)};
  std::vector<PlannedCase> plan_;
  std::vector<FinishedCase> finished_;
  std::map<std::string, int> times_finished_;
  std::vector<std::string> notices_;
  std::string write_error_;
  int ready_ = 0;
};

// Variables that a run sets for its workers must not reach the process that runs it, which may be
// another program's.
TEST_F(SupervisorTest, ChangesOfTheEnvironmentAreTheWorkersAlone) {
  const std::string worker = R"(echo "$ASSAY_TEST_ORDER" >&2; exit 3)";
  WorkerPlace place{.name = "place",
                    .device_id = "0",
                    .arguments = {"sh", "-c", worker},
                    .log = folder_.path() / "place",
                    .environment = {{"ASSAY_TEST_ORDER", "by bus"}}};
  plan_.push_back({.operator_name = "o", .id = "o", .json = R"({"do":"w"})"});
  static_cast<void>(Supervisor({place}, deadlines_, hooks()).run({plan_.data()}).ok());
  EXPECT_THAT(core::read_file(folder_.path() / "place").value(), StartsWith("by bus\n"));
  EXPECT_EQ(std::getenv("ASSAY_TEST_ORDER"), nullptr);
}

TEST_F(SupervisorTest, ACaseIsPromisedToOneWorkerAndOnce) {
  std::vector<std::string> words;
  for (int i = 100; i < 200; ++i)
    words.push_back("w" + std::to_string(i));
  const auto end = run({"fine", "fine"}, words);
  ASSERT_TRUE(end.ok() && end.value() == SupervisorEnd::kAllDone);
  EXPECT_THAT(finished_, SizeIs(100));
  const std::string told = core::read_file(folder_.path() / "place 0").value() +
                           core::read_file(folder_.path() / "place 1").value();
  std::size_t promised = 0;
  for (const std::string& word : words) {
    const std::size_t first = told.find('"' + word + '"');
    if (first == std::string::npos) continue;
    ++promised;
    EXPECT_EQ(told.find('"' + word + '"', first + 1), std::string::npos) << word;
  }
  EXPECT_GE(promised, 90U);
}

TEST_F(SupervisorTest, EveryCaseIsFinishedOnceBySeveralWorkers) {
  const auto end = run({"fine", "fine", "fine"}, std::vector<std::string>(30, "measure"));
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end.value(), SupervisorEnd::kAllDone);
  EXPECT_THAT(finished_, SizeIs(30));
  EXPECT_THAT(times_finished_, SizeIs(30));
  for (const FinishedCase& one : finished_) {
    EXPECT_EQ(one.outcome, CaseOutcome::kMeasured);
    EXPECT_THAT(one.rows, SizeIs(1));
  }
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(SupervisorTest, NoMoreWorkersThanCases) {
  ASSERT_TRUE(run({"fine", "fine", "fine"}, {"measure"}).ok());
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(starts_of("place 1"), 0U);
}

TEST_F(SupervisorTest, NoCasesStartNobody) {
  EXPECT_EQ(run({"fine"}, {}).value(), SupervisorEnd::kAllDone);
  EXPECT_EQ(starts_of("place 0"), 0U);
}

TEST_F(SupervisorTest, ACaseMayHaveSeveralRows) {
  EXPECT_THAT(only("twice").rows, SizeIs(2));
}

TEST_F(SupervisorTest, FailuresKeepTheWorkersWords) {
  EXPECT_EQ(only("skip").outcome, CaseOutcome::kSkipped);
  EXPECT_EQ(the_case().reason, "no plan");
  EXPECT_EQ(only("oom").error_class, "OutOfMemory");
  EXPECT_EQ(only("nothing").error_class, "NoRow");
  EXPECT_EQ(only("fatal").error_class, "DeviceError");
  EXPECT_EQ(the_case().reason, "the GPU fell off");
  EXPECT_EQ(the_case().doing, "time");
  EXPECT_EQ(the_case().device_id, "0");
}

TEST_F(SupervisorTest, ACaseWhoseWorkerEndsHasFailedWithoutRows) {
  EXPECT_EQ(only("exit").error_class, "WorkerAbnormalExit");
  EXPECT_THAT(the_case().reason,
              AllOf(HasSubstr("7"), HasSubstr("out of luck"), HasSubstr("during time")));
  EXPECT_THAT(the_case().rows, IsEmpty());
  EXPECT_EQ(only("crash").error_class, "WorkerSignalCrash");
  EXPECT_THAT(the_case().reason, HasSubstr("signal 9"));
}

TEST_F(SupervisorTest, AFreshWorkerDoesTheNextCase) {
  const std::vector<std::string> words = {"exit", "measure", "crash", "lost", "oom", "measure"};
  ASSERT_TRUE(run({"fine"}, words).ok());
  std::vector<std::string> outcomes;
  for (const FinishedCase& one : finished_) {
    outcomes.push_back(one.outcome == CaseOutcome::kMeasured ? "measured" : one.error_class);
  }
  EXPECT_THAT(outcomes, ElementsAre("WorkerAbnormalExit", "measured", "WorkerSignalCrash",
                                    "DeviceError", "OutOfMemory", "measured"));
  EXPECT_EQ(starts_of("place 0"), 4U);  // "oom" does not end the worker
}

TEST_F(SupervisorTest, ACaseThatTakesTooLongHasFailed) {
  deadlines_.of_case = milliseconds(400);
  ASSERT_TRUE(run({"fine"}, {"hang", "measure"}).ok());
  ASSERT_THAT(finished_, SizeIs(2));
  EXPECT_EQ(finished_[0].error_class, "CaseTimeout");
  EXPECT_THAT(finished_[0].reason, StartsWith("no end within 0.4 s during time"));
  EXPECT_EQ(finished_[1].outcome, CaseOutcome::kMeasured);
}

TEST_F(SupervisorTest, ACaseThatTalksWithoutEndTakesTooLongToo) {
  deadlines_.of_case = milliseconds(400);
  EXPECT_EQ(only("flood").error_class, "CaseTimeout");
}

TEST_F(SupervisorTest, AnAnswerToAnotherCaseIsNoAnswer) {
  EXPECT_EQ(only("stranger").error_class, "WorkerProtocolError");
  EXPECT_THAT(the_case().reason, HasSubstr("the worker lost its way"));
}

TEST_F(SupervisorTest, WordsBehindTheEndOfACaseDoNotReachTheNext) {
  ASSERT_TRUE(run({"fine"}, {"extra", "measure"}).ok());
  ASSERT_THAT(finished_, SizeIs(2));
  EXPECT_EQ(finished_[0].outcome, CaseOutcome::kMeasured);
  EXPECT_THAT(finished_[0].rows, SizeIs(1));
  // This worker already had the case, or a new worker gets it.
  const bool lost = finished_[1].error_class == "WorkerProtocolError";
  EXPECT_EQ(finished_[1].rows.size(), lost ? 0U : 1U);
}

TEST_F(SupervisorTest, AWorkerThatDiesBeforeItBeginsHasASecondTry) {
  EXPECT_EQ(only("idle").error_class, "WorkerAbnormalExit");
  EXPECT_EQ(starts_of("place 0"), 2U);
}

TEST_F(SupervisorTest, APlaceWhoseWorkerNeverStartsIsGivenUp) {
  EXPECT_EQ(run({"fatal"}, {"measure"}).value(), SupervisorEnd::kNoWorkers);
  EXPECT_THAT(finished_, IsEmpty());
  EXPECT_THAT(notices_, ElementsAre("place 0 is given up: no worker started 3 times in a row: no "
                                    "driver"));
  EXPECT_EQ(starts_of("place 0"), 3U);
}

TEST_F(SupervisorTest, AProgramThatIsNotThereIsGivenUp) {
  Supervisor supervisor({{.name = "the place",
                          .device_id = "0",
                          .arguments = {(folder_.path() / "missing").string()},
                          .log = folder_.path() / "log"}},
                        deadlines_, hooks());
  const PlannedCase planned{.operator_name = "o", .id = "1", .json = "{}"};
  EXPECT_EQ(supervisor.run({&planned}).value(), SupervisorEnd::kNoWorkers);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("the place is given up")));
}

TEST_F(SupervisorTest, WhatAWorkerMaySayAtItsStart) {
  EXPECT_EQ(run({"talk"}, {"measure"}).value(), SupervisorEnd::kNoWorkers);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("no JSON in 'NCCL INFO'")));
  notices_.clear();
  deadlines_.of_start = milliseconds(300);
  EXPECT_EQ(run({"silent"}, {"measure"}).value(), SupervisorEnd::kNoWorkers);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("no word from it for 0.3 s")));
}

TEST_F(SupervisorTest, OthersDoTheCasesOfAPlaceThatIsGivenUp) {
  ASSERT_EQ(run({"refused", "fine"}, std::vector<std::string>(5, "measure")).value(),
            SupervisorEnd::kAllDone);
  EXPECT_THAT(finished_, SizeIs(5));
  for (const FinishedCase& one : finished_)
    EXPECT_EQ(one.device_id, "1");
}

TEST_F(SupervisorTest, AWorkerOfNoUseSaysWhy) {
  EXPECT_EQ(run({"refused"}, {"measure"}).value(), SupervisorEnd::kNoWorkers);
  EXPECT_THAT(notices_, ElementsAre("place 0 is given up: it is too old"));
}

TEST_F(SupervisorTest, AnErrorOfAHookEndsTheRun) {
  const auto begun = run({"error"}, {"measure"});
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().message, "the store is full");
  write_error_ = "the disk is full";
  const auto written = run({"fine"}, std::vector<std::string>(5, "measure"));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "the disk is full");
  EXPECT_THAT(finished_, SizeIs(1));
}

}  // namespace
}  // namespace assay::collect
