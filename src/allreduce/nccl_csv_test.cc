#include "allreduce/nccl_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "allreduce/benchmark_csv.h"
#include "core/output_file.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

NcclMeasurement swept() {
  NcclMeasurement m;
  m.cell = {.collective = NcclCollective::kReduceScatter,
            .world_size = 4,
            .size_bytes = 12 << 20,
            .launch = Launch::kEager,
            .data_type = DataType::kFloat32};
  m.arm = NcclSetting{"ring", "ll128", 16};
  m.ran = "NCCL_RING_LL128_16";
  m.time_us = 31.25;
  m.low_us = 31;
  m.high_us = 31.5;
  m.min_us = 30;
  m.samples = 12;
  return m;
}

std::string file_of(const NcclMeasurement& m) {
  return nccl_csv_header() + "\n" + nccl_csv_line(m) + "\n";
}

TEST(NcclCsv, WhatIsWrittenReadsBack) {
  const NcclMeasurement m = swept();
  const auto read = parse_nccl_csv(file_of(m), "nccl_sweep.tp4.sm90.csv").value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].cell, m.cell);
  EXPECT_EQ(read[0].arm, m.arm);
  EXPECT_EQ(read[0].ran, m.ran);
  EXPECT_EQ(read[0].outcome, Outcome::kOk);
  EXPECT_EQ(read[0].time_us, m.time_us);
  EXPECT_EQ(read[0].low_us, m.low_us);
  EXPECT_EQ(read[0].high_us, m.high_us);
  EXPECT_EQ(read[0].min_us, m.min_us);
  EXPECT_EQ(read[0].samples, m.samples);
}

TEST(NcclCsv, FailuresKeepTheirReason) {
  NcclMeasurement m = swept();
  m.outcome = Outcome::kUnsupported;
  m.time_us = m.low_us = m.high_us = m.min_us = kUnknown;
  m.reason = "NCCL ran it as \"NCCL_RING_LL_2\", not so";
  const auto read = parse_nccl_csv(file_of(m), "x.csv").value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].outcome, Outcome::kUnsupported);
  EXPECT_EQ(read[0].reason, m.reason);
}

TEST(NcclCsv, BenchmarkFilesHaveRowsOfNcclToo) {
  const std::string text =
      "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us)\n"
      "2,bfloat16,256,1,128,ONESHOT,NONE,allreduce,3\n"
      "2,bfloat16,256,1,128,NCCL,NONE,allreduce,10\n"
      "2,bfloat16,256,1,128,NCCL,RESIDUAL_RMS_NORM,allreduce,12\n"
      "2,bfloat16,256,1,128,NCCL_RING_LL_8,NONE,allreduce,9\n"
      "2,bfloat16,256,1,128,NCCL,NONE,gemm_allreduce,9\n";
  const auto read = parse_nccl_csv(text, "benchmark.tp2.sm90.csv").value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].arm, NcclArm());
  EXPECT_EQ(read[1].arm, NcclArm(NcclSetting{"ring", "ll", 8}));
  EXPECT_EQ(read[1].cell.size_bytes, 256);
  EXPECT_EQ(read[1].time_us, 9);
  // They are no strategies to choose from, and no reason to refuse the file.
  model::Warnings warnings;
  const auto strategies = parse_benchmark_csv(text, "benchmark.tp2.sm90.csv", &warnings).value();
  EXPECT_EQ(strategies.size(), 3U) << "ONESHOT, and NCCL twice";
  EXPECT_EQ(warnings.all().size(), 1U);  // gemm_allreduce
}

TEST(NcclCsv, ErrorsNameTheLine) {
  const std::string header =
      "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us)\n";
  const auto wrong_time =
      parse_nccl_csv(header + "2,bfloat16,256,1,128,NCCL,NONE,allreduce,-1\n", "a.csv");
  ASSERT_FALSE(wrong_time.ok());
  EXPECT_THAT(wrong_time.error().message, HasSubstr("'a.csv', line 2: "));
  EXPECT_FALSE(parse_nccl_csv(header + "2,bfloat16\n", "a.csv").ok());
  EXPECT_FALSE(parse_nccl_csv("", "a.csv").ok());
}

TEST(NcclCsv, FileNames) {
  EXPECT_EQ((NcclFileName{4, 90}).text(), "nccl_sweep.tp4.sm90.csv");
  EXPECT_TRUE(nccl_file_name("nccl_sweep.tp4.sm90.csv"));
  for (const char* name : {"benchmark.tp4.sm90.csv", "nccl_sweep.tp4.csv", "nccl_sweep.csv",
                           "nccl_sweep.tp4.sm90.eager.csv"}) {
    EXPECT_FALSE(nccl_file_name(name)) << name;
  }
}

TEST(NcclCsv, AFolderTellsItsMachine) {
  const fs::path folder = fs::path(testing::TempDir()) / "nccl_csv";
  fs::remove_all(folder);
  fs::create_directories(folder);
  ASSERT_TRUE(core::write_file(folder / "nccl_sweep.tp4.sm90.csv", file_of(swept())).ok());
  ASSERT_TRUE(core::write_file(folder / "nccl_sweep.tp4.sm90.json",
                               R"({"settings":{"GPU":"NVIDIA H200","NCCL":"2.28.3"},"runs":[]})")
                  .ok());
  const auto read = read_nccl_sweep(folder, 90);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const NcclSweep& sweep = read.value();
  EXPECT_EQ(sweep.measurements.size(), 1U);
  EXPECT_EQ(sweep.gpu, "NVIDIA H200");
  EXPECT_EQ(sweep.nccl, "2.28.3");
  EXPECT_EQ(sweep.provenance,
            "NVIDIA H200, CUDA ?, NCCL 2.28.3, ?, of 1 time in nccl_sweep.tp4.sm90.csv");
  EXPECT_TRUE(read_nccl_sweep(folder, 100).value().measurements.empty());
  ASSERT_TRUE(core::write_file(folder / "nccl_sweep.tp2.sm90.csv", file_of(swept())).ok());
  ASSERT_TRUE(core::write_file(folder / "nccl_sweep.tp2.sm90.json",
                               R"({"settings":{"GPU":"NVIDIA H100"},"runs":[]})")
                  .ok());
  EXPECT_FALSE(read_nccl_sweep(folder, 90).ok());
}

}  // namespace
}  // namespace assay::allreduce
