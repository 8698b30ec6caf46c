#include "allreduce/bench/launched_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "core/files.h"

namespace assay::allreduce {
namespace {

core::Result<std::optional<LaunchedRank>> rank_in(std::map<std::string, std::string> variables) {
  return launched_rank([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(LaunchedRank, NothingWithoutALauncher) {
  EXPECT_FALSE(rank_in({}).value().has_value());
}

TEST(LaunchedRank, OpenMpi) {
  const auto rank = rank_in({{"OMPI_COMM_WORLD_RANK", "3"},
                             {"OMPI_COMM_WORLD_SIZE", "4"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                             {"PMIX_NAMESPACE", "prterun-host-7@1"}});
  ASSERT_TRUE(rank.ok() && rank.value());
  EXPECT_EQ(rank.value()->rank, 3);
  EXPECT_EQ(rank.value()->size, 4);
  EXPECT_EQ(rank.value()->job, "prterun_host_7_1");
}

TEST(LaunchedRank, Mpich) {
  const auto rank = rank_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  ASSERT_TRUE(rank.ok() && rank.value());
  EXPECT_EQ(rank.value()->rank, 1);
  EXPECT_EQ(rank.value()->job.rfind("parent_", 0), 0U);
}

TEST(LaunchedRank, AStepOfSlurmButNotItsBatchScript) {
  const auto step = rank_in({{"SLURM_PROCID", "1"},
                             {"SLURM_STEP_NUM_TASKS", "8"},
                             {"SLURM_JOB_ID", "77"},
                             {"SLURM_STEP_ID", "2"}});
  ASSERT_TRUE(step.ok() && step.value());
  EXPECT_EQ(step.value()->job, "77_2");
  EXPECT_FALSE(rank_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).value().has_value());
}

TEST(LaunchedRank, AloneIsAsByHand) {
  EXPECT_FALSE(
      rank_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).value().has_value());
}

TEST(LaunchedRank, RefusesSeveralHostsAndNonsense) {
  const auto spread = rank_in({{"OMPI_COMM_WORLD_RANK", "0"},
                               {"OMPI_COMM_WORLD_SIZE", "16"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}});
  ASSERT_FALSE(spread.ok());
  EXPECT_EQ(spread.error().message,
            "8 of the 16 ranks are on this host: all GPUs of an all-reduce must be in one host");
  const auto nonsense = rank_in({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}});
  ASSERT_FALSE(nonsense.ok());
  EXPECT_EQ(nonsense.error().message, "environment variable PMI_RANK: 'one' is not a number");
}

class RankLeaderTest : public testing::Test {
 protected:
  RankLeaderTest() { std::filesystem::create_directories(folder_); }

  ~RankLeaderTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("rank_leader_" + std::to_string(::getpid()));
  std::filesystem::path rendezvous_ = folder_ / "meet";
};

TEST_F(RankLeaderTest, OneAtATimeAndNothingIsLeft) {
  {
    auto leader = RankLeader::create(rendezvous_);
    ASSERT_TRUE(leader.ok());
    EXPECT_THAT(RankLeader::create(rendezvous_).error().message,
                testing::HasSubstr("another run meets at"));
    EXPECT_EQ(core::list_directory(folder_).value().size(), 1U);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(RankLeaderTest, ReplacesWhatAKilledLeaderLeft) {
  std::ofstream(rendezvous_) << "left";
  std::ofstream(rendezvous_.string() + ".1") << "left";
  auto leader = RankLeader::create(rendezvous_);
  ASSERT_TRUE(leader.ok());
  EXPECT_FALSE(std::filesystem::exists(leader.value().begin(2)));
}

TEST_F(RankLeaderTest, NeverReplacesALink) {
  std::ofstream(folder_ / "precious") << "precious";
  std::filesystem::create_symlink("precious", rendezvous_);
  EXPECT_THAT(RankLeader::create(rendezvous_).error().message,
              testing::HasSubstr("it is no regular file"));
  EXPECT_TRUE(std::filesystem::is_symlink(rendezvous_));
  EXPECT_EQ(core::read_file(folder_ / "precious").value(), "precious");
}

}  // namespace
}  // namespace assay::allreduce
