#include "allreduce/benchmark_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "core/output_file.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kUpstreamHeader =
    "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us)\n";

core::Result<std::vector<Measurement>> parse(const std::string& text,
                                             const std::string& name = "some.csv",
                                             model::Warnings* warnings = nullptr) {
  return parse_benchmark_csv(text, name, warnings);
}

std::string error_of(const std::string& text, const std::string& name = "some.csv") {
  const auto result = parse(text, name);
  return result.ok() ? "read without an error" : result.error().message;
}

std::string rows_error(const std::string& rows, const std::string& name = "some.csv") {
  return error_of(kUpstreamHeader + rows, name);
}

Measurement full_measurement() {
  return {.cell = {.world_size = 4,
                   .data_type = DataType::kFloat16,
                   .fusion = Fusion::kResidualRmsNormQuantFp8,
                   .hidden_size = 7168,
                   .num_tokens = 3},
          .strategy = Strategy::kTwoshotPush,
          .launch = Launch::kEager,
          .time_us = 3.1234567890123,
          .low_us = 3.0,
          .high_us = 3.5,
          .min_us = 2.25,
          .samples = 31,
          .memory_bytes = 1LL << 37};
}

TEST(BenchmarkCsv, WhatIsWrittenReadsBack) {
  const Measurement timed = full_measurement();
  Measurement failed = full_measurement();
  failed.outcome = Outcome::kHang;
  failed.reason = "no answer, \"ever\"";
  failed.time_us = failed.low_us = failed.high_us = failed.min_us = kUnknown;
  failed.samples = 0;
  const std::string text = std::string(benchmark_csv_header()) + "\n" + benchmark_csv_line(timed) +
                           "\n" + benchmark_csv_line(failed) + "\n";
  const auto read = parse(text, "data/benchmark.tp4.sm90.float16.eager.csv").value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].cell, timed.cell);
  EXPECT_EQ(read[0].strategy, timed.strategy);
  EXPECT_EQ(read[0].launch, timed.launch);
  EXPECT_EQ(read[0].outcome, Outcome::kOk);
  EXPECT_EQ(read[0].time_us, timed.time_us);
  EXPECT_EQ(read[0].low_us, timed.low_us);
  EXPECT_EQ(read[0].high_us, timed.high_us);
  EXPECT_EQ(read[0].min_us, timed.min_us);
  EXPECT_EQ(read[0].samples, timed.samples);
  EXPECT_EQ(read[0].memory_bytes, timed.memory_bytes);
  EXPECT_EQ(read[1].outcome, Outcome::kHang);
  EXPECT_EQ(read[1].reason, failed.reason);
  EXPECT_TRUE(std::isnan(read[1].time_us));
  EXPECT_THAT(text, HasSubstr("\n4,float16,43008,3,7168,TWOSHOT_PUSH,RESIDUAL_RMS_NORM_QUANT_FP8,"
                              "allreduce,3.1234567890123,eager,3,3.5,2.25,31,137438953472,ok,\n"));
}

TEST(BenchmarkCsv, ReadsTheNewestPublicDialect) {
  model::Warnings warnings;
  const auto read = parse("\xEF\xBB\xBF" + kUpstreamHeader +
                              "2,bfloat16,16384,2,4096,NCCL,NONE,allreduce,10.5\r\n"
                              "2,bfloat16,16384,2,4096,NCCL,NONE,gemm_allreduce,99\r\n",
                          "benchmark.tp2.sm90.csv", &warnings)
                        .value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].cell.num_tokens, 2);
  EXPECT_EQ(read[0].cell.hidden_size, 4096);
  EXPECT_EQ(read[0].strategy, Strategy::kNccl);
  EXPECT_EQ(read[0].time_us, 10.5);
  EXPECT_TRUE(std::isnan(read[0].low_us));
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_THAT(warnings.all()[0].reason, HasSubstr("gemm_allreduce"));
}

TEST(BenchmarkCsv, ReadsOldDialectsInAnyOrderOfColumns) {
  const auto old = parse(
                       "time_ms,version,fusion_op,strategy,hidden_size,num_tokens,size,dtype,"
                       "world_size\n0.25,1.2.0,RESIDUAL_RMS_NORM,ONESHOT,128,1,256,float16,8\n")
                       .value();
  ASSERT_EQ(old.size(), 1U);
  EXPECT_EQ(old[0].time_us, 250);
  EXPECT_EQ(old[0].cell.fusion, Fusion::kResidualRmsNorm);
  EXPECT_EQ(old[0].cell.data_type, DataType::kFloat16);

  const auto table = parse(
                         "world_size,dtype,fusion,num_tokens,hidden_size,size_bytes,strategy,"
                         "time_us,algbw_GBps\n4,float32,NONE,2,128,1024.0,TWOSHOT,7.5,0.1\n")
                         .value();
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table[0].time_us, 7.5);
  EXPECT_EQ(table[0].cell.size_bytes(), 1024);
}

TEST(BenchmarkCsv, ATimeOfZeroIsNoMeasurementInThePublicMicrobenchmarksFiles) {
  const auto read = parse(
                        "world_size,dtype,fusion,num_tokens,hidden_size,size_bytes,strategy,"
                        "time_us,algbw_GBps\n4,bfloat16,NONE,1,4096,8192,TWOSHOT,0.0,0.0\n"
                        "4,bfloat16,NONE,1,4096,8192,ONESHOT,3.5,2.3\n")
                        .value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].outcome, Outcome::kUnsupported);
  EXPECT_TRUE(std::isnan(read[0].time_us));
  EXPECT_EQ(read[1].time_us, 3.5);
  EXPECT_FALSE(parse(kUpstreamHeader + "2,bfloat16,256,1,128,TWOSHOT,NONE,allreduce,0\n").ok());
}

TEST(BenchmarkCsv, LinesThatEndWithCarriageReturnsAloneAreNamed) {
  std::string text = kUpstreamHeader + "2,bfloat16,256,1,128,NCCL,NONE,allreduce,5\n";
  std::replace(text.begin(), text.end(), '\n', '\r');
  const auto read = parse(text);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("carriage return"));
}

TEST(BenchmarkCsv, OneRankReducesNothing) {
  model::Warnings warnings;
  const auto read = parse(kUpstreamHeader +
                              "1,bfloat16,256,1,128,NCCL,NONE,allreduce,5\n"
                              "2,bfloat16,256,1,128,NCCL,NONE,allreduce,6\n",
                          "some.csv", &warnings)
                        .value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].cell.world_size, 2);
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_EQ(warnings.all()[0].reason, "one rank reduces nothing");
}

TEST(BenchmarkCsv, RunsOfOneCellStayApart) {
  const auto read = parse(kUpstreamHeader +
                          "2,bfloat16,256,1,128,NCCL,NONE,allreduce,10\n"
                          "2,bfloat16,256,1,128,NCCL,NONE,allreduce,12\n")
                        .value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].time_us, 10);
  EXPECT_EQ(read[1].time_us, 12);
}

TEST(BenchmarkCsv, NoTimeIsNotMeasured) {
  const auto read =
      parse(kUpstreamHeader + "2,bfloat16,256,1,128,TWOSHOT,NONE,allreduce,\n").value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].outcome, Outcome::kUnsupported);
  EXPECT_TRUE(std::isnan(read[0].time_us));
  EXPECT_FALSE(read[0].reason.empty());
}

TEST(BenchmarkCsv, StrategiesAndFusionsOfOthersAreCounted) {
  model::Warnings warnings;
  const auto read = parse(kUpstreamHeader +
                              "2,bfloat16,256,1,128,MNNVL,NONE,allreduce,3\n"
                              "2,bfloat16,512,2,128,MNNVL,NONE,allreduce,3\n"
                              "2,bfloat16,256,1,128,NCCL,RMS_NORM,allreduce,3\n"
                              "2,bfloat16,256,1,128,AUTO,NONE,allreduce,3\n",
                          "some.csv", &warnings)
                        .value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].strategy, Strategy::kAuto);
  ASSERT_EQ(warnings.all().size(), 2U);
  EXPECT_THAT(warnings.all()[0].reason, HasSubstr("MNNVL"));
  EXPECT_EQ(warnings.all()[0].count, 2);
  EXPECT_THAT(warnings.all()[0].example, HasSubstr("'some.csv', line 2"));
  EXPECT_THAT(warnings.all()[1].reason, HasSubstr("RMS_NORM"));
}

TEST(BenchmarkCsv, BadRowsAreErrorsWithFileAndLine) {
  const std::string good = "2,bfloat16,256,1,128,NCCL,NONE,allreduce,3\n";
  EXPECT_EQ(rows_error(good + "2,bfloat16,256,1,128,ONESHOOT,NONE,allreduce,3\n"),
            "'some.csv', line 3: no strategy is called 'ONESHOOT'; did you mean ONESHOT?");
  EXPECT_THAT(rows_error("2,bfloat16,256,1,128,NCCL,,allreduce,3\n"),
              HasSubstr("line 2: no fusion is called ''; there are NONE, "));
  EXPECT_THAT(rows_error("2,int4,256,1,128,NCCL,NONE,allreduce,3\n"),
              HasSubstr("no dtype is called 'int4'"));
  EXPECT_THAT(rows_error("0,bfloat16,256,1,128,NCCL,NONE,allreduce,3\n"),
              HasSubstr("world_size is '0'"));
  EXPECT_THAT(rows_error("2,bfloat16,256,1.5,128,NCCL,NONE,allreduce,3\n"),
              HasSubstr("num_tokens is '1.5'"));
  EXPECT_THAT(rows_error("2,bfloat16,256,99999999999999999999,128,NCCL,NONE,allreduce,3\n"),
              HasSubstr("num_tokens is '99999999999999999999'"));
  EXPECT_THAT(rows_error("2,bfloat16,256,1,nan,NCCL,NONE,allreduce,3\n"),
              HasSubstr("hidden_size is 'nan'"));
  for (const std::string time : {"-1", "0", "inf", "1e300", "1e-300", "fast", "3us"}) {
    EXPECT_THAT(rows_error("2,bfloat16,256,1,128,NCCL,NONE,allreduce," + time + "\n"),
                HasSubstr("time (us) is '" + time + "': it must be a number from 1e-06 to 1e+15"));
  }
  EXPECT_THAT(rows_error(good + "2,bfloat16,256,1"), HasSubstr("line 3: 4 fields under 9 columns"));
  EXPECT_THAT(rows_error("2,bfloat16,\"256"), HasSubstr("'some.csv', line 2: a quote"));
}

TEST(BenchmarkCsv, ATimeOutsideOfItsIntervalIsAnError) {
  const auto problem_of = [](const std::string& times) {
    return error_of(
        "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,time (us),low (us),"
        "high (us)\n2,bfloat16,256,1,128,NCCL,NONE," +
            times + "\n",
        "some.csv");
  };
  EXPECT_EQ(problem_of("3,2,4"), "read without an error");
  EXPECT_EQ(problem_of("3,3,3"), "read without an error");
  EXPECT_THAT(problem_of("3,4,5"),
              HasSubstr("line 2: time (us) 3 is outside of low (us) 4 to high (us) 5"));
  EXPECT_THAT(problem_of("6,4,5"), HasSubstr("time (us) 6 is outside"));
}

TEST(BenchmarkCsv, ASizeInElementsIsAnError) {
  EXPECT_EQ(rows_error("2,bfloat16,128,1,128,NCCL,NONE,allreduce,3\n"),
            "'some.csv', line 2: size is '128', but 1 tokens of 128 bfloat16 elements are 256 "
            "bytes");
}

TEST(BenchmarkCsv, AFileThatIsNoneOrEmptyIsAnError) {
  EXPECT_EQ(error_of(""), "'some.csv' is empty");
  EXPECT_THAT(error_of("bytes,nccl_us\n256,10\n"),
              HasSubstr("'some.csv', line 1: no column 'world_size'"));
  EXPECT_THAT(error_of("world_size,dtype,num_tokens,hidden_size,strategy,fusion\n"),
              HasSubstr("no column 'time (us)'"));
  EXPECT_THAT(error_of("world_size,dtype,num_tokens,hidden_size,strategy,fusion,fusion_op\n"),
              HasSubstr("'fusion' and 'fusion_op' say the same"));
  EXPECT_TRUE(parse(kUpstreamHeader).value().empty());
}

TEST(BenchmarkCsv, RowsMustAgreeWithTheFilesName) {
  const std::string row = "2,bfloat16,256,1,128,NCCL,NONE,allreduce,3\n";
  EXPECT_EQ(rows_error(row, "benchmark.tp4.sm90.csv"),
            "'benchmark.tp4.sm90.csv', line 2: world_size is 2, but the file's name says tp4");
  EXPECT_THAT(rows_error(row, "benchmark.tp2.sm90.float32.csv"),
              HasSubstr("dtype is bfloat16, but the file's name says float32"));
  EXPECT_EQ(parse(kUpstreamHeader + row, "benchmark.tp2.sm90.eager.csv").value()[0].launch,
            Launch::kEager);
  const std::string ours =
      std::string(benchmark_csv_header()) + "\n" + benchmark_csv_line(full_measurement()) + "\n";
  EXPECT_THAT(error_of(ours, "benchmark.tp4.sm90.csv"),
              HasSubstr("launch is eager, but the file's name says graph"));
}

TEST(BenchmarkFileName, SaysWhatItHolds) {
  const std::vector<std::string> names{"benchmark.tp2.sm90.csv", "benchmark.tp16.sm100.eager.csv",
                                       "benchmark.tp4.sm90.float16.csv",
                                       "benchmark.tp4.sm90.float32.eager.csv"};
  for (const std::string& name : names) {
    const auto parsed = benchmark_file_name(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->text(), name);
  }
  const auto last = benchmark_file_name(names.back());
  EXPECT_EQ(last->world_size, 4);
  EXPECT_EQ(last->sm_version, 90);
  EXPECT_EQ(last->data_type, DataType::kFloat32);
  EXPECT_EQ(last->launch, Launch::kEager);
}

TEST(BenchmarkFileName, OtherNamesAreNone) {
  for (const char* name :
       {"", "benchmark", "benchmark.csv", "benchmark.tp2.csv", "benchmark.tp2.sm90.csv~",
        "benchmark.tp02.sm90.csv", "benchmark.tp2.sm90.bfloat16.csv", "benchmark.tp-2.sm90.csv",
        "benchmark.tp2.sm90.csv.csv", "benchmark.tp2.sm90.graph.csv", "benchmark.tp.sm90.csv",
        "benchmark.tp99999999999.sm90.csv", "xbenchmark.tp2.sm90.csv"}) {
    EXPECT_FALSE(benchmark_file_name(name)) << name;
  }
}

class BenchmarkFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& rows) const {
    core::write_file(folder_ / name, kUpstreamHeader + rows, core::Durability::kUnsynced).value();
  }

  [[nodiscard]] std::vector<std::string> found(std::optional<int> sm,
                                               Launch launch = Launch::kGraph) const {
    std::vector<std::string> names;
    for (const fs::path& file : find_benchmarks(folder_, sm, launch).value().files)
      names.push_back(file.filename().string());
    return names;
  }

  fs::path folder_;
};

TEST_F(BenchmarkFolderTest, FindsByNumberAndReadsAll) {
  write("benchmark.tp16.sm90.csv", "16,bfloat16,256,1,128,NCCL,NONE,allreduce,3\n");
  write("benchmark.tp2.sm90.csv", "2,bfloat16,256,1,128,UB,NONE,allreduce,3\n");
  write("benchmark.tp2.sm90.eager.csv", "");
  write("notes.csv", "");
  EXPECT_THAT(found({}), testing::ElementsAre("benchmark.tp2.sm90.csv", "benchmark.tp16.sm90.csv"));
  EXPECT_THAT(found(90, Launch::kEager), testing::ElementsAre("benchmark.tp2.sm90.eager.csv"));
  const Benchmark benchmark = read_benchmarks(find_benchmarks(folder_, {}).value()).value();
  EXPECT_EQ(benchmark.sm_version, 90);
  ASSERT_EQ(benchmark.measurements.size(), 1U);
  EXPECT_EQ(benchmark.measurements[0].cell.world_size, 16);
  EXPECT_EQ(benchmark.warnings.all().size(), 1U);
}

TEST_F(BenchmarkFolderTest, MixedSmsMustBeNamed) {
  write("benchmark.tp2.sm90.csv", "");
  write("benchmark.tp2.sm100.csv", "");
  EXPECT_THAT(find_benchmarks(folder_, {}).error().message, HasSubstr("mixes benchmark files"));
  EXPECT_THAT(found(100), testing::ElementsAre("benchmark.tp2.sm100.csv"));
  EXPECT_THAT(find_benchmarks(folder_, 80).error().message,
              HasSubstr("no benchmark files of SM 80, only of SM 90, 100"));
  EXPECT_THAT(read_benchmarks(find_benchmarks(folder_, 90).value()).error().message,
              HasSubstr("no measurements in "));
}

TEST_F(BenchmarkFolderTest, OtherLaunchesAreNamed) {
  write("benchmark.tp2.sm90.eager.csv", "");
  write("benchmark.tp2.sm90.isolated.csv", "");
  EXPECT_THAT(find_benchmarks(folder_, {}).error().message,
              HasSubstr("no benchmark files of graph launches, only of eager and isolated ones "
                        "(--launch)"));
  EXPECT_EQ(find_all_benchmarks(folder_, {}).value().files.size(), 2U);
}

TEST_F(BenchmarkFolderTest, AFolderWithoutAnyIsAnError) {
  EXPECT_THAT(find_benchmarks(folder_, {}).error().message,
              HasSubstr("no benchmark files of graph launches, such as benchmark.tp2.sm90.csv"));
  EXPECT_THAT(find_benchmarks(folder_ / "none", {}).error().message, HasSubstr("none"));
}

}  // namespace
}  // namespace assay::allreduce
