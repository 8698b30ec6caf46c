#include "goal/inputs/kineto.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "goal/input.h"
#include "report/test_support.h"

namespace assay::goal {
namespace {

std::string call(
    int id, double at, const std::string& name, int in, int out, const std::string& more = "") {
  return R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":97,"tid":9,"ts":)" +
         std::to_string(at) + R"(,"dur":5.5,"args":{"External id":)" + std::to_string(id) +
         R"(,"Collective name":")" + name + R"(","dtype":"Float","In msg nelems":)" +
         std::to_string(in) + R"(,"Out msg nelems":)" + std::to_string(out) +
         R"(,"Process Group Name":"0","Process Group Ranks":"[0, 1]","Rank":1)" + more + "}},";
}

std::string kernel(double at, const std::string& name, int correlation, const std::string& more) {
  return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_)" + name +
         R"-((x)","pid":0,"tid":7,"ts":)-" + std::to_string(at) +
         R"(,"dur":20.25,"args":{"device":1,"stream":7,"grid":[24,1,1],"correlation":)" +
         std::to_string(correlation) + more + "}},";
}

std::string launch(double at, int correlation) {
  return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":97,"tid":9,"ts":)" +
         std::to_string(at) + R"(,"dur":1,"args":{"correlation":)" + std::to_string(correlation) +
         "}},";
}

std::string trace(const std::string& events) {
  return R"({"schemaVersion":1,"deviceProperties":[],"distributedInfo":{"backend":"nccl","rank":0,)"
         R"("world_size":2,"nccl_version":"2.28.9"},"traceEvents":[)" +
         events + R"({"ph":"M","name":"end"}],"baseTimeNanoseconds":1000000})";
}

constexpr const char* kLog =
    "h:97:97 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 "
    "busId 60 commId 0xbb - Init START\n"
    "h:97:97 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\n"
    "h:97:97 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1024 datatype 7 op "
    "0 root 0 comm 0x1 [nranks=2] stream (nil)\n"
    "h:97:97 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL128 "
    "channel{Lo..Hi}={0..3}\n";

class Kineto : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
  }

  report::TemporaryFolder folder_;
};

TEST_F(Kineto, TimesThatNoClockShowsCountAsZero) {
  const std::string event =
      R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":97,"tid":9,)"
      R"("ts":9223372036854775807,"dur":9223372036854775807,"args":{"Collective name":"allreduce",)"
      R"("dtype":"Float","In msg nelems":8,"Group size":4,"Global rank start":1,)"
      R"("Global rank stride":9223372036854775807}},)";
  const KinetoTrace read = parse_kineto_trace(trace(event), "rank0.json").value();
  ASSERT_EQ(read.calls.size(), 1U);
  EXPECT_EQ(read.calls[0].start_ns, 1'000'000);
  EXPECT_EQ(read.calls[0].end_ns, 1'000'000);
  EXPECT_TRUE(read.calls[0].group_ranks.empty());
}

TEST_F(Kineto, CallsKernelsAndLogsAreJoined) {
  write("rank0.json",
        trace(call(2, 10, "allreduce", 1024, 1024) + call(3, 30, "broadcast", 8, 8) +
              kernel(100.125, "AllReduce_Sum", 1, R"(,"External id":2)") +
              kernel(200, "Broadcast", 2, R"(,"External id":3)") + call(4, 40, "wait", 0, 0)));
  write("nccl.log", kLog);
  const model::Job job = read_job(folder_.path(), {}).value();
  ASSERT_EQ(job.gpus.size(), 1U);
  EXPECT_EQ(job.nccl_version, "2.28.9");
  EXPECT_EQ(job.gpus[0].node, "h");
  EXPECT_EQ(job.gpus[0].device, 1);
  EXPECT_EQ(job.communicators[0].name, "0xbb");
  EXPECT_EQ(job.communicators[0].channels.size(), 1U);
  ASSERT_EQ(job.gpus[0].operations.size(), 2U);
  const model::Operation& reduce = job.gpus[0].operations[0];
  EXPECT_EQ(reduce.start_ns, 1000000 + 100125);
  EXPECT_EQ(reduce.end_ns, reduce.start_ns + 20250);
  EXPECT_EQ(reduce.bytes, 4096U);
  EXPECT_EQ(reduce.algorithm, model::NcclAlgorithm::kTree);
  EXPECT_EQ(reduce.protocol, model::NcclProtocol::kLl128);
  EXPECT_EQ(reduce.num_channels, 4U);
  const model::Operation& broadcast = job.gpus[0].operations[1];
  EXPECT_EQ(broadcast.root, 1);
  EXPECT_EQ(broadcast.algorithm, model::NcclAlgorithm::kRing);
  EXPECT_EQ(broadcast.num_channels, 24U);
  EXPECT_EQ(job.matches.by_correlation, 2U);
}

// The events tell more of the same run, so that a folder with both is theirs.
TEST_F(Kineto, MayBeNamedBesideTheEventsOfAProfiler) {
  write("rank0.json", trace(call(2, 10, "allreduce", 1024, 1024)));
  write("prof_97.jsonl", "{\"ev\":\"other\"}\n");
  EXPECT_TRUE(read_job(folder_.path() / "rank0.json", {}).ok());
  const auto all = read_job(folder_.path(), {});
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message.find("no event \"init\""), std::string::npos)
      << all.error().message;
}

TEST_F(Kineto, AGroupsKernelIsFoundByItsLaunch) {
  write("rank0.json", trace(call(2, 10, "send", 64, 64, R"(,"Dst Rank":1)") +
                            call(3, 20, "recv", 32, 32, R"(,"Src Rank":1)") + launch(30, 5) +
                            call(4, 40, "send", 16, 16, R"(,"Dst Rank":1)") + launch(50, 6) +
                            kernel(100, "SendRecv", 5, "") + kernel(200, "SendRecv", 6, "")));
  const model::Job job = read_job(folder_.path(), {}).value();
  const auto& operations = job.gpus[0].operations;
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_EQ(operations[0].peer, 1);
  EXPECT_EQ(operations[1].function, model::NcclFunction::kRecv);
  EXPECT_EQ(operations[1].bytes, 128U);
  EXPECT_EQ(operations[0].group, operations[1].group);
  EXPECT_NE(operations[1].group, operations[2].group);
  EXPECT_EQ(operations[2].sequence, 1U);
  EXPECT_EQ(operations[2].start_ns, 1000000 + 200000);
}

TEST_F(Kineto, AnAllToAllIsItsSendsAndReceives) {
  write("rank0.json", trace(call(2, 10, "all_to_allv", 100, 40,
                                 R"(,"In split size":"[1, 3]","Out split size":"[2, 2]")") +
                            kernel(100, "SendRecv", 5, R"(,"External id":2)")));
  const model::Job job = read_job(folder_.path(), {}).value();
  const auto& operations = job.gpus[0].operations;
  ASSERT_EQ(operations.size(), 4U);
  EXPECT_EQ(operations[0].bytes, 25U * 4);
  EXPECT_EQ(operations[2].bytes, 75U * 4);
  EXPECT_EQ(operations[3].function, model::NcclFunction::kRecv);
  EXPECT_EQ(operations[3].peer, 1);
  EXPECT_EQ(operations[3].bytes, 20U * 4);
}

TEST_F(Kineto, AShortenedListOfRanksIsRebuilt) {
  std::string events = call(2, 10, "allreduce", 1024, 1024);
  const std::string list = "\"[0, 1]\"";
  events.replace(events.find(list), list.size(),
                 R"("[0, 2, ...]","Group size":4,"Global rank start":0,"Global rank stride":2)");
  write("rank0.json", trace(events));
  const model::Job job = read_job(folder_.path(), {}).value();
  ASSERT_EQ(job.communicators[0].gpus.size(), 4U);
  EXPECT_EQ(job.communicators[0].gpus[0], 0U);
}

// Names of kernels and paths come from the host as they are.
TEST_F(Kineto, InvalidBytesAreRepaired) {
  const std::string other = R"({"ph":"X","cat":"cpu_op","name":"a\xff b","pid":1,"tid":1,"ts":1},)";
  std::string bytes = other;
  bytes.replace(bytes.find("\\xff"), 4, "\xff\x01");
  write("rank0.json", trace(bytes + call(2, 10, "allreduce", 1024, 1024)));
  const model::Job job = read_job(folder_.path(), {}).value();
  ASSERT_EQ(job.gpus[0].operations.size(), 1U);
  EXPECT_EQ(job.gpus[0].operations[0].bytes, 4096U);
}

TEST_F(Kineto, ACutTraceIsNamed) {
  const std::string whole = trace(call(2, 10, "allreduce", 1024, 1024));
  write("rank0.json", whole.substr(0, whole.size() / 2));
  const auto result = read_job(folder_.path(), {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("rank0.json: not a whole PyTorch profiler trace"),
            std::string::npos)
      << result.error().message;
}

}  // namespace
}  // namespace assay::goal
