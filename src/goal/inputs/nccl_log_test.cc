#include "goal/inputs/nccl_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "goal/inputs/nccl_log_facts.h"
#include "report/test_support.h"

namespace assay::goal {
namespace {

class NcclLogs : public ::testing::Test {
 protected:
  NcclLog read(const std::string& text) {
    const std::filesystem::path path = folder_.path() / "nccl.log";
    std::ofstream(path) << text;
    return read_nccl_logs({path}, warnings_).value();
  }

  report::TemporaryFolder folder_;
  model::Warnings warnings_;
};

constexpr const char* kRank0 =
    "n1:97:97 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n"
    "n1:97:97 [0] NCCL INFO ncclCommInitRankConfig comm 0x3b66 rank 0 nranks 4 cudaDev 0 nvmlDev 0 "
    "busId 60 commId 0xe561 - Init START\n"
    "n1:97:97 [0] NCCL INFO comm 0x3b66 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
    "n1:97:97 [0] NCCL INFO Tree 0 : -1 -> 0 -> 1/2/-1\n"
    "n1:97:97 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1\n"
    "n1:97:97 [0] NCCL INFO Ring 01 : 2 -> 0 -> 3\n"
    "n1:97:97 [0] NCCL INFO Trees [0] 1/2/-1->0->-1 [1] -1/-1/-1->0->1\n"
    "n1:97:97 [0] NCCL INFO P2P Chunksize set to 131072\n"
    "n1:97:130 [0] NCCL INFO Ring 00 : 8 -> 9 -> 8\n";

TEST_F(NcclLogs, RingsTreesAndSizesAreRead) {
  const NcclLog log = read(kRank0);
  EXPECT_EQ(log.nccl_version, "2.28.9");
  ASSERT_EQ(log.communicators.size(), 1U);
  const LoggedCommunicator& communicator = log.communicators[0];
  EXPECT_EQ(communicator.name, "0xe561");
  EXPECT_EQ(communicator.num_ranks, 4U);
  EXPECT_EQ(communicator.num_nodes, 2U);
  EXPECT_EQ(communicator.p2p_chunk_bytes, 131072U);
  const LoggedRank& rank = communicator.ranks.at(0);
  EXPECT_EQ(rank.host, "n1");
  EXPECT_EQ(rank.process_id, 97);
  EXPECT_EQ(rank.local_rank, 0);
  ASSERT_EQ(rank.channels.size(), 2U);
  EXPECT_EQ(rank.channels[0].ring_previous, 3);
  EXPECT_EQ(rank.channels[1].ring_next, 3);
  EXPECT_EQ(rank.channels[0].tree_down, (std::array<std::int32_t, 3>{1, 2, -1}));
  EXPECT_EQ(rank.channels[1].tree_up, 1);
}

TEST_F(NcclLogs, FilesWithoutALineOfNcclAreTold) {
  EXPECT_TRUE(read("epoch 1\nloss 3\n").communicators.empty());
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_EQ(warnings_.all()[0].reason, "logs without a line of NCCL");
}

TEST_F(NcclLogs, ChoicesOfAGroupGoToTheirCommunicators) {
  const std::string call = "n1:97:97 [0] NCCL INFO AllGather: opCount 4 sendbuff 0x1 recvbuff 0x2 ";
  const NcclLog log = read(
      std::string(kRank0) +
      "n1:97:97 [0] NCCL INFO ncclCommInitRankConfig comm 0x7777 rank 0 nranks 2 cudaDev 0 nvmlDev "
      "0 busId 60 commId 0xabc - Init START\n" +
      call + "count 2048 datatype 7 op 0 root 0 comm 0x3b66 [nranks=4] stream (nil)\n" + call +
      "count 1024 datatype 7 op 0 root 0 comm 0x7777 [nranks=2] stream (nil)\n"
      "n1:97:97 [0] NCCL INFO AllGather: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"
      "n1:97:97 [0] NCCL INFO AllGather: 8192 Bytes -> Algo TREE proto SIMPLE "
      "channel{Lo..Hi}={2..5}\n");
  ASSERT_EQ(log.communicators.size(), 2U);
  ASSERT_EQ(log.communicators[0].choices.size(), 1U);
  const LoggedChoice& choice = log.communicators[0].choices[0];
  EXPECT_EQ(choice.function, model::NcclFunction::kAllGather);
  EXPECT_EQ(choice.bytes, 8192U);
  EXPECT_EQ(choice.algorithm, model::NcclAlgorithm::kTree);
  EXPECT_EQ(choice.protocol, model::NcclProtocol::kSimple);
  EXPECT_EQ(choice.first_channel, 2U);
  EXPECT_EQ(choice.last_channel, 5U);
  ASSERT_EQ(log.communicators[1].choices.size(), 1U);
  EXPECT_EQ(log.communicators[1].choices[0].protocol, model::NcclProtocol::kLl);
}

TEST_F(NcclLogs, OlderChoicesAreNumbersWithoutAFunction) {
  const NcclLog log = read(
      std::string(kRank0) +
      "n1:97:97 [0] NCCL INFO Broadcast: opCount 4 sendbuff 0x1 recvbuff 0x2 count 64 datatype "
      "7 op 0 root 0 comm 0x3b66 [nranks=4] stream (nil)\n"
      "n1:97:97 [0] NCCL INFO 256 Bytes -> Algo 1 proto 0 time 12.5\n");
  ASSERT_EQ(log.communicators[0].choices.size(), 1U);
  EXPECT_EQ(log.communicators[0].choices[0].function, model::NcclFunction::kBroadcast);
  EXPECT_EQ(log.communicators[0].choices[0].algorithm, model::NcclAlgorithm::kRing);
  EXPECT_EQ(log.communicators[0].choices[0].protocol, model::NcclProtocol::kLl);
}

// A process that is rank 0 of two communicators does not say, with TUNING alone, which one a choice
// is for. Where all of its choices for a function and size agree, that does not matter.
TEST_F(NcclLogs, ChoicesThatAgreeNeedNoCommunicator) {
  const std::string choice = "n1:97:97 [0] NCCL INFO AllReduce: ";
  const NcclLog log = read(
      std::string(kRank0) +
      "n1:97:97 [0] NCCL INFO ncclCommSplit comm 0x7777 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId "
      "60 parent 0x3b66 splitCount 1 color 5 key 0 - Init START\n" +
      choice + "4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n" + choice +
      "4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={4..7}\n" + choice +
      "8192 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n" + choice +
      "8192 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n");
  EXPECT_EQ(log.untied.size(), 4U);
  EXPECT_TRUE(warnings_.all().empty());
  model::Job job;
  job.gpus.resize(2);
  job.gpus[0].node = "n1/0";
  job.gpus[0].process_id = 97;
  job.communicators = {{.name = "0xe561 split 1 color 5", .gpus = {0, 1}, .channels = {}}};
  for (const std::uint64_t bytes : {4096, 8192}) {
    model::Operation operation;
    operation.function = model::NcclFunction::kAllReduce;
    operation.bytes = bytes;
    job.gpus[1].operations.push_back(operation);
  }
  add_choices(log, job);
  EXPECT_EQ(job.gpus[1].operations[0].algorithm, model::NcclAlgorithm::kTree);
  EXPECT_EQ(job.gpus[1].operations[0].num_channels, 4U);
  EXPECT_EQ(job.gpus[1].operations[1].algorithm, model::NcclAlgorithm::kRing);
  ASSERT_EQ(job.warnings.all().size(), 1U);
  EXPECT_EQ(job.warnings.all()[0].reason, "collectives whose algorithm no NCCL log tells");
}

TEST_F(NcclLogs, DamagedLinesAreNoHarm) {
  const NcclLog log = read(
      "no log at all\n[0] NCCL INFO Ring\nh:1:1 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1\n"
      "h:x:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2\nh:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2\n"
      "h:1:1 [0] NCCL INFO Ring 9999999 : 1 -> 0 -> 1\nh:1:1 [0] NCCL INFO Trees [0] 1/-1\n"
      "h:1:1 [0] NCCL INFO AllReduce: 12 Bytes -> Algo");
  EXPECT_TRUE(log.communicators.empty());
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_EQ(warnings_.all()[0].reason, "communicators whose id the NCCL log does not tell");
}

TEST_F(NcclLogs, TopologyGoesToTheCommunicatorOfThatName) {
  const NcclLog log = read(kRank0);
  model::Job job;
  job.gpus.resize(4);
  job.communicators = {{.name = "0xe561", .gpus = {0, 1, 2, 3}, .channels = {}},
                       {.name = "0x1", .gpus = {0, 1}, .channels = {}}};
  add_topology(log, job);
  ASSERT_EQ(job.communicators[0].channels.size(), 2U);
  EXPECT_EQ(job.communicators[0].channels[0][3].ring_next, 0);
  EXPECT_EQ(job.communicators[0].channels[0][1].ring_previous, 0);
  EXPECT_EQ(job.communicators[0].channels[0][2].tree_up, 0);
  EXPECT_TRUE(job.communicators[1].channels.empty());
  ASSERT_EQ(job.warnings.all().size(), 2U);
  EXPECT_EQ(job.warnings.all()[0].count, 3);
}

TEST_F(NcclLogs, EmulatedNodesHaveNamesOfTheirOwn) {
  LoggedCommunicator communicator{.name = "0x1", .num_ranks = 4, .num_nodes = 2};
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    communicator.ranks[rank].host = "h";
    communicator.ranks[rank].local_rank = rank % 2;
  }
  const auto nodes = logged_nodes(communicator);
  EXPECT_EQ(nodes.at(0), "h/0");
  EXPECT_EQ(nodes.at(1), "h/0");
  EXPECT_EQ(nodes.at(2), "h/1");
  EXPECT_EQ(nodes.at(3), "h/1");
  EXPECT_EQ(host_of_node("h/1"), "h");
}

}  // namespace
}  // namespace assay::goal
