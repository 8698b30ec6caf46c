#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "goal/input.h"
#include "goal/inputs/nsys_report.h"
#include "goal/inputs/nsys_test_util.h"
#include "report/test_support.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
using model::NcclFunction;

class Nsys : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_.path() / name; }

  [[nodiscard]] model::Job job() const { return read_job(folder_.path(), {}).value(); }

  [[nodiscard]] std::string error() const {
    const auto result = read_job(folder_.path(), {});
    return result.ok() ? "" : result.error().message;
  }

  report::TemporaryFolder folder_;
};

std::int64_t count_of(const model::Job& job, const std::string& reason) {
  for (const model::Warning& warning : job.warnings.all()) {
    if (warning.reason.find(reason) != std::string::npos) return warning.count;
  }
  return 0;
}

TEST_F(Nsys, ACollectiveGetsItsPlanItsChannelsAndItsKernel) {
  for (const int rank : {0, 1}) {
    NsysFile file(path("report_nid00001" + std::to_string(rank) + ".sqlite"));
    file.communicator(rank);
    file.call(10, 20, "AllReduce", 4096, " red_op 0,");
    file.chosen(11, 4, 4096);
    file.part(13, 1024, 424, 600);
    file.part(12, 1024, 600, 0);
    file.kernel(100, 150, "AllReduce");
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.gpus.size(), 2U);
  EXPECT_EQ(job.gpus[0].node, "nid000010");
  EXPECT_NE(job.gpus[0].clock, job.gpus[1].clock);
  ASSERT_EQ(job.communicators.size(), 1U);
  EXPECT_EQ(job.communicators[0].name, "0xbb");
  EXPECT_EQ(job.communicators[0].gpus, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_EQ(job.communicators[0].channels.size(), 1U);
  EXPECT_EQ(job.communicators[0].channels[0][0].ring_next, 1);
  EXPECT_EQ(job.communicators[0].channels[0][1].tree_up, 0);
  ASSERT_EQ(job.gpus[0].operations.size(), 1U);
  const model::Operation& operation = job.gpus[0].operations[0];
  EXPECT_EQ(operation.function, NcclFunction::kAllReduce);
  EXPECT_EQ(operation.algorithm, model::NcclAlgorithm::kRing);
  EXPECT_EQ(operation.protocol, model::NcclProtocol::kSimple);
  EXPECT_TRUE(operation.in_place);
  EXPECT_EQ(operation.bytes, 4096U);
  EXPECT_EQ(operation.element_bytes, 4U);
  EXPECT_EQ(operation.chunk_steps, 4U);
  EXPECT_EQ(operation.step_bytes, 524288U);
  EXPECT_EQ(operation.start_ns, 100);
  EXPECT_EQ(operation.end_ns, 150);
  ASSERT_EQ(operation.num_parts, 2U);
  const auto& parts = job.gpus[0].parts;
  EXPECT_EQ(parts[0].channel, 0U);
  EXPECT_EQ(parts[0].count, 600U);
  EXPECT_EQ(parts[1].channel, 1U);
  EXPECT_EQ(parts[1].count, 424U);
  EXPECT_EQ(parts[1].last_chunk_count, 512U);
  EXPECT_EQ(job.matches.by_order, 2U);
  EXPECT_TRUE(job.warnings.empty());
}

// NCCL orders the collectives of a group by size, so that their marks come in another order.
TEST_F(Nsys, CoalescedCollectivesKeepTheirOwnSizes) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    file.communicator(0);
    file.range(10, 11, "ncclGroupStart():");
    for (const int i : {1, 2, 3})
      file.call(10 + i, 15, "AllGather", i * 4000);
    file.range(20, 60, "ncclGroupEnd():");
    for (const int i : {3, 2, 1}) {
      file.chosen(50 - 10 * i, 2, i * 4000);
      file.part(51 - 10 * i, i * 1000, i * 1000, 0);
    }
    file.kernel(100, 150, "AllGather");
  }
  const model::Job job = this->job();
  const auto& operations = job.gpus[0].operations;
  ASSERT_EQ(operations.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(operations[i].bytes, (i + 1) * 4000);
    EXPECT_EQ(operations[i].sequence, i);
    EXPECT_EQ(operations[i].group, operations[0].group);
    EXPECT_EQ(operations[i].start_ns, 100);
    ASSERT_EQ(operations[i].num_parts, 1U);
    EXPECT_EQ(job.gpus[0].parts[operations[i].first_part].count, (i + 1) * 1000);
  }
  EXPECT_EQ(job.matches.by_order, 1U);  // one kernel for all three
}

TEST_F(Nsys, SendsAndReceivesGetTheirPartsByPeer) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    file.communicator(0);
    file.range(10, 11, "ncclGroupStart():");
    file.call(12, 13, "Send", 1000, " receiver_rank 1,");
    file.call(14, 15, "Recv", 600, " sender_rank 1,");
    file.call(16, 17, "Send", 400, " receiver_rank 1,");
    file.range(20, 60, "ncclGroupEnd():");
    file.p2p_part(21, 2, 1, 600);
    file.p2p_part(22, 1, 1, 500);
    file.p2p_part(23, 1, 1, 500);
    file.p2p_part(24, 1, 1, 400);
    file.kernel(100, 150, "SendRecv");
  }
  const model::Job job = this->job();
  const auto& operations = job.gpus[0].operations;
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_EQ(operations[0].num_parts, 2U);
  EXPECT_EQ(operations[1].num_parts, 1U);
  EXPECT_EQ(operations[2].num_parts, 1U);
  EXPECT_EQ(operations[2].sequence, 1U);
  EXPECT_EQ(operations[2].peer, 1);
  EXPECT_EQ(job.gpus[0].parts[operations[0].first_part + 1].channel, 1U);
  EXPECT_EQ(job.gpus[0].parts[operations[0].first_part].chunk_count, 131072U);
  EXPECT_EQ(operations[0].algorithm, model::NcclAlgorithm::kNone);
  EXPECT_EQ(operations[0].protocol, model::NcclProtocol::kSimple);
}

// Two kernels ran in the other order; only the launches tell which is which.
TEST_F(Nsys, LaunchesTellKernelsApart) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    file.communicator(0);
    file.call(10, 20, "AllReduce", 4096, "", "0x1");
    file.launch(15, 71);
    file.call(30, 40, "AllReduce", 8192, "", "0x2");
    file.launch(35, 72);
    file.kernel(500, 600, "AllReduce", 7, 71);
    file.kernel(100, 200, "AllReduce", 8, 72);
  }
  const model::Job job = this->job();
  EXPECT_EQ(job.matches.by_correlation, 2U);
  const auto& operations = job.gpus[0].operations;
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations[0].bytes, 8192U);
  EXPECT_EQ(operations[0].start_ns, 100);
  EXPECT_EQ(operations[1].bytes, 4096U);
  EXPECT_EQ(operations[1].start_ns, 500);
  EXPECT_EQ(count_of(job, "without a plan's mark"), 2);
}

// The stream has one kernel more than calls: the sequences differ, so that the times decide.
TEST_F(Nsys, TimeDecidesWhereTheSequencesDiffer) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    file.communicator(0);
    file.call(100, 110, "AllReduce", 4096);
    file.call(200, 210, "Broadcast", 4096, " root 1,");
    file.kernel(50, 60, "AllReduce");
    file.kernel(120, 130, "AllReduce");
    file.kernel(220, 240, "Broadcast");
  }
  const model::Job job = this->job();
  EXPECT_EQ(job.matches.by_time, 2U);
  EXPECT_EQ(job.gpus[0].operations[0].start_ns, 120);
  EXPECT_EQ(job.gpus[0].operations[1].start_ns, 220);
  EXPECT_EQ(job.gpus[0].operations[1].root, 1);
  EXPECT_EQ(count_of(job, "kernels without an operation"), 1);
}

TEST_F(Nsys, OperationsWithoutKernelsTakeTheTimesOfTheirCalls) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    file.communicator(0);
    file.call(100, 110, "Reduce", 4096, " red_op 0, root 0,");
  }
  const model::Job job = this->job();
  EXPECT_EQ(job.gpus[0].operations[0].start_ns, 100);
  EXPECT_EQ(job.gpus[0].operations[0].end_ns, 110);
  EXPECT_EQ(count_of(job, "operations without a kernel"), 1);
  EXPECT_EQ(count_of(job, "no table of kernels"), 1);
}

TEST_F(Nsys, TheWindowCutsAfterSequencesAreCounted) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    file.communicator(0);
    file.call(10, 20, "AllReduce", 4096);
    file.mark(30, "nsys profiling start,");
    file.call(40, 50, "AllReduce", 4096);
    file.mark(60, "nsys profiling stopped,");
    file.call(70, 80, "AllReduce", 4096);
    for (const int start : {100, 200, 300})
      file.kernel(start, start + 50, "AllReduce");
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.gpus[0].operations.size(), 1U);
  EXPECT_EQ(job.gpus[0].operations[0].sequence, 1U);
  EXPECT_EQ(job.gpus[0].operations[0].start_ns, 200);
  EXPECT_EQ(job.gpus[0].window_start_ns, 30);
  EXPECT_EQ(job.gpus[0].window_end_ns, 250);
  EXPECT_EQ(job.matches.by_order, 1U);
}

TEST_F(Nsys, TextsMayBeIdsAndRowsOutOfOrder) {
  {
    NsysFile file(path("a_nid1.sqlite"));
    const std::string text = NsysFile::with_process(
        "ncclAllReduce(): commHash 0xaa, stream 0x77, data_size 64, type_size 4,");
    const int id = file.string_id(text);
    file.call(90, 95, "AllReduce", 128);
    file.run(fmt::format("INSERT INTO NVTX_EVENTS VALUES(50, 60, NULL, {}, {})", id,
                         NsysFile::global_id()));
    file.communicator(0);
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.gpus[0].operations.size(), 2U);
  EXPECT_EQ(job.gpus[0].operations[0].bytes, 64U);
  EXPECT_EQ(job.gpus[0].operations[1].sequence, 1U);
}

TEST_F(Nsys, WithoutInitMarksTheUsersAreTheMembers) {
  for (const int node : {2, 10}) {
    NsysFile file(path("nid" + std::to_string(node) + ".sqlite"));
    file.call(10, 20, "AllReduce", 4096);
    file.kernel(100, 150, "AllReduce");
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.gpus.size(), 2U);
  EXPECT_EQ(job.gpus[0].node, "nid2");
  EXPECT_EQ(job.gpus[1].node, "nid10");
  EXPECT_EQ(job.communicators[0].gpus, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(job.communicators[0].channels.empty());
  EXPECT_EQ(count_of(job, "a communicator's making was not recorded"), 1);
}

TEST_F(Nsys, ALogBesideSuppliesRingsAndTheOrderOfRanks) {
  for (const int node : {1, 2}) {
    NsysFile file(path("nid" + std::to_string(node) + ".sqlite"));
    file.run(fmt::format(
        "INSERT INTO NVTX_EVENTS VALUES(10, 20, 'ncclAllReduce(): commHash 0xaa, stream 0x77, "
        "data_size 64, type_size 4, pid {}', NULL, NULL)",
        500 + node));
  }
  std::ofstream(path("nccl.log"))
      << "h1:502:502 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 0 nranks 2 cudaDev 0 "
         "nvmlDev 0 busId 60 commId 0xbb - Init START\n"
         "h1:502:502 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\n"
         "h1:501:501 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 1 nranks 2 cudaDev 0 "
         "nvmlDev 0 busId 60 commId 0xbb - Init START\n";
  const model::Job job = this->job();
  ASSERT_EQ(job.communicators[0].channels.size(), 1U);
  EXPECT_EQ(job.communicators[0].gpus, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(job.communicators[0].channels[0][1].ring_next, 0);
}

TEST_F(Nsys, AHashThatDiffersByHostIsJoinedByTheId) {
  for (const int rank : {0, 1}) {
    NsysFile file(path("nid" + std::to_string(rank) + ".sqlite"));
    file.mark(1, fmt::format("commHash 0xa{} commId 0xbb rank {} nranks 2", rank, rank));
    file.range(5, 6,
               fmt::format("ncclAllReduce(): commHash 0xa{}, stream 0x1, data_size 4, type_size 4,",
                           rank));
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.communicators.size(), 1U);
  EXPECT_EQ(job.communicators[0].gpus, (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(Nsys, CommunicatorsThatShareAnIdAreNamedByTheirHash) {
  {
    NsysFile file(path("nid1.sqlite"));
    file.mark(1, "commHash 0xa1 commId 0xbb rank 0 nranks 1");
    file.mark(2, "commHash 0xa2 commId 0xbb rank 0 nranks 1");
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.communicators.size(), 2U);
  EXPECT_EQ(job.communicators[0].name, "0xa1");
  EXPECT_EQ(job.communicators[1].name, "0xa2");
}

TEST_F(Nsys, AProcessWithSeveralGpusIsRefused) {
  {
    NsysFile file(path("nid1.sqlite"));
    file.mark(1, "commHash 0xaa commId 0xbb rank 0 nranks 2");
    file.mark(2, "commHash 0xaa commId 0xbb rank 1 nranks 2");
  }
  EXPECT_NE(error().find("process 500"), std::string::npos) << error();
  EXPECT_NE(error().find("several GPUs"), std::string::npos) << error();
}

TEST_F(Nsys, OddRecordingsAreCountedAndNeverCrash) {
  {
    NsysFile file(path("nid1.sqlite"));
    file.communicator(0);
    file.communicator(0);
    file.range(10, 11, "ncclGroupEnd():");
    file.part(12, 1024, 1024, 0);
    file.p2p_part(13, 1, 1, 600);
    file.chosen(14, 4, 4096);
    file.call(15, 16, "AllReduce", 0);
    file.kernel(100, 90, "AllReduce");
    file.kernel(200, 300, "Surprise");
    file.range(400, 410, "ncclGroupStart():");
    file.call(420, 421, "AllReduce", 4096);
  }
  const model::Job job = this->job();
  EXPECT_EQ(job.gpus[0].operations.size(), 2U);
  EXPECT_EQ(job.gpus[0].operations[0].start_ns, 100);
  EXPECT_EQ(job.gpus[0].operations[0].end_ns, 100);
  EXPECT_EQ(count_of(job, "kernels that end before they start"), 1);
  EXPECT_EQ(count_of(job, "group ends without a start"), 1);
  EXPECT_EQ(count_of(job, "plan marks without a call"), 1);
  EXPECT_EQ(count_of(job, "channel marks without a call"), 2);
  EXPECT_EQ(count_of(job, "repeated marks"), 1);
}

TEST_F(Nsys, UselessFilesAreNamed) {
  std::ofstream(path("foreign.sqlite")) << "not a database, but long enough to look at closely\n";
  EXPECT_NE(error().find("foreign.sqlite: not a SQLite file"), std::string::npos) << error();
  fs::resize_file(path("foreign.sqlite"), 0);
  EXPECT_NE(error().find("foreign.sqlite: no table NVTX_EVENTS"), std::string::npos) << error();
  fs::remove(path("foreign.sqlite"));
  {
    NsysFile file(path("cut.sqlite"));
    for (int i = 0; i < 2000; ++i)
      file.call(i, i + 1, "AllReduce", 4096);
  }
  fs::resize_file(path("cut.sqlite"), fs::file_size(path("cut.sqlite")) / 2);
  EXPECT_NE(error().find("cut.sqlite: damaged or cut off"), std::string::npos) << error();
}

TEST(NsysNode, IsPartOfTheFileName) {
  EXPECT_EQ(node_of_file_name("nsys_report_nid006123"), "nid006123");
  EXPECT_EQ(node_of_file_name("unid_nid7_42"), "nid7");
  EXPECT_EQ(node_of_file_name("profile_991_3_7"), "3");
  EXPECT_EQ(node_of_file_name("profile_991_3"), "");
  EXPECT_EQ(node_of_file_name("report1"), "");
}

TEST_F(Nsys, TheHostNameIsTheNodeWhenTheFileNameTellsNone) {
  {
    NsysFile file(path("report1.sqlite"));
    file.run(
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV(globalVid INT, devStateName TEXT, name TEXT, "
        "nameEnum INT, value TEXT)");
    file.run("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, '', 'Hostname', 1, 'gpu-node-3')");
    file.communicator(0);
  }
  EXPECT_EQ(job().gpus[0].node, "gpu-node-3");
}

TEST_F(Nsys, ReportsOfANodeShareAClockWhenTheyTellTheirStart) {
  for (const int rank : {0, 1}) {
    NsysFile file(path("profile_1_9_" + std::to_string(rank) + ".sqlite"));
    file.run("CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INT, utcTime TEXT)");
    file.run(fmt::format("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES({}, '')",
                         1000 * (rank + 1)));
    file.communicator(rank);
    file.call(10, 20, "AllReduce", 4096);
  }
  const model::Job job = this->job();
  ASSERT_EQ(job.gpus.size(), 2U);
  EXPECT_EQ(job.gpus[0].clock, job.gpus[1].clock);
  EXPECT_EQ(job.gpus[0].operations[0].start_ns, 1010);
  EXPECT_EQ(job.gpus[1].operations[0].start_ns, 2010);
}

}  // namespace
}  // namespace assay::goal
