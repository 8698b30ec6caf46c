#include "allreduce/bench/nccl_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "allreduce/bench/nccl_plan.h"

namespace assay::allreduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(NcclProtocol, RequestsReadBack) {
  const NcclRequest request{.id = 7,
                            .cell = {.collective = NcclCollective::kBroadcast,
                                     .world_size = 4,
                                     .size_bytes = 65536,
                                     .launch = Launch::kEager,
                                     .data_type = DataType::kFloat32},
                            .arms = {NcclArm(), NcclSetting{"ring", "ll", 8}},
                            .tie = 0.03,
                            .min_samples = 6,
                            .max_samples = 9,
                            .seed = 11};
  const auto read = parse_nccl_request(request_line(request));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().id, 7);
  EXPECT_EQ(read.value().cell, request.cell);
  EXPECT_EQ(read.value().arms, request.arms);
  EXPECT_EQ(read.value().tie, 0.03);
  EXPECT_EQ(read.value().min_samples, 6);
  EXPECT_EQ(read.value().max_samples, 9);
  EXPECT_EQ(read.value().seed, 11U);
}

TEST(NcclProtocol, ResultsReadBack) {
  NcclResult result{.id = 3, .measurement = {}};
  result.measurement.arm = NcclSetting{"tree", "simple", 4};
  result.measurement.ran = "NCCL_TREE_SIMPLE_4";
  result.measurement.time_us = 9.5;
  result.measurement.low_us = 9;
  result.measurement.high_us = 10;
  result.measurement.min_us = 8;
  result.measurement.samples = 6;
  const auto read = parse_nccl_message(nccl_message_line(result)).value();
  const auto& got = std::get<NcclResult>(read).measurement;
  EXPECT_EQ(got.arm, result.measurement.arm);
  EXPECT_EQ(got.ran, "NCCL_TREE_SIMPLE_4");
  EXPECT_EQ(got.time_us, 9.5);
  EXPECT_EQ(got.high_us, 10);
  EXPECT_EQ(got.samples, 6);
  result.measurement.outcome = Outcome::kHang;
  result.measurement.time_us = kUnknown;
  const auto failed = parse_nccl_message(nccl_message_line(result)).value();
  EXPECT_TRUE(std::isnan(std::get<NcclResult>(failed).measurement.time_us));
}

TEST(NcclProtocol, SharesHelloAndFatal) {
  const auto hello = parse_nccl_message(message_line(WorkerHello{.sm_version = 90, .facts = {}}));
  EXPECT_EQ(std::get<WorkerHello>(hello.value()).sm_version, 90);
  const auto fatal = parse_nccl_message(nccl_message_line(WorkerFatal{"no GPU"}));
  EXPECT_EQ(std::get<WorkerFatal>(fatal.value()).message, "no GPU");
  const auto over = parse_nccl_message(nccl_message_line(NcclOver{5}));
  EXPECT_EQ(std::get<NcclOver>(over.value()).id, 5);
  const auto doing = parse_nccl_message(nccl_message_line(NcclDoing{5, NcclArm()}));
  EXPECT_EQ(std::get<NcclDoing>(doing.value()).arm, NcclArm());
}

TEST(NcclProtocol, WhatIsNotOfItIsAnError) {
  for (
      const char* line :
      {"", "1", "{}", R"({"id":1})", R"({"id":1,"arm":"ONESHOT"})",
       R"({"id":1,"measured":{"arm":"NCCL","ran":"","outcome":"ok","samples":1,"reason":""}})",
       R"({"id":1,"measured":{"arm":"NCCL","ran":"","outcome":"fine","samples":1,"reason":""}})"}) {
    EXPECT_FALSE(parse_nccl_message(line).ok()) << line;
  }
  NcclRequest request;
  request.cell.size_bytes = 0;
  EXPECT_THAT(parse_nccl_request(request_line(request)).error().message, HasSubstr("size"));
}

TEST(NcclPlan, Sizes) {
  EXPECT_THAT(nccl_sizes(Shapes::kGrid, {}), SizeIs(18));
  EXPECT_THAT(nccl_sizes(Shapes::kGrid, {.min_size_bytes = 3000, .max_size_bytes = 8192}),
              ElementsAre(4096, 8192));
  EXPECT_THAT(nccl_sizes(Shapes::kHeldOut, {.max_size_bytes = 3072}), ElementsAre(1536, 3072));
  EXPECT_THAT(nccl_sizes(Shapes::kGrid, {.most_cells = 2}), ElementsAre(1024, 2048));
}

TEST(NcclPlan, CellsAndArms) {
  NcclAxes axes;
  axes.channels = {1, 8};
  axes.launches = {Launch::kGraph, Launch::kEager};
  const auto cells = plan_nccl_cells(4, axes, {1024, 2048});
  EXPECT_THAT(cells, SizeIs(2 * 4 * 2));
  EXPECT_EQ(cells.front(), (NcclCell{NcclCollective::kAllReduce, 4, 1024, Launch::kGraph}));
  const auto arms = nccl_arms(NcclCollective::kAllReduce, axes);
  EXPECT_THAT(arms, SizeIs(1 + 2 * 3 * 2));
  EXPECT_EQ(arms.front(), NcclArm());
  EXPECT_EQ(arms.back(), NcclArm(NcclSetting{"tree", "simple", 8}));
  EXPECT_THAT(nccl_arms(NcclCollective::kAllGather, axes), SizeIs(1 + 3 * 2));
}

}  // namespace
}  // namespace assay::allreduce
