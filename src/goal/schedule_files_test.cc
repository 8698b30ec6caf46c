#include "goal/schedule_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "report/test_support.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

// A schedule whose ranks calculate once.
SchedulePlan calculations(std::uint32_t ranks) {
  SchedulePlan plan;
  plan.num_ranks = ranks;
  plan.notes.ranks.resize(ranks);
  plan.make_rank = [](std::uint32_t /*rank*/, RankWork& work) -> core::Status {
    work.graph.calc(7, {});
    return {};
  };
  return plan;
}

class ScheduleFiles : public ::testing::Test {
 protected:
  std::size_t write(std::uint32_t ranks, ScheduleFormat format, TextFiles text = TextFiles::kOne) {
    ScheduleTarget target;
    target.folder = folder_.path();
    target.format = format;
    target.text_files = text;
    const auto written = write_schedule(calculations(ranks), target, "test");
    EXPECT_TRUE(written.ok()) << written.error().message;
    return written.ok() ? written.value().removed : 0;
  }

  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }

  report::TemporaryFolder folder_;
};

// The notes would be taken for those of the other forms.
TEST_F(ScheduleFiles, OtherFormsOfAnEarlierScheduleGo) {
  write(2, ScheduleFormat::kBinary);
  std::ofstream(folder_.path() / "output.job.json") << "{}";
  EXPECT_EQ(write(2, ScheduleFormat::kText), 1U);
  EXPECT_THAT(names(), UnorderedElementsAre("output.goal", "output.notes.json", "output.job.json"));
  EXPECT_EQ(write(3, ScheduleFormat::kText, TextFiles::kParts), 1U);
  EXPECT_THAT(names(), UnorderedElementsAre("rank_0.goal", "rank_1.goal", "rank_2.goal",
                                            "output.notes.json", "output.job.json"));
  EXPECT_EQ(write(2, ScheduleFormat::kText, TextFiles::kOneAndParts), 1U);
  EXPECT_EQ(write(2, ScheduleFormat::kBinary), 3U);
  EXPECT_THAT(names(), UnorderedElementsAre("output.bin", "output.notes.json", "output.job.json"));
  EXPECT_EQ(write(2, ScheduleFormat::kBinary), 0U);
}

}  // namespace
}  // namespace assay::goal
