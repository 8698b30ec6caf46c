#include "goal/reshape_job.h"

#include <gtest/gtest.h>

#include <string>

#include "goal/goal_test_util.h"
#include "goal/resolve.h"

namespace assay::goal {
namespace {

using model::Communicator;
using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

// Two pipeline stages of two GPUs: an AllReduce of all ranks, and sends from stage to stage.
Job pipeline_job() {
  Job job = make_test_job({4, 4});
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kSimple, 4096, 1));
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    job.communicators.push_back(Communicator{
        .name = "pp" + std::to_string(lane), .gpus = {lane, lane + 2}, .channels = {}});
    Operation send =
        test_collective(NcclFunction::kSend, NcclAlgorithm::kNone, NcclProtocol::kSimple, 1000, 1);
    send.communicator = 1 + lane;
    send.peer = 1;
    add_operation(job.gpus[lane], send);
    send.function = NcclFunction::kRecv;
    send.peer = 0;
    add_operation(job.gpus[lane + 2], send);
  }
  return job;
}

TEST(ScalePipelines, PairsAreCopiedAndTheWorldGrows) {
  const auto scaled = scale(pipeline_job(), {.replicas = 3});
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  const Job& job = scaled.value();
  ASSERT_EQ(job.gpus.size(), 12U);
  ASSERT_EQ(job.communicators.size(), 1U + 2 * 3);
  EXPECT_EQ(job.communicators[0].gpus.size(), 12U);
  EXPECT_EQ(job.communicators[1].name, "pp0");
  EXPECT_EQ(job.communicators[3].name, "pp0.2");
  EXPECT_EQ(job.communicators[3].gpus, (std::vector<std::uint32_t>{8, 10}));
  EXPECT_EQ(job.communicators[6].gpus, (std::vector<std::uint32_t>{9, 11}));
  EXPECT_EQ(job.gpus[9].operations[1].communicator, 6U);
  EXPECT_EQ(job.gpus[9].operations[1].peer, 1);
  EXPECT_EQ(job.gpus[9].node, "0.2");
  EXPECT_NE(job.gpus[9].clock, job.gpus[1].clock);

  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(resolved.value().exchanges.size(), 1U + 6);
}

TEST(ScalePipelines, SendsOfTheGrownCommunicatorStayInTheirReplica) {
  Job job = make_test_job({2, 2});
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kSimple, 4096, 1));
  Operation send =
      test_collective(NcclFunction::kSend, NcclAlgorithm::kNone, NcclProtocol::kSimple, 1000, 1);
  send.peer = 1;
  add_operation(job.gpus[0], send);
  send.function = NcclFunction::kRecv;
  send.peer = 0;
  add_operation(job.gpus[1], send);
  const auto scaled = scale(job, {.replicas = 2});
  ASSERT_TRUE(scaled.ok());
  EXPECT_EQ(scaled.value().gpus[2].operations[1].peer, 3);
  EXPECT_EQ(scaled.value().gpus[3].operations[1].peer, 2);
  EXPECT_TRUE(resolve(scaled.value(), Misfits::kFail).ok());
}

TEST(ScalePipelines, TheCommunicatorToGrowCanBeNamed) {
  const auto scaled = scale(pipeline_job(), {.replicas = 2, .communicator = "pp1"});
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  EXPECT_EQ(scaled.value().communicators.size(), 2U + 2 + 1);
  EXPECT_EQ(scaled.value().communicators.back().gpus, (std::vector<std::uint32_t>{1, 3, 5, 7}));
  const auto unknown = scale(pipeline_job(), {.replicas = 2, .communicator = "dp"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "no communicator dp; name the communicator that synchronises replicas, one of: 0xabc "
            "(4 ranks) pp0 (2 ranks) pp1 (2 ranks)");
}

TEST(ScalePipelines, NothingToGrowIsAnError) {
  Job job = pipeline_job();
  for (model::JobGpu& gpu : job.gpus)
    gpu.operations.erase(gpu.operations.begin());
  const auto scaled = scale(job, {.replicas = 2});
  ASSERT_FALSE(scaled.ok());
  EXPECT_NE(scaled.error().message.find("no communicator with all ranks"), std::string::npos);
}

TEST(ScalePipelines, MoreGpusThanNumbersAreRefused) {
  const auto scaled = scale(pipeline_job(), {.replicas = 4'000'000'000U});
  ASSERT_FALSE(scaled.ok());
  EXPECT_NE(scaled.error().message.find("16000000000 GPUs"), std::string::npos);
}

TEST(ScalePipelines, WhatSpansReplicasGrowsAlsoFromOneRank) {
  Job job = pipeline_job();
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    job.communicators.push_back(Communicator{.name = "dp" + std::to_string(gpu),
                                             .gpus = {gpu},
                                             .channels = {{{.ring_previous = 0, .ring_next = 0}}},
                                             .spans_replicas = true});
    Operation reduce = test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                       NcclProtocol::kSimple, 4096, 1);
    reduce.communicator = 3 + gpu;
    add_operation(job.gpus[gpu], reduce);
  }
  const auto scaled = scale(job, {.replicas = 3});
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  const auto& communicators = scaled.value().communicators;
  ASSERT_EQ(communicators.size(), 3U * 3 + 4);
  EXPECT_EQ(communicators[0].gpus.size(), 4U);  // that of all recorded ranks is no guess here
  EXPECT_EQ(communicators.back().gpus, (std::vector<std::uint32_t>{3, 7, 11}));
  EXPECT_EQ(communicators.back().channels[0][2].ring_next, 0);
  EXPECT_EQ(communicators.back().channels[0][2].ring_previous, 1);
  EXPECT_TRUE(resolve(scaled.value(), Misfits::kFail).ok());
}

TEST(ScalePipelines, ChannelsEnterReplicasMadeForItAtDifferentRanks) {
  Job job = make_test_job({2, 2});
  const std::vector<model::ChannelLinks> ring = {{.ring_previous = 1, .ring_next = 1},
                                                 {.ring_previous = 0, .ring_next = 0}};
  job.communicators[0].channels = {ring, ring};
  job.communicators[0].spans_replicas = true;
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kSimple, 4096, 2));
  const auto scaled = scale(job, {.replicas = 2});
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  const auto& channels = scaled.value().communicators[0].channels;
  EXPECT_EQ(channels[0][1].ring_next, 2);  // 0 1 2 3
  EXPECT_EQ(channels[1][1].ring_next, 0);  // 1 0 3 2
  EXPECT_EQ(channels[1][0].ring_next, 3);
  model::Warnings warnings;
  EXPECT_TRUE(resolve(scaled.value(), Misfits::kFail).value().warnings.empty());
}

TEST(CutWindow, WaitsForWhatIsCutAreDropped) {
  Job job = make_test_job({2, 2});
  for (int i = 0; i < 3; ++i) {
    add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                        NcclProtocol::kSimple, 4096, 1));
  }
  for (model::JobGpu& gpu : job.gpus) {
    gpu.states_waits = true;
    gpu.waits = {0, 1};
    gpu.operations[2].num_waits = 2;
  }
  const auto cut = cut_window(job, {.from_s = 100e-6, .to_s = std::nullopt});
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  const model::JobGpu& gpu = cut.value().gpus[0];
  ASSERT_EQ(gpu.operations.size(), 2U);
  EXPECT_EQ(gpu.operations[1].num_waits, 1U);
  EXPECT_EQ(gpu.waits, std::vector<std::uint32_t>{0});
}

}  // namespace
}  // namespace assay::goal
