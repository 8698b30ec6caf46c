#include "goal/choose_algorithms.h"

#include <gtest/gtest.h>

#include "goal/goal_test_util.h"
#include "goal/reshape_job.h"
#include "goal/resolve.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

constexpr std::uint64_t kSmall = 4;
constexpr std::uint64_t kLarge = 100 << 20;

// A node of GPUs with 24 recorded channels that sums little once and much twice.
Job data_parallel_job(std::int32_t gpus = 4) {
  const auto num_gpus = static_cast<std::uint32_t>(gpus);
  Job job = make_test_job({num_gpus, num_gpus});
  std::vector<model::ChannelLinks> links(num_gpus);
  for (std::int32_t rank = 0; rank < gpus; ++rank) {
    links[static_cast<std::size_t>(rank)].ring_previous = (rank + gpus - 1) % gpus;
    links[static_cast<std::size_t>(rank)].ring_next = (rank + 1) % gpus;
  }
  job.communicators[0].channels.assign(24, links);
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kLl, kSmall, 1));
  for (int i = 0; i < 2; ++i) {
    add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                        NcclProtocol::kSimple, kLarge, 24));
  }
  return job;
}

Job enlarged(const Job& job, unsigned replicas) {
  auto scaled = scale(job, {.replicas = replicas});
  EXPECT_TRUE(scaled.ok());
  return std::move(scaled).value();
}

TEST(ChooseAlgorithms, AnEnlargedJobTakesNcclsChoices) {
  const Job job = data_parallel_job();
  Job scaled = enlarged(job, 64);
  const std::vector<NewChoice> choices = choose_algorithms(job, {}, scaled);
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].bytes, kSmall);
  EXPECT_EQ(choices[0].num_ranks, 256U);
  EXPECT_EQ(choices[0].operations, 1U);
  EXPECT_EQ(choices[0].chosen.algorithm, NcclAlgorithm::kTree);
  EXPECT_EQ(choices[1].operations, 2U);
  EXPECT_EQ(choices[1].recorded.channels, 24U);
  EXPECT_EQ(choices[1].chosen.channels, 16U);
  for (const model::JobGpu& gpu : scaled.gpus) {
    EXPECT_EQ(gpu.operations[0].algorithm, NcclAlgorithm::kTree);
    EXPECT_EQ(gpu.operations[2].num_channels, 16U);
  }
  EXPECT_EQ(scaled.communicators[0].channels.size(), 16U);
  const auto resolved = resolve(scaled, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(resolved.value().exchanges.size(), 3U);
  EXPECT_TRUE(resolved.value().warnings.empty());
}

TEST(ChooseAlgorithms, ComputationsHaveNoCommunicator) {
  Job job = data_parallel_job();
  for (model::JobGpu& gpu : job.gpus) {
    model::Operation computation;
    computation.communicator = model::kNoCommunicator;
    add_operation(gpu, computation);
    gpu.states_waits = true;
  }
  Job scaled = enlarged(job, 64);
  EXPECT_EQ(choose_algorithms(job, {}, scaled).size(), 2U);
}

TEST(ChooseAlgorithms, TheTableListsWhatChanged) {
  Job job = data_parallel_job();
  Job scaled = enlarged(job, 64);
  choose_algorithms(job, {}, scaled);
  for (model::JobGpu& gpu : job.gpus) {
    for (std::size_t i : {1U, 2U}) {
      gpu.operations[i].algorithm = scaled.gpus[0].operations[i].algorithm;
      gpu.operations[i].protocol = scaled.gpus[0].operations[i].protocol;
      gpu.operations[i].num_channels = scaled.gpus[0].operations[i].num_channels;
    }
  }
  Job again = enlarged(job, 64);
  const model::Table table = choices_table(choose_algorithms(job, {}, again));
  ASSERT_EQ(table.row_count(), 1U);
  EXPECT_EQ(std::get<std::string>(table.at(0, 3)), "RING LL, 1 channel");
  EXPECT_EQ(std::get<std::string>(table.at(0, 4)), "TREE LL, 1 channel");
  for (model::JobGpu& gpu : job.gpus)
    gpu.operations[0].algorithm = NcclAlgorithm::kTree;
  Job same = enlarged(job, 64);
  EXPECT_TRUE(choose_algorithms(job, {}, same).empty());
}

TEST(ChooseAlgorithms, KeepsWhatWasRecorded) {
  const Job job = data_parallel_job();
  Job scaled = enlarged(job, 8);
  EXPECT_TRUE(choose_algorithms(job, {.keep = true}, scaled).empty());
  EXPECT_EQ(scaled.gpus[0].operations[0].algorithm, NcclAlgorithm::kRing);
  Job same = job;
  EXPECT_TRUE(choose_algorithms(job, {}, same).empty());
}

TEST(ChooseAlgorithms, CommunicatorsOfTheirOldSizeKeepTheirs) {
  Job job = data_parallel_job();
  job.communicators.push_back({.name = "tp", .gpus = {0, 1}, .channels = {}});
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    model::Operation operation = test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kTree,
                                                 NcclProtocol::kLl128, kLarge, 7);
    operation.communicator = 1;
    add_operation(job.gpus[gpu], operation);
  }
  Job scaled = enlarged(job, 4);
  EXPECT_EQ(choose_algorithms(job, {}, scaled).size(), 2U);
  const model::Operation& kept = scaled.gpus[13].operations[3];
  EXPECT_EQ(kept.algorithm, NcclAlgorithm::kTree);
  EXPECT_EQ(kept.num_channels, 7U);
}

// 100 MB over slow cards and 512 ranks: what a ring costs in latency no longer matters.
TEST(ChooseAlgorithms, FollowTheNetworkCards) {
  const Job job = data_parallel_job();
  Job fast = enlarged(job, 128);
  Job slow = fast;
  choose_algorithms(job, {.nic_gbps = 50}, fast);
  choose_algorithms(job, {.nic_gbps = 1.25}, slow);
  EXPECT_NE(fast.gpus[0].operations[1].num_channels, slow.gpus[0].operations[1].num_channels);
}

TEST(ChooseAlgorithms, SwitchesThatReduceAreThoseThatWereUsed) {
  Job job = data_parallel_job(8);
  Job without = enlarged(job, 2);
  choose_algorithms(job, {}, without);
  EXPECT_NE(without.gpus[0].operations[1].algorithm, NcclAlgorithm::kNvlsTree);
  for (model::JobGpu& gpu : job.gpus)
    gpu.operations[2].algorithm = NcclAlgorithm::kNvls;
  Job with = enlarged(job, 2);
  choose_algorithms(job, {}, with);
  EXPECT_EQ(with.gpus[0].operations[1].algorithm, NcclAlgorithm::kNvlsTree);
  EXPECT_EQ(with.gpus[0].operations[1].num_channels, 16U);
}

}  // namespace
}  // namespace assay::goal
