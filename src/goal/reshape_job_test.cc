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
            "no communicator dp; name those that synchronise replicas, of: 0xabc (4 ranks) pp0 (2 "
            "ranks) pp1 (2 ranks)");
}

TEST(ScalePipelines, SeveralCommunicatorsToGrowCanBeNamed) {
  const auto scaled = scale(pipeline_job(), {.replicas = 2, .communicator = "pp1,pp0"});
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  const auto& communicators = scaled.value().communicators;
  ASSERT_EQ(communicators.size(), 2U + 1 + 1);
  EXPECT_EQ(communicators[2].gpus, (std::vector<std::uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(communicators[3].gpus, (std::vector<std::uint32_t>{1, 3, 5, 7}));
}

// Pairs that gather and scatter: "tp0" of the first two GPUs, "tp1" of the others, and where asked
// for "dp0" and "dp1" across them.
Job job_of_pairs(bool with_dp) {
  Job job = make_test_job({4, 4});
  const auto add = [&](const std::string& name, std::uint32_t a, std::uint32_t b) {
    const auto number = static_cast<std::uint32_t>(job.communicators.size());
    job.communicators.push_back(Communicator{.name = name, .gpus = {a, b}, .channels = {}});
    for (const NcclFunction function : {NcclFunction::kAllGather, NcclFunction::kReduceScatter}) {
      Operation operation =
          test_collective(function, NcclAlgorithm::kRing, NcclProtocol::kSimple, 4096, 1);
      operation.communicator = number;
      for (const std::uint32_t gpu : {a, b})
        add_operation(job.gpus[gpu], operation);
    }
  };
  add("tp0", 0, 1);
  add("tp1", 2, 3);
  if (!with_dp) return job;
  add("dp0", 0, 2);
  add("dp1", 1, 3);
  return job;
}

TEST(ScaleSharded, TensorParallelismWithSequencesInPartsIsNotWidenedInSilence) {
  const auto guessed = scale(job_of_pairs(true), {.replicas = 2});
  ASSERT_FALSE(guessed.ok()) << "which of them shard parameters is not to be seen";
  EXPECT_NE(guessed.error().message.find(
                "tp0 and dp0 both gather and scatter, and share GPUs: --replica-communicator"),
            std::string::npos)
      << guessed.error().message;
  const auto named = scale(job_of_pairs(true), {.replicas = 2, .communicator = "dp0,dp1"});
  ASSERT_TRUE(named.ok()) << named.error().message;
  for (const Communicator& communicator : named.value().communicators) {
    if (communicator.name.starts_with("0xabc")) continue;  // no one uses it
    EXPECT_EQ(communicator.gpus.size(), communicator.name.starts_with("dp") ? 4U : 2U)
        << communicator.name;
  }
  EXPECT_TRUE(named.value().warnings.all().empty());
}

TEST(ScaleSharded, AGuessIsTold) {
  const auto guessed = scale(job_of_pairs(false), {.replicas = 2});
  ASSERT_TRUE(guessed.ok()) << guessed.error().message;
  ASSERT_EQ(guessed.value().warnings.all().size(), 1U);
  EXPECT_EQ(guessed.value().warnings.all()[0].example, "tp0 (2 ranks)");
  EXPECT_EQ(guessed.value().warnings.all()[0].count, 2);
}

// The ranks of each channel's messages to other nodes: sender by sender, as places in a node.
std::vector<std::vector<std::int32_t>> leaving(const Job& job, std::int32_t per_node) {
  std::vector<std::vector<std::int32_t>> places;
  for (const auto& links : job.communicators[0].channels) {
    auto& channel = places.emplace_back();
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      const auto from = static_cast<std::int32_t>(rank);
      if (from / per_node != links[rank].ring_next / per_node) channel.push_back(from % per_node);
    }
  }
  return places;
}

// NCCL's rings go through each network card in turn: 0 1 2 3 is entered at 0, then at 1, …
TEST(ScaleRings, ChannelsLeaveANodeByDifferentGpus) {
  Job job = make_test_job({4, 4});
  std::vector<model::ChannelLinks> links(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    links[static_cast<std::size_t>(rank)].ring_previous = (rank + 3) % 4;
    links[static_cast<std::size_t>(rank)].ring_next = (rank + 1) % 4;
  }
  job.communicators[0].channels.assign(4, links);
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kSimple, 4096, 4));
  const auto scaled = scale(job, {.replicas = 3});
  ASSERT_TRUE(scaled.ok());
  EXPECT_EQ(leaving(scaled.value(), 4),
            (std::vector<std::vector<std::int32_t>>{{3, 3, 3}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}));
  const auto resolved = resolve(scaled.value(), Misfits::kFail);
  ASSERT_TRUE(resolved.ok());
  EXPECT_TRUE(resolved.value().warnings.empty());
  const auto& trees = scaled.value().communicators[0].channels;
  EXPECT_EQ(trees[0][0].tree_up, -1);
  EXPECT_EQ(trees[1][1].tree_up, -1);
}

// A ring over two nodes goes on to the next replica where it went to the other node, not elsewhere.
TEST(ScaleRings, RingsOverNodesAreCutBetweenThem) {
  Job job = make_test_job({4, 2});
  const std::vector<std::int32_t> order = {1, 0, 3, 2};
  std::vector<model::ChannelLinks> links(4);
  for (std::size_t i = 0; i < 4; ++i) {
    links[static_cast<std::size_t>(order[i])].ring_next = order[(i + 1) % 4];
    links[static_cast<std::size_t>(order[i])].ring_previous = order[(i + 3) % 4];
  }
  job.communicators[0].channels.assign(1, links);
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kSimple, 4096, 1));
  const auto scaled = scale(job, {.replicas = 3});
  ASSERT_TRUE(scaled.ok());
  // Six nodes are entered once each.
  EXPECT_EQ(leaving(scaled.value(), 2).front().size(), 6U);
  ASSERT_TRUE(resolve(scaled.value(), Misfits::kFail).value().warnings.empty());
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
                                             .parallelism = model::Parallelism::kData});
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
  job.communicators[0].parallelism = model::Parallelism::kData;
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
  EXPECT_EQ(cut_window(job, {.from_s = 100, .to_s = std::nullopt}).error().message,
            "no operation began between 100 s and the end of the recording");
  EXPECT_EQ(cut_window(job, {.from_s = 100, .to_s = 200}).error().message,
            "no operation began between 100 s and 200 s of the recording");
}

}  // namespace
}  // namespace assay::goal
