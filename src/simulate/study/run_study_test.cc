#include "simulate/study/run_study.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "core/files.h"
#include "core/output_file.h"

namespace assay::simulate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunStudy : public ::testing::Test {
 protected:
  RunStudy() {
    for (std::size_t i = 0; i < 6; ++i)
      tasks_.push_back({.replicas = static_cast<std::uint32_t>(i), .key = fmt::format("key{}", i)});
  }

  StudyWork work() {
    return {.tasks = tasks_,
            .folder = folder_,
            .at_once = 2,
            .simulate =
                [](const StudyTask& task) {
                  TaskResult result;
                  result.ranks = task.replicas;
                  if (task.replicas == 4) result.error = "a deadlock";
                  if (task.replicas == 5) ::raise(SIGKILL);
                  return result;
                },
            .on_end = [this](std::size_t task, const TaskResult&) { ended_.push_back(task); },
            .on_tick = [](std::size_t, std::size_t) {}};
  }

  // The tasks that a run did, in their order.
  std::vector<std::size_t> done_by(const StudyWork& work) {
    ended_.clear();
    const auto missing = run_study(work);
    EXPECT_TRUE(missing.ok()) << missing.error().message;
    missing_ = missing.ok() ? missing.value() : "";
    std::sort(ended_.begin(), ended_.end());
    return ended_;
  }

  std::vector<StudyTask> tasks_;
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::vector<std::size_t> ended_;
  std::string missing_;
};

TEST_F(RunStudy, KeepsResultsAndFailures) {
  EXPECT_THAT(done_by(work()), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(missing_, "");
  const auto results = results_of(tasks_, folder_);
  EXPECT_EQ(results[3].value().ranks, 3);
  EXPECT_GT(results[3].value().peak_mb, 0);
  EXPECT_EQ(results[4].value().error, "a deadlock");
  EXPECT_THAT(results[5].value().error, HasSubstr("ended by signal 9"));
  const auto left = core::list_directory(folder_ / "tasks").value();
  EXPECT_THAT(left, ElementsAre("key0.json", "key1.json", "key2.json", "key3.json", "key4.json",
                                "key5.json"));
  EXPECT_THAT(done_by(work()), IsEmpty());
}

TEST_F(RunStudy, GoesOnWhereItStopped) {
  done_by(work());
  std::filesystem::remove(folder_ / "tasks" / "key1.json");
  ASSERT_TRUE(core::write_file(folder_ / "tasks" / "key2.json", "{\"assay_study_task\":").ok());
  ASSERT_TRUE(
      core::write_file(folder_ / "tasks" / ".assay-key3.lock", "").ok());  // of a killed process
  std::filesystem::remove(folder_ / "tasks" / "key3.json");
  EXPECT_THAT(done_by(work()), ElementsAre(1, 2, 3));
  tasks_[0].key = "changed";
  EXPECT_THAT(done_by(work()), ElementsAre(0));
  StudyWork again = work();
  again.retry_failed = true;
  EXPECT_THAT(done_by(again), ElementsAre(4, 5));
}

TEST_F(RunStudy, LeavesToOthersWhatTheyHold) {
  std::filesystem::create_directories(folder_ / "tasks");
  {
    const auto lock = core::FileLock::acquire(folder_ / "tasks" / ".assay-key2.lock", {});
    ASSERT_TRUE(lock.ok());
    EXPECT_THAT(done_by(work()), ElementsAre(0, 1, 3, 4, 5));
    EXPECT_THAT(missing_, HasSubstr("is locked by another process"));
  }
  EXPECT_THAT(done_by(work()), ElementsAre(2));
  EXPECT_EQ(missing_, "");
}

TEST_F(RunStudy, DoesItsShare) {
  StudyWork part = work();
  part.share = {.index = 1, .count = 3};
  EXPECT_THAT(done_by(part), ElementsAre(1, 4));
  part.share = {.index = 0, .count = 3};
  part.first = 1;
  EXPECT_THAT(done_by(part), ElementsAre(0, 3));
}

TEST_F(RunStudy, SaysThatTheFolderCannotBeWritten) {
  ASSERT_TRUE(core::write_file(folder_, "a file").ok());
  EXPECT_THAT(run_study(work()).error().message, HasSubstr(folder_.string()));
}

core::Result<StudyShare> share_in(std::map<std::string, std::string> variables) {
  return share_of_array([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::map<std::string, std::string> array_of(const char* id) {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", "2"},
          {"SLURM_ARRAY_TASK_STEP", "3"},
          {"SLURM_ARRAY_TASK_COUNT", "4"}};
}

TEST(StudyShare, FollowsASlurmArray) {
  EXPECT_EQ(share_in({}).value().count, 1U);
  for (const auto& [id, index] :
       std::map<std::string, std::size_t>{{"2", 0}, {"5", 1}, {"11", 3}}) {
    const StudyShare share = share_in(array_of(id.c_str())).value();
    EXPECT_EQ(share.index, index);
    EXPECT_EQ(share.count, 4U);
  }
  EXPECT_THAT(share_in(array_of("14")).error().message, HasSubstr("submit an array without holes"));
  EXPECT_FALSE(share_in(array_of("3")).ok());
  EXPECT_FALSE(share_in(array_of("1")).ok());
  EXPECT_THAT(share_in(array_of("x")).error().message,
              AllOf(HasSubstr("SLURM_ARRAY_TASK_ID"), HasSubstr("'x'")));
  EXPECT_THAT(share_in({{"SLURM_ARRAY_TASK_ID", "1"}}).error().message,
              HasSubstr("SLURM_ARRAY_TASK_MIN"));
}

}  // namespace
}  // namespace assay::simulate
