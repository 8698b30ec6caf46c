#include "goal/job_size.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "goal/generate.h"
#include "goal/goal_test_util.h"
#include "goal/input.h"
#include "goal/job_schedule.h"
#include "goal/launch_job.h"
#include "goal/reshape_job.h"
#include "report/test_support.h"

namespace assay::goal {
namespace {

JobFile recorded_step(unsigned replicas) {
  const std::filesystem::path recording =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "samples" / "goal-4gpu";
  JobFile file;
  file.job =
      cut_window(read_job(recording, {}).value(), {.from_s = 4.0035, .to_s = 4.0385}).value();
  file.costs = costs_from_lines(default_costs(), "");
  file.scale.replicas = replicas;
  return file;
}

// Every launch of the whole job, one by one.
JobSize counted(const JobFile& file) {
  const auto job = make_launch_job(file);
  EXPECT_TRUE(job.ok()) << job.error().message;
  const LaunchSource& schedule = *job.value()->schedule;
  JobSize size{.ranks = schedule.num_ranks()};
  model::LaunchWork work;
  for (std::uint32_t rank = 0; rank < schedule.num_ranks(); ++rank) {
    const model::RankLaunches& launches = schedule.rank(rank);
    size.launches += launches.launches.size();
    for (std::uint32_t i = 0; i < launches.launches.size(); ++i) {
      work.clear();
      schedule.list(rank, i, work);
      size.operations += work.lanes.empty() ? 1 : work.end_op + 1;
    }
  }
  return size;
}

TEST(JobSize, CountsWhatTheWholeJobHas) {
  for (const unsigned replicas : {1U, 2U, 8U}) {
    const JobFile file = recorded_step(replicas);
    const auto size = size_of(file);
    ASSERT_TRUE(size.ok()) << size.error().message;
    const JobSize whole = counted(file);
    EXPECT_EQ(size.value().ranks, whole.ranks);
    EXPECT_EQ(size.value().launches, whole.launches);
    EXPECT_EQ(size.value().operations, whole.operations);
  }
}

TEST(JobSize, EstimatesManyReplicasFromSome) {
  const JobFile file = recorded_step(32);
  const auto size = size_of(file);
  ASSERT_TRUE(size.ok()) << size.error().message;
  const JobSize whole = counted(file);
  EXPECT_EQ(size.value().launches, whole.launches);
  EXPECT_NEAR(static_cast<double>(size.value().operations), static_cast<double>(whole.operations),
              0.02 * static_cast<double>(whole.operations));
}

TEST(JobSize, TellsWhatFits) {
  EXPECT_TRUE(fits_exactly(size_of(recorded_step(16)).value()));
  EXPECT_FALSE(fits_exactly(size_of(recorded_step(2560)).value()));
  EXPECT_FALSE(fits_exactly({.operations = 1, .memory_bytes = kMostExactBytes + 1}));
}

TEST(JobSize, TellsWhichDisksHoldTheSchedule) {
  const JobSize size = size_of(recorded_step(2)).value();
  EXPECT_TRUE(check_room(size, binary_bytes(size.operations)).ok());
  const core::Status full = check_room({.operations = 3'529'222'400}, 40'000'000'000);
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message.find("3529222400 operations: a file of 155 GB or more, where 40 "
                                      "GB are free"),
            std::string::npos)
      << full.error().message;
}

TEST(JobSize, EstimatesTheBinaryForm) {
  const JobFile file = recorded_step(2);
  const report::TemporaryFolder folder;
  GenerateRequest request;
  request.scale = file.scale;
  request.costs = file.costs;
  request.target.folder = folder.path();
  request.target.format = ScheduleFormat::kBinary;
  ASSERT_TRUE(generate_of(file.job, request).ok());
  const auto bytes = static_cast<double>(std::filesystem::file_size(folder.path() / "output.bin"));
  EXPECT_NEAR(static_cast<double>(binary_bytes(size_of(file).value().operations)), bytes,
              0.1 * bytes);
}

TEST(JobSize, RefusesGraphsThatMemoryShouldNotHold) {
  EXPECT_TRUE(check_whole_graph(recorded_step(2)).ok());
  const core::Status large = check_whole_graph(recorded_step(2560));
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("operations; a network that contends"), std::string::npos)
      << large.error().message;
}

}  // namespace
}  // namespace assay::goal
