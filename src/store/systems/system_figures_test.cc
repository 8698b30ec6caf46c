#include "store/systems/system_figures.h"

#include <gtest/gtest.h>

#include "store/files/frame_test_util.h"

namespace assay::store {
namespace {

Point point(double amount, double seconds) {
  return {.amount = amount, .seconds = seconds, .what = ""};
}

TEST(SystemFigures, TheBestRateIsOfLargeAmountsAlone) {
  const std::vector<Point> points = {point(100, 1e-6), point(1000, 1e-4), point(2000, 1e-4)};
  const auto rate = best_rate(points, 500);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->per_second, 2e7);
  EXPECT_EQ(rate->count, 2U);
  EXPECT_FALSE(best_rate(points, 5000));
  EXPECT_FALSE(best_rate(std::vector<Point>{point(0, 1)}, 0));
}

TEST(SystemFigures, ConstantLatencyIsTheInterceptOfSmallAmounts) {
  // 3 us and 1 GB/s; the large point lies elsewhere.
  const std::vector<Point> points = {point(1000, 4e-6), point(2000, 5e-6), point(4000, 7e-6),
                                     point(1'000'000, 1)};
  const auto latency = constant_latency(points, 10'000);
  ASSERT_TRUE(latency);
  EXPECT_NEAR(latency->seconds, 3e-6, 1e-12);
  EXPECT_EQ(latency->count, 3U);
  EXPECT_NEAR(latency->deviation, 0, 1e-9);
}

TEST(SystemFigures, ConstantLatencySaysHowFarPointsLieFromTheLine) {
  // The mean, 10 us, has points 1 us off on both sides of each amount.
  const std::vector<Point> points = {point(0, 9e-6), point(0, 11e-6), point(8, 9e-6),
                                     point(8, 11e-6)};
  const auto latency = constant_latency(points, 10);
  ASSERT_TRUE(latency);
  EXPECT_NEAR(latency->seconds, 10e-6, 1e-12);
  EXPECT_NEAR(latency->deviation, 0.1, 1e-9);
}

TEST(SystemFigures, NoLineThroughTooLittle) {
  EXPECT_FALSE(constant_latency(std::vector<Point>{point(1, 1), point(2, 2)}, 10));
  EXPECT_FALSE(constant_latency(std::vector<Point>{point(1, 1), point(1, 2), point(1, 3)}, 10));
  // Falls below 0 before it meets no bytes.
  EXPECT_FALSE(constant_latency(std::vector<Point>{point(2, 1), point(3, 2), point(4, 3)}, 10));
}

TEST(SystemFigures, AMedianOfLaunches) {
  const auto latency =
      median_latency(std::vector<Point>{point(0, 2e-6), point(0, 3e-6), point(0, 4e-6)});
  ASSERT_TRUE(latency);
  EXPECT_DOUBLE_EQ(latency->seconds, 3e-6);
  EXPECT_FALSE(median_latency(std::vector<Point>{point(8, 1)}));
}

TEST(SystemPoints, ACopyMovesEachByteTwice) {
  const Frame frame = frame_of(
      "op_name,dtype,rows,columns,latency,median_ms,p10_ms,p90_ms\n"
      "copy,bfloat16,1000,500,0.5,0.5,0.49,0.51\n"
      "read,float32,1000,500,0.25,0.5,0.5,0.5\n"
      "add,bfloat16,1000,500,0.5,0.5,0.5,0.5\n");
  const std::vector<Point> copies = memory_points(frame, "copy");
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_DOUBLE_EQ(copies[0].amount, 2e6);
  EXPECT_DOUBLE_EQ(copies[0].seconds, 5e-4);
  EXPECT_NEAR(copies[0].spread.value(), 0.04, 1e-9);
  EXPECT_EQ(copies[0].what, "copy 1000 x 500 bfloat16");
  ASSERT_EQ(memory_points(frame, "read").size(), 1U);
  EXPECT_DOUBLE_EQ(memory_points(frame, "read")[0].amount, 2e6);
  EXPECT_TRUE(memory_points(frame, "add").empty());
}

TEST(SystemPoints, ProductsAreOfOneType) {
  const Frame frame = frame_of(
      "op_name,gemm_dtype,m,n,k,latency\n"
      "gemm,fp8,10,20,30,0.001\n"
      "gemm,fp8_block,10,20,30,0.001\n");
  const std::vector<Point> points = gemm_points(frame, "fp8");
  ASSERT_EQ(points.size(), 1U);
  EXPECT_DOUBLE_EQ(points[0].amount, 12000);
  EXPECT_FALSE(points[0].spread);
}

TEST(SystemPoints, SendsCountBytesOfTheirType) {
  const Frame frame = frame_of(
      "op_name,nccl_dtype,num_gpus,message_size,latency\n"
      "send_recv,half,2,1024,0.01\n"
      "send_recv,int8,4,1024,0.01\n"
      "all_reduce,half,2,1024,0.01\n");
  EXPECT_EQ(send_points(frame, 0).size(), 2U);
  const std::vector<Point> two = send_points(frame, 2);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_DOUBLE_EQ(two[0].amount, 2048);
}

TEST(SystemPoints, RowsWithoutALatencyOrAKnownTypeGiveNone) {
  const Frame frame = frame_of(
      "op_name,dtype,rows,columns,latency\n"
      "copy,bfloat16,8,8,0\n"
      "copy,nvfp4,8,8,1\n"
      "copy,bfloat16,,8,1\n");
  EXPECT_TRUE(memory_points(frame, "copy").empty());
  EXPECT_TRUE(memory_points(Frame{}, "copy").empty());
}

TEST(SystemPoints, TransfersAndTheirLaunchMode) {
  const Frame frame = frame_of(
      "op_name,bytes,latency,launch,power_limit\n"
      "launch,0,0.002,graph,600\n"
      "host_to_device,4096,0.01,eager,700\n");
  EXPECT_DOUBLE_EQ(transfer_points(frame, "launch").at(0).amount, 0);
  EXPECT_DOUBLE_EQ(transfer_points(frame, "host_to_device").at(0).amount, 4096);
  EXPECT_EQ(launch_mode(frame), "graph");
  EXPECT_EQ(largest(frame, "power_limit"), 700);
  EXPECT_EQ(largest(frame, "power"), std::nullopt);
}

}  // namespace
}  // namespace assay::store
