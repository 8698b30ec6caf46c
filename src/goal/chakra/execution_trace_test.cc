#include "goal/chakra/execution_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/files.h"
#include "goal/chakra/read_traces.h"
#include "goal/chakra/write_traces.h"
#include "goal/goal_test_util.h"
#include "goal/input.h"
#include "goal/resolve.h"

namespace assay::goal {
namespace {

using model::NcclFunction;

ChakraNode node_of(std::uint64_t id, ChakraType type, std::vector<std::uint64_t> after) {
  return {.id = id, .name = "node", .type = type, .data_deps = std::move(after)};
}

ChakraNode computation(std::uint64_t id, std::uint64_t us, std::vector<std::uint64_t> after = {}) {
  ChakraNode node = node_of(id, ChakraType::kComputation, std::move(after));
  node.duration_us = us;
  return node;
}

ChakraNode collective(std::uint64_t id,
                      ChakraCollective kind,
                      std::uint64_t bytes,
                      std::vector<std::uint64_t> after) {
  ChakraNode node = node_of(id, ChakraType::kCollective, std::move(after));
  node.collective = kind;
  node.bytes = bytes;
  return node;
}

ChakraNode message(std::uint64_t id, bool sends, std::uint32_t peer, std::uint32_t tag) {
  ChakraNode node = node_of(id, sends ? ChakraType::kSend : ChakraType::kReceive, {});
  (sends ? node.destination : node.source) = peer;
  node.bytes = 1000;
  node.tag = tag;
  return node;
}

model::Job job_of(const std::vector<std::vector<ChakraNode>>& ranks,
                  const RankGroups& groups = {}) {
  std::vector<RankTrace> traces;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    traces.push_back({"test." + std::to_string(rank) + ".et", ranks[rank]});
  auto job = job_of_traces(traces, groups, 8);
  EXPECT_TRUE(job.ok()) << job.error().message;
  return std::move(job).value();
}

// The file was written by the library of protocol buffers, with attributes of other types than
// assay writes.
TEST(ExecutionTrace, ReadsWhatOthersWrite) {
  const auto bytes = core::read_file(ASSAY_SOURCE_DIR "/tests/data/chakra/types.0.et");
  ASSERT_TRUE(bytes.ok());
  const auto nodes = parse_execution_trace(bytes.value(), "types.0.et");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes.value().size(), 2U);
  const ChakraNode& reduce = nodes.value()[0];
  EXPECT_EQ(reduce.id, 5U);
  EXPECT_EQ(reduce.name, "ar");
  EXPECT_EQ(reduce.type, ChakraType::kCollective);
  EXPECT_EQ(reduce.data_deps, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(reduce.duration_us, 300U);
  EXPECT_EQ(reduce.collective, ChakraCollective::kAllReduce);
  EXPECT_EQ(reduce.bytes, 1U << 20);
  EXPECT_EQ(reduce.group, "2");
  EXPECT_FALSE(reduce.is_on_cpu);
  const ChakraNode& receive = nodes.value()[1];
  EXPECT_EQ(receive.type, ChakraType::kReceive);
  EXPECT_EQ(receive.source, 3U);
  EXPECT_EQ(receive.destination, 1U);
  EXPECT_EQ(receive.tag, 77U);
  EXPECT_EQ(receive.bytes, 4096U);
}

TEST(ExecutionTrace, WhatIsWrittenIsReadAgain) {
  std::vector<ChakraNode> nodes = {computation(0, 12),
                                   collective(1, ChakraCollective::kAllGather, 70000, {0}),
                                   message(300, true, 5, 9)};
  nodes[1].group = "3";
  nodes[2].source = 2;
  const auto read = parse_execution_trace(execution_trace(nodes), "test.et");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), 3U);
  EXPECT_EQ(read.value()[0].duration_us, 12U);
  EXPECT_EQ(read.value()[1].collective, ChakraCollective::kAllGather);
  EXPECT_EQ(read.value()[1].bytes, 70000U);
  EXPECT_EQ(read.value()[1].data_deps, std::vector<std::uint64_t>{0});
  EXPECT_EQ(read.value()[1].group, "3");
  EXPECT_EQ(read.value()[2].id, 300U);
  EXPECT_EQ(read.value()[2].source, 2U);
  EXPECT_EQ(read.value()[2].destination, 5U);
  EXPECT_EQ(read.value()[2].tag, 9U);
}

TEST(ExecutionTrace, SaysWhereItIsCut) {
  const std::string bytes = execution_trace({computation(0, 12), computation(1, 13)});
  const auto cut = parse_execution_trace(bytes.substr(0, bytes.size() - 1), "test.et");
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().message, "test.et: cut or damaged behind message 2");
  const auto other = parse_execution_trace(std::string("\x01\x00\x02\x0f\x0f", 5), "test.et");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "test.et: message 1 is no node of an execution trace");
}

TEST(ChakraJob, NodesWaitForTheirDataOnly) {
  std::vector<ChakraNode> nodes = {
      computation(0, 10), collective(1, ChakraCollective::kReduceScatter, 8000, {0}),
      computation(2, 20, {0}), node_of(3, ChakraType::kInvalid, {1, 2}),
      collective(4, ChakraCollective::kAllReduce, 4000, {3})};
  const model::Job job = job_of({nodes, nodes});
  const model::JobGpu& gpu = job.gpus[1];
  ASSERT_EQ(gpu.operations.size(), 4U);
  EXPECT_EQ(gpu.operations[0].compute_ns, 10000U);
  EXPECT_EQ(gpu.operations[0].communicator, model::kNoCommunicator);
  EXPECT_EQ(gpu.operations[1].function, NcclFunction::kReduceScatter);
  EXPECT_EQ(gpu.operations[1].bytes, 4000U);  // a rank's part
  EXPECT_EQ(gpu.operations[3].num_waits, 2U);
  EXPECT_EQ(gpu.waits, (std::vector<std::uint32_t>{0, 0, 1, 2}));
  EXPECT_TRUE(resolve(job, Misfits::kFail).ok());
}

TEST(ChakraJob, MessagesMeetByTheirTag) {
  const model::Job job = job_of({{message(0, true, 1, 7), message(1, true, 1, 8)},
                                 {message(0, false, 0, 8), message(1, false, 0, 7)}});
  EXPECT_EQ(job.gpus[0].operations[1].sequence, 1U);
  EXPECT_EQ(job.gpus[1].operations[0].sequence, 1U);
  EXPECT_EQ(job.gpus[1].operations[1].sequence, 0U);
  EXPECT_TRUE(resolve(job, Misfits::kFail).ok());
  const model::Job lost = job_of({{message(0, true, 1, 7), message(1, true, 1, 8)},
                                  {message(0, false, 0, 7), message(1, false, 0, 6)}});
  EXPECT_FALSE(resolve(lost, Misfits::kFail).ok());
  EXPECT_TRUE(resolve(lost, Misfits::kLeaveOut).ok());
}

TEST(ChakraJob, AllToAllsAreGroupsOfMessages) {
  const std::vector<ChakraNode> nodes = {collective(0, ChakraCollective::kAllToAll, 3000, {}),
                                         collective(1, ChakraCollective::kAllToAll, 3000, {0})};
  const model::Job job = job_of({nodes, nodes, nodes});
  ASSERT_EQ(job.gpus[0].operations.size(), 8U);
  EXPECT_EQ(job.gpus[0].operations[0].bytes, 1000U);
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(resolved.value().gpus[0].launches.size(), 2U);
}

TEST(ChakraJob, GroupsComeFromAFileOrFromMetadata) {
  ChakraNode reduce = collective(1, ChakraCollective::kAllReduce, 4000, {});
  reduce.group = "4";
  const auto unknown = job_of_traces({{"a.0.et", {reduce}}, {"a.1.et", {reduce}}}, {}, 8);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "a.0.et: node 1 is of group 4, whose ranks nothing tells: put a comm_group.json beside "
            "the traces, {\"4\": [0, 1, ...]}");
  const auto groups = parse_rank_groups(R"({"4": [1, 0]})", "groups");
  ASSERT_TRUE(groups.ok());
  EXPECT_EQ(job_of({{reduce}, {reduce}}, groups.value()).communicators[0].gpus,
            (std::vector<std::uint32_t>{1, 0}));
  EXPECT_FALSE(parse_rank_groups(R"({"4": [1, 1]})", "groups").ok());
  ChakraNode metadata = node_of(0, ChakraType::kMetadata, {});
  metadata.values = R"(['[{"pg_name": "4", "ranks": [0, 1]}]'])";
  EXPECT_EQ(groups_in_metadata({metadata}).at("4"), (std::vector<std::uint32_t>{0, 1}));
}

TEST(ChakraJob, CirclesAreErrors) {
  const auto job =
      job_of_traces({{"a.0.et", {computation(0, 1, {1}), computation(1, 1, {0})}}}, {}, 8);
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().message, "a.0.et: 2 of its 2 nodes wait for each other in a circle");
}

TEST(ChakraJob, TwoNodesOfOneNumberAreAnError) {
  const auto job = job_of_traces({{"a.0.et", {computation(4, 1), computation(4, 1)}}}, {}, 8);
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().message, "a.0.et: two nodes have the number 4");
}

TEST(ChakraJob, RanksThatAreAloneInTheirGroupsOnlyCompute) {
  const model::Job job =
      job_of({{computation(0, 10), collective(1, ChakraCollective::kAllReduce, 4000, {0}),
               computation(2, 10, {1})}});
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(resolved.value().gpus[0].launches.size(), 2U);
}

// A recorded job, written and read again: the same operations, and computation to a microsecond.
TEST(ChakraJob, ComesBackFromItsTraces) {
  model::Job job = make_test_job({4, 4});
  for (const NcclFunction function :
       {NcclFunction::kAllReduce, NcclFunction::kAllGather, NcclFunction::kReduceScatter}) {
    add_collective(job, test_collective(function, model::NcclAlgorithm::kRing,
                                        model::NcclProtocol::kSimple, 4096, 1));
  }
  model::Operation send = test_collective(NcclFunction::kSend, model::NcclAlgorithm::kNone,
                                          model::NcclProtocol::kSimple, 1000, 1);
  send.peer = 3;
  add_operation(job.gpus[1], send);
  send.function = NcclFunction::kRecv;
  send.peer = 1;
  add_operation(job.gpus[3], send);
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "chakra_comes_back";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "output.4.et") << "of a larger job";
  const auto written = write_traces(job, {}, folder);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(written.value().collectives, 12U);
  EXPECT_EQ(written.value().messages, 2U);
  const auto read = read_job(folder, {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().gpus.size(), 4U);
  const auto resolved = resolve(read.value(), Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(resolved.value().exchanges.size(), 4U);
  std::uint64_t compute_ns = 0;
  for (const model::Operation& operation : read.value().gpus[3].operations)
    compute_ns += operation.compute_ns;
  EXPECT_EQ(compute_ns, 3 * 100'000U);  // the first begins when the recording does
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::goal
