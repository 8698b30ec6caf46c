#include "allreduce/codegen/nccl_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "allreduce/tuner/tuner_file.h"

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

NcclMeasurement timed(int world_size, std::int64_t size_bytes, const NcclArm& arm, double time_us) {
  NcclMeasurement m;
  m.cell = {.world_size = world_size, .size_bytes = size_bytes};
  m.arm = arm;
  m.time_us = time_us;
  m.low_us = time_us * 0.99;
  m.high_us = time_us * 1.01;
  return m;
}

NcclMeasurement own(std::int64_t size_bytes, const NcclSetting& ran, double time_us) {
  NcclMeasurement m = timed(4, size_bytes, NcclArm(), time_us);
  m.ran = name_of(ran);
  return m;
}

TEST(NcclTuner, RangesMeetInTheMiddleAndGoOnToAllSizes) {
  const std::vector<NcclMeasurement> timings{
      timed(8, 1024, kLow, 10),  timed(8, 1024, kHigh, 20),   timed(8, 4096, kLow, 30),
      timed(8, 4096, kHigh, 20), timed(2, 1 << 20, kHigh, 5),
  };
  EXPECT_THAT(rows_of(nccl_tuner_config(timings, {.sm_version = 90, .provenance = "a test"})),
              ElementsAre("allreduce,0,9223372036854775807,tree,simple,24,1,2",
                          "allreduce,0,2048,ring,ll,4,1,8",
                          "allreduce,2049,9223372036854775807,tree,simple,24,1,8"));
}

TEST(NcclTuner, ALeadWithinATieChangesNothing) {
  const std::vector<NcclMeasurement> timings{timed(4, 1024, kLow, 10),   timed(4, 1024, kHigh, 20),
                                             timed(4, 2048, kLow, 20.3), timed(4, 2048, kHigh, 20),
                                             timed(4, 4096, kLow, 20.5), timed(4, 4096, kHigh, 20)};
  EXPECT_THAT(rows_of(nccl_tuner_config(timings, {.tie = 0.02})),
              ElementsAre("allreduce,0,2896,ring,ll,4,1,4",
                          "allreduce,2897,9223372036854775807,tree,simple,24,1,4"));
}

TEST(NcclTuner, RunsOfOneSizeCountByTheirMedian) {
  const std::vector<NcclMeasurement> timings{timed(2, 64, kLow, 1), timed(2, 64, kLow, 9),
                                             timed(2, 64, kLow, 9), timed(2, 64, kHigh, 5)};
  EXPECT_THAT(rows_of(nccl_tuner_config(timings, {})),
              ElementsAre("allreduce,0,9223372036854775807,tree,simple,24,1,2"));
}

TEST(NcclTuner, OwnChoicesCountByWhatTheyRan) {
  NcclMeasurement gathered = own(2048, kLow, 10);
  gathered.cell.collective = NcclCollective::kAllGather;
  EXPECT_THAT(rows_of(nccl_tuner_config(
                  std::vector{own(1024, kHigh, 9), timed(4, 1024, kLow, 10), gathered}, {})),
              ElementsAre("allreduce,0,9223372036854775807,tree,simple,24,1,4",
                          "allgather,0,9223372036854775807,ring,ll,4,1,4"));
}

TEST(NcclTuner, EagerCallsAloneMakeNoRowAndAreNamedAsTheReason) {
  NcclMeasurement eager = timed(4, 1024, kLow, 10);
  eager.cell.launch = Launch::kEager;
  const std::string config = nccl_tuner_config(std::vector{eager}, {});
  EXPECT_TRUE(rows_of(config).empty());
  EXPECT_THAT(config, HasSubstr("only eager calls were measured"));
}

TEST(NcclTuner, WithoutKnownSettingsThereIsNoRow) {
  const std::vector<NcclMeasurement> timings{timed(2, 64, NcclArm(), 3)};
  std::string provenance(999, 'x');
  provenance += "\ny";
  const std::string config =
      nccl_tuner_config(timings, {.sm_version = 90, .provenance = provenance});
  EXPECT_THAT(rows_of(config), ElementsAre());
  EXPECT_THAT(config, HasSubstr("# No row: "));
}

TEST(AssayTuner, RowsOnlyWhereSomethingBeatsNcclsOwnChoice) {
  NcclMeasurement failed = timed(4, 4096, kLow, 1);
  failed.outcome = Outcome::kIncorrect;
  NcclMeasurement wide = timed(4, 16384, kLow, 9);
  wide.high_us = 11;
  const std::vector<NcclMeasurement> timings{
      own(1024, kHigh, 10),  timed(4, 1024, kLow, 10.1),  // slower
      own(2048, kHigh, 10),  timed(4, 2048, kLow, 8),     // better
      own(4096, kHigh, 10),  failed,                      // wrong results
      own(8192, kHigh, 10),  timed(4, 8192, kHigh, 8),    // what NCCL ran anyway
      own(16384, kHigh, 10), wide,                        // within the noise
      own(32768, kHigh, 10), timed(4, 32768, kLow, 9.9),  // a tie
      own(65536, kHigh, 10), timed(4, 65536, kLow, 9),    // better, to the last size measured
  };
  EXPECT_THAT(rows_of(assay_tuner_config(timings, {})),
              ElementsAre("allreduce,2048,2048,ring,ll,4,1,4,1,1",
                          "allreduce,46341,65536,ring,ll,4,1,4,1,1"));
}

TEST(AssayTuner, RowsReachOnlyTowardsSizesAtWhichTheyAreNoSlower) {
  NcclMeasurement fewer = timed(4, 2048, kLow, 0);
  fewer.outcome = Outcome::kUnsupported;
  const NcclSetting two{.algorithm = "ring", .protocol = "ll", .channels = 2};
  fewer.ran = name_of(two);
  const auto rows = [](const std::vector<NcclMeasurement>& at_2048,
                       const std::vector<NcclMeasurement>& at_8192) {
    std::vector<NcclMeasurement> all{own(4096, kHigh, 10), timed(4, 4096, kLow, 8)};
    all.insert(all.end(), at_2048.begin(), at_2048.end());
    all.insert(all.end(), at_8192.begin(), at_8192.end());
    return rows_of(assay_tuner_config(all, {}));
  };
  const std::vector<NcclMeasurement> slower{own(8192, kHigh, 10), timed(4, 8192, kLow, 10.1)};
  EXPECT_THAT(rows({own(2048, kHigh, 10), timed(4, 2048, kLow, 9.9)}, slower),
              ElementsAre("allreduce,2897,4096,ring,ll,4,1,4,1,1"));
  EXPECT_THAT(rows({own(2048, kHigh, 10), timed(4, 2048, two, 10), fewer}, slower),
              ElementsAre("allreduce,2897,4096,ring,ll,4,1,4,1,1"))
      << "there it becomes one that is no slower";
  EXPECT_THAT(rows({own(2048, two, 10), timed(4, 2048, two, 9.9), fewer}, slower),
              ElementsAre("allreduce,4096,4096,ring,ll,4,1,4,1,1"))
      << "there it becomes what NCCL takes by itself, which may change in between";
  EXPECT_THAT(rows({own(2048, kHigh, 10), timed(4, 2048, two, 10.1), fewer}, slower),
              ElementsAre("allreduce,4096,4096,ring,ll,4,1,4,1,1"))
      << "there it becomes a slower one";
  EXPECT_THAT(rows({own(2048, kHigh, 10)}, {own(8192, kHigh, 10), timed(4, 8192, kLow, 10)}),
              ElementsAre("allreduce,4096,5792,ring,ll,4,1,4,1,1"))
      << "it was not measured at the smaller one";
}

TEST(AssayTuner, SizesWithoutSettingsSayNothing) {
  const std::vector<NcclMeasurement> timings{timed(4, 512, NcclArm(), 10), own(1024, kHigh, 10),
                                             timed(4, 1024, kLow, 8), timed(4, 1500, NcclArm(), 1)};
  EXPECT_THAT(rows_of(assay_tuner_config(timings, {})),
              ElementsAre("allreduce,1024,1024,ring,ll,4,1,4,1,1"));
}

TEST(AssayTuner, EagerRowsAreForBuffersThatAreNotRegistered) {
  std::vector<NcclMeasurement> timings{own(1024, kHigh, 10), timed(4, 1024, kLow, 8)};
  for (NcclMeasurement& m : timings) {
    m.cell.launch = Launch::kEager;
    m.cell.collective = NcclCollective::kBroadcast;
  }
  EXPECT_THAT(rows_of(assay_tuner_config(timings, {})),
              ElementsAre("broadcast,1024,1024,ring,ll,4,1,4,1,0"));
}

TEST(AssayTuner, ThePluginReadsItsFileAndTheExamplesFile) {
  const std::vector<NcclMeasurement> timings{own(1024, kHigh, 10), timed(4, 1024, kLow, 8)};
  const NcclTunerFacts facts{
      .sm_version = 90, .provenance = "a, b\nc", .gpu = "NVIDIA H200", .nccl = "2.28.3"};
  const TunerFile file = parse_tuner_file(assay_tuner_config(timings, facts));
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.gpu, "NVIDIA H200");
  EXPECT_EQ(file.nccl, "2.28");
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.rows[0].collective, collective_number("allreduce"));
  EXPECT_EQ(file.rows[0].algorithm, kRing);
  EXPECT_EQ(file.rows[0].protocol, protocol_number("ll"));
  EXPECT_EQ(file.rows[0].registered, 1);
  EXPECT_EQ(parse_tuner_file(nccl_tuner_config(timings, facts)).rows.size(), 1U);
}

TEST(AssayTuner, NothingBetterIsNoRow) {
  const std::string config = assay_tuner_config({}, {});
  EXPECT_THAT(rows_of(config), ElementsAre());
  EXPECT_THAT(config, HasSubstr("# No row: "));
}

}  // namespace
}  // namespace assay::allreduce
