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

}  // namespace
}  // namespace assay::goal
