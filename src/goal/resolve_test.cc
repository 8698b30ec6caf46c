#include "goal/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "goal/expand.h"
#include "goal/goal_test_util.h"
#include "goal/label.h"
#include "goal/steps.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

Operation ring(NcclFunction function, std::uint64_t bytes) {
  return test_collective(function, NcclAlgorithm::kRing, NcclProtocol::kSimple, bytes, 2);
}

Operation pair(NcclFunction function, std::int32_t peer, std::uint64_t bytes) {
  Operation operation =
      test_collective(function, NcclAlgorithm::kNone, NcclProtocol::kSimple, bytes, 2);
  operation.peer = peer;
  return operation;
}

std::string misfit(const Job& job) {
  const auto resolved = resolve(job, Misfits::kFail);
  return resolved.ok() ? "" : resolved.error().message;
}

std::uint64_t num_calls(const Resolved& resolved) {
  std::uint64_t calls = 0;
  for (const GpuCalls& gpu : resolved.gpus)
    calls += gpu.calls.size();
  return calls;
}

TEST(Resolve, JoinsTheOperationsOfAllRanks) {
  Job job = make_test_job({4, 4});
  add_collective(job, ring(NcclFunction::kAllReduce, 4096));
  add_collective(job, ring(NcclFunction::kAllReduce, 8192));
  add_operation(job.gpus[1], pair(NcclFunction::kSend, 2, 64));
  add_operation(job.gpus[2], pair(NcclFunction::kRecv, 1, 64));
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  ASSERT_EQ(resolved.value().exchanges.size(), 3U);
  EXPECT_EQ(num_calls(resolved.value()), 10U);
  const Exchange& send = resolved.value().exchanges[2];
  EXPECT_EQ(send.function, NcclFunction::kSendRecv);
  EXPECT_EQ(send.source, 1);
  EXPECT_EQ(send.destination, 2);
}

TEST(Resolve, ASendToItselfNeedsNoMessage) {
  Job job = make_test_job({2, 2});
  add_operation(job.gpus[0], pair(NcclFunction::kSend, 0, 64));
  add_operation(job.gpus[0], pair(NcclFunction::kRecv, 0, 64));
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  MessageCounter counter(resolved.value(), 0);
  ASSERT_EQ(resolved.value().gpus[0].calls.size(), 2U);
  for (const Call& call : resolved.value().gpus[0].calls)
    EXPECT_TRUE(counter.count(call).empty());
}

TEST(Resolve, APeerOutsideTheCommunicatorIsAMisfit) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring(NcclFunction::kAllReduce, 4096));
  add_operation(job.gpus[0], pair(NcclFunction::kSend, 7, 64));
  EXPECT_NE(misfit(job).find("seen 1 time, 2 ranks"), std::string::npos) << misfit(job);
  const auto resolved = resolve(job, Misfits::kLeaveOut);
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(num_calls(resolved.value()), 2U);
  EXPECT_EQ(resolved.value().warnings.all()[0].reason,
            "an operation was not recorded once on each of its ranks");
}

// Rank 0 sends from 0 to 1 ms, and rank 1 receives in the ms from `receive_ms` on.
std::string misfit_of_times(std::int64_t receive_ms, std::uint64_t bytes) {
  constexpr std::int64_t kMs = 1'000'000;
  Job job = make_test_job({2, 2});
  Operation& send = add_operation(job.gpus[0], pair(NcclFunction::kSend, 1, bytes));
  send.start_ns = 0;
  send.end_ns = kMs;
  Operation& receive = add_operation(job.gpus[1], pair(NcclFunction::kRecv, 0, bytes));
  receive.start_ns = receive_ms * kMs;
  receive.end_ns = receive.start_ns + kMs;
  return misfit(job);
}

TEST(Resolve, WhatCannotBeOneMessageByItsTimesIsAMisfit) {
  constexpr std::uint64_t kMib = 1ULL << 20;
  EXPECT_EQ(misfit_of_times(0, 64 * kMib), "");
  EXPECT_NE(misfit_of_times(-2, 64).find("ended 1.000 ms before its send began"), std::string::npos)
      << misfit_of_times(-2, 64);
  EXPECT_NE(misfit_of_times(3, 64 * kMib).find("ended 2.000 ms before its receive began"),
            std::string::npos)
      << misfit_of_times(3, 64 * kMib);
  EXPECT_EQ(misfit_of_times(3, 8 * kMib), "") << "two channels can buffer it";
  EXPECT_EQ(misfit_of_times(-1, 64), "") << "clocks are not that exact";
}

// Every rank would wait for the rank before it.
TEST(Resolve, ARootOutsideTheCommunicatorIsAMisfit) {
  Job job = make_test_job({2, 2});
  Operation broadcast = ring(NcclFunction::kBroadcast, 4096);
  broadcast.root = 2;
  add_collective(job, broadcast);
  EXPECT_NE(misfit(job).find("a root that is no rank"), std::string::npos) << misfit(job);
}

TEST(Resolve, AGpuTwiceInACommunicatorHasNoWholeOperation) {
  Job job = make_test_job({2, 2});
  job.communicators[0].gpus = {0, 0, 1};
  add_collective(job, ring(NcclFunction::kAllReduce, 4096));
  EXPECT_NE(misfit(job).find("seen 2 times, 3 ranks"), std::string::npos) << misfit(job);
}

TEST(Resolve, MoreChunksThanAScheduleCouldHoldAreAMisfit) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring(NcclFunction::kAllReduce, 1ULL << 62));
  EXPECT_NE(misfit(job).find("more chunks than any schedule could hold"), std::string::npos);
  Job parts = make_test_job({2, 2});
  Operation operation = ring(NcclFunction::kAllReduce, 1ULL << 40);
  operation.num_parts = 1;
  add_collective(parts, operation);
  for (model::JobGpu& gpu : parts.gpus)
    gpu.parts = {{.channel = 0, .count = 1ULL << 38, .chunk_count = 1}};
  EXPECT_NE(misfit(parts).find("more chunks than any schedule could hold"), std::string::npos);
}

TEST(Resolve, TheSameNumberTwiceIsAMisfit) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring(NcclFunction::kAllReduce, 4096));
  add_operation(job.gpus[0], ring(NcclFunction::kAllReduce, 4096)).sequence = 0;
  EXPECT_NE(misfit(job).find(", twice"), std::string::npos) << misfit(job);
}

TEST(Resolve, ACommunicatorOfOneRankSendsNothing) {
  Job job = make_test_job({1, 1});
  for (const NcclFunction function : {NcclFunction::kAllReduce, NcclFunction::kAllGather,
                                      NcclFunction::kReduceScatter, NcclFunction::kBroadcast}) {
    add_collective(job, ring(function, 4096));
  }
  // NCCL names no algorithm for a copy.
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kNone,
                                      NcclProtocol::kNone, 64, 1));
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  MessageCounter counter(resolved.value(), 0);
  for (const Call& call : resolved.value().gpus[0].calls)
    EXPECT_TRUE(counter.count(call).empty());
}

TEST(Resolve, OperationsWithoutBytesStayInTheirPlace) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring(NcclFunction::kAllReduce, 0));
  add_operation(job.gpus[0], pair(NcclFunction::kSend, 1, 0));
  add_operation(job.gpus[1], pair(NcclFunction::kRecv, 0, 0));
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(num_calls(resolved.value()), 4U);
  EXPECT_EQ(resolved.value().gpus[0].launches.size(), 2U);
  MessageCounter counter(resolved.value(), 0);
  for (const Call& call : resolved.value().gpus[0].calls)
    EXPECT_TRUE(counter.count(call).empty());
}

TEST(Resolve, HugeCountsKeepTheirBytes) {
  constexpr std::uint64_t kBytes = (1ULL << 40) + 4;
  Job job = make_test_job({2, 2});
  add_collective(job, ring(NcclFunction::kAllGather, kBytes));
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  std::uint64_t elements = 0;
  const Cut& cut = resolved.value().shapes[0].cut;
  for (const model::ChannelPart& part : cut.parts)
    elements += part.count;
  EXPECT_EQ(elements * cut.element_bytes, kBytes);
}

TEST(Resolve, CollectivesOfAGroupTakeChannelAfterChannel) {
  Job job = make_test_job({2, 2});
  for (model::JobGpu& gpu : job.gpus) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      Operation& added = add_operation(gpu, ring(NcclFunction::kAllReduce, 1 << 20));
      added.group = 5;
      added.start_ns = 100;
      added.end_ns = 200 + static_cast<std::int64_t>(i);
    }
  }
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  ASSERT_EQ(resolved.value().gpus[0].launches.size(), 1U);
  EXPECT_EQ(resolved.value().gpus[0].launches[0].num_calls, 3U);
  EXPECT_EQ(resolved.value().gpus[0].launches[0].end_ns, 202);
  std::vector<std::uint32_t> channels;
  for (const Exchange& exchange : resolved.value().exchanges) {
    for (const model::ChannelPart& part : resolved.value().shapes[exchange.shape].cut.parts)
      channels.push_back(part.channel);
  }
  EXPECT_EQ(channels, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Resolve, RecordedPartsOfAGroupStayAsTheyAre) {
  Job job = make_test_job({2, 2});
  for (model::JobGpu& gpu : job.gpus) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      Operation& added = add_operation(gpu, ring(NcclFunction::kAllReduce, 4096));
      added.group = 1;
      added.first_part = i;
      added.num_parts = 1;
      gpu.parts.push_back({.channel = 7 - i, .count = 1024, .chunk_count = 256 * (i + 1)});
    }
  }
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  ASSERT_EQ(resolved.value().shapes.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Exchange& exchange = resolved.value().exchanges[i];
    const Cut& cut = resolved.value().shapes[exchange.shape].cut;
    ASSERT_EQ(cut.parts.size(), 1U);
    EXPECT_EQ(cut.parts[0].channel, 7 - i);
    EXPECT_EQ(cut.parts[0].chunk_count, 256 * (i + 1));
  }
}

std::vector<Parallelism> parallelism_of(const Job& job) {
  const auto resolved = resolve(job, Misfits::kFail);
  EXPECT_TRUE(resolved.ok()) << resolved.error().message;
  return find_parallelism(resolved.value());
}

TEST(FindParallelism, ShardedParametersAreDataParallel) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring(NcclFunction::kAllGather, 4096));
  add_collective(job, ring(NcclFunction::kReduceScatter, 4096));
  add_collective(job, ring(NcclFunction::kAllReduce, 4096));
  EXPECT_EQ(parallelism_of(job), std::vector<Parallelism>(3, Parallelism::kData));
  Job tensor = make_test_job({2, 2});
  add_collective(tensor, ring(NcclFunction::kAllReduce, 4096));
  EXPECT_EQ(parallelism_of(tensor), std::vector<Parallelism>{Parallelism::kOther});
}

// Makes one launch on each GPU: a send and a receive for each of `peers`, `times` times.
Job exchange_job(std::uint32_t gpus, const std::vector<int>& distances, int times) {
  Job job = make_test_job({gpus, gpus});
  const auto ranks = static_cast<int>(gpus);
  for (int rank = 0; rank < ranks; ++rank) {
    model::JobGpu& gpu = job.gpus[static_cast<std::size_t>(rank)];
    for (int time = 0; time < times; ++time) {
      for (const int distance : distances) {
        const int to = (rank + distance + ranks) % ranks;
        const int from = (rank - distance + ranks) % ranks;
        add_operation(gpu, pair(NcclFunction::kSend, to, 4096)).group = 0;
        add_operation(gpu, pair(NcclFunction::kRecv, from, 4096)).group = 0;
      }
    }
  }
  return job;
}

TEST(FindParallelism, AnAllToAllIsExpertParallel) {
  for (const Parallelism found : parallelism_of(exchange_job(4, {1, 2, 3}, 1)))
    EXPECT_EQ(found, Parallelism::kExpert);
  for (const Parallelism found : parallelism_of(exchange_job(4, {0, 1, 2, 3}, 2)))
    EXPECT_EQ(found, Parallelism::kExpert);
}

TEST(FindParallelism, ManyMessagesToNeighboursAreAPipeline) {
  for (const Parallelism found : parallelism_of(exchange_job(4, {1, -1}, 8)))
    EXPECT_EQ(found, Parallelism::kPipeline);
  for (const Parallelism found : parallelism_of(exchange_job(2, {1}, 8)))
    EXPECT_EQ(found, Parallelism::kPipeline);
}

TEST(FindParallelism, WhatACommunicatorStatesIsNotGuessed) {
  Job job = make_test_job({2, 2});
  job.communicators[0].parallelism = Parallelism::kTensor;
  add_collective(job, ring(NcclFunction::kAllGather, 4096));
  add_collective(job, ring(NcclFunction::kReduceScatter, 4096));
  EXPECT_EQ(parallelism_of(job), std::vector<Parallelism>(2, Parallelism::kTensor));
  Job experts = exchange_job(2, {1}, 1);
  experts.communicators[0].parallelism = Parallelism::kExpert;
  EXPECT_EQ(parallelism_of(experts).front(), Parallelism::kExpert);
}

TEST(FindParallelism, HasTheNamesOfThePublicGenerator) {
  EXPECT_EQ(name_of(Parallelism::kOther), "Other");
  EXPECT_EQ(name_of(Parallelism::kPipeline), "PP");
  EXPECT_EQ(name_of(Parallelism::kData), "DP");
  EXPECT_EQ(name_of(Parallelism::kExpert), "EP");
  EXPECT_EQ(name_of(Parallelism::kTensor), "TP");
}

// Each rank calls for its peers in their order; NCCL takes the next rank first, so that they do not
// all send to rank 0.
TEST(Resolve, PairsOfAGroupGoInNcclsRounds) {
  constexpr std::uint32_t kRanks = 4;
  model::Job job = make_test_job({kRanks, kRanks});
  for (std::uint32_t gpu = 0; gpu < kRanks; ++gpu) {
    for (std::int32_t peer = 0; peer < static_cast<std::int32_t>(kRanks); ++peer) {
      if (peer == static_cast<std::int32_t>(gpu)) continue;
      for (const NcclFunction function : {NcclFunction::kSend, NcclFunction::kRecv}) {
        model::Operation operation = test_collective(function, model::NcclAlgorithm::kNone,
                                                     model::NcclProtocol::kSimple, 64, 1);
        operation.peer = peer;
        model::Operation& added = add_operation(job.gpus[gpu], operation);
        added.group = 0;
        added.start_ns = job.gpus[gpu].operations.front().start_ns;
      }
    }
  }
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  for (std::uint32_t gpu = 0; gpu < kRanks; ++gpu) {
    std::vector<std::uint32_t> sends;
    std::vector<std::uint32_t> receives;
    for (const Call& call : resolved.value().gpus[gpu].calls) {
      const model::Operation& operation = job.gpus[gpu].operations[call.operation];
      const bool send = operation.function == NcclFunction::kSend;
      (send ? sends : receives).push_back(static_cast<std::uint32_t>(operation.peer));
    }
    EXPECT_EQ(sends, (std::vector<std::uint32_t>{(gpu + 1) % 4, (gpu + 2) % 4, (gpu + 3) % 4}));
    EXPECT_EQ(receives, (std::vector<std::uint32_t>{(gpu + 3) % 4, (gpu + 2) % 4, (gpu + 1) % 4}));
  }
}

TEST(Topology, RoundsOfOtherNodesFollowNcclsQuadraticOrder) {
  // Eight nodes of one rank: distances 0, 1, 3, 6, 2, 7, 5, 4; of six nodes without 6 and 7.
  const auto order = [](std::size_t num_nodes) {
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < num_nodes; ++i)
      nodes.push_back(std::to_string(i));
    const NodeLayout layout = make_layout(nodes);
    std::vector<std::int32_t> peers;
    for (std::size_t i = 0; i < num_nodes; ++i)
      peers.push_back(static_cast<std::int32_t>(i));
    std::sort(peers.begin(), peers.end(), [&](std::int32_t a, std::int32_t b) {
      return pair_round(layout, 0, a) < pair_round(layout, 0, b);
    });
    return peers;
  };
  EXPECT_EQ(order(8), (std::vector<std::int32_t>{0, 1, 3, 6, 2, 7, 5, 4}));
  EXPECT_EQ(order(6), (std::vector<std::int32_t>{0, 1, 3, 2, 5, 4}));
}

}  // namespace
}  // namespace assay::goal
