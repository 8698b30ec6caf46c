#include "allreduce/codegen/nccl_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace assay::allreduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const NcclSetting kLow{.algorithm = "ring", .protocol = "ll", .channels = 4};
const NcclSetting kHigh{.algorithm = "tree", .protocol = "simple", .channels = 24};

std::vector<std::string> rows_of(const std::string& config) {
  std::vector<std::string> rows;
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LT(line.size(), 256U) << "longer than the plugin reads";
    if (line.front() != '#') rows.push_back(line);
  }
  return rows;
}

TEST(NcclTuner, NamesOfSettings) {
  EXPECT_EQ(nccl_setting_named("NCCL_RING_LL128_16"), (NcclSetting{"ring", "ll128", 16}));
  EXPECT_EQ(nccl_setting_named("NCCL_TREE_SIMPLE"), (NcclSetting{"tree", "simple", kNcclChooses}));
  for (const char* name : {"", "NCCL", "NCCL_SYMMETRIC", "NCCL_RING", "ONESHOT", "NCCL_RING_LL_0",
                           "NCCL_RING_LL_-1", "NCCL_RING_LL_4x", "NCCL_NVLS_LL"}) {
    EXPECT_FALSE(nccl_setting_named(name)) << name;
  }
}

TEST(NcclTuner, RangesMeetInTheMiddleAndGoOnToAllSizes) {
  const std::vector<NcclTiming> timings{
      {8, 1024, kLow, 10},  {8, 1024, kHigh, 20},   {8, 4096, kLow, 30},
      {8, 4096, kHigh, 20}, {2, 1 << 20, kHigh, 5},
  };
  EXPECT_THAT(
      rows_of(nccl_tuner_config(timings, {.sm_version = 90, .provenance = "a test"})),
      ElementsAre("allreduce,0,4294967295,tree,simple,24,1,2", "allreduce,0,2048,ring,ll,4,1,8",
                  "allreduce,2049,4294967295,tree,simple,24,1,8"));
}

TEST(NcclTuner, ALeadWithinATieChangesNothing) {
  const std::vector<NcclTiming> timings{{4, 1024, kLow, 10},   {4, 1024, kHigh, 20},
                                        {4, 2048, kLow, 20.3}, {4, 2048, kHigh, 20},
                                        {4, 4096, kLow, 20.5}, {4, 4096, kHigh, 20}};
  EXPECT_THAT(rows_of(nccl_tuner_config(timings, {.tie = 0.02})),
              ElementsAre("allreduce,0,2896,ring,ll,4,1,4",
                          "allreduce,2897,4294967295,tree,simple,24,1,4"));
}

TEST(NcclTuner, RunsOfOneSizeCountByTheirMedian) {
  const std::vector<NcclTiming> timings{
      {2, 64, kLow, 1}, {2, 64, kLow, 9}, {2, 64, kLow, 9}, {2, 64, kHigh, 5}};
  EXPECT_THAT(rows_of(nccl_tuner_config(timings, {})),
              ElementsAre("allreduce,0,4294967295,tree,simple,24,1,2"));
}

TEST(NcclTuner, WithoutForcedSettingsThereIsNoRow) {
  Benchmark benchmark;
  benchmark.measurements = {{.cell = {}, .strategy = Strategy::kNccl, .time_us = 3}};
  const auto timings = nccl_timings(benchmark);
  EXPECT_TRUE(timings.empty());
  const std::string config =
      nccl_tuner_config(timings, {.sm_version = 90, .provenance = std::string(999, 'x') + "\ny"});
  EXPECT_THAT(rows_of(config), ElementsAre());
  EXPECT_THAT(config, HasSubstr("# No row: "));
}

}  // namespace
}  // namespace assay::allreduce
