#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "goal/inputs/recording.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;
using model::Operation;

constexpr std::uint32_t kWorld = 1;

// A process whose records are written by hand, in the order in which NCCL and CUPTI tell them.
class GraphProcess {
 public:
  GraphProcess() {
    process_.file = "test.rec";
    process_.texts = {{1, "AllReduce"},
                      {2, "ncclFloat32"},
                      {3, "RING"},
                      {4, "LL"},
                      {5, "Send"},
                      {6, "ncclDevKernel_AllReduce_X"},
                      {7, "ncclDevKernel_SendRecv"}};
    rec::Communicator world;
    world.id = 0xABCD;
    world.num_ranks = 2;
    world.num_nodes = 1;
    world.device = 0;
    process_.communicators.push_back({kWorld, world});
    process_.clocks.push_back({});
  }

  // An AllReduce that runs at once.
  void eager(std::uint64_t count, std::uint64_t sequence) {
    const std::uint32_t launch = call(count, 0);
    report(launch, count, sequence);
    rec::Correlation correlation;
    correlation.head.duration_ns = next_correlation_;
    correlation.launch = launch;
    process_.correlations.push_back({next(), correlation});
    kernel(6, next_correlation_++, 0);
  }

  // An AllReduce that is captured. NCCL does not count it: the sequence is that of the next eager
  // one.
  void capture(std::uint64_t count, std::uint64_t sequence) {
    report(call(count, rec::kGraphFlag), count, sequence);
  }

  // The same with a proxy: NCCL tells the plan when the graph runs. Returns the API call.
  std::uint32_t capture_with_proxy(std::uint64_t count) {
    call(count, rec::kGraphFlag);
    return last_call_;
  }

  void report_when_run(std::uint32_t call, std::uint64_t count, std::uint64_t sequence) {
    last_call_ = call;
    report(0, count, sequence);
  }

  // Runs a graph of AllReduces with these nodes; 0 for an older recording.
  void run(const std::vector<std::uint64_t>& nodes, std::int32_t grid = 4) {
    for (const std::uint64_t node : nodes)
      kernel(6, next_correlation_, rec::kGraphFlag, node, grid);
    ++next_correlation_;
  }

  void run_send_receive() { kernel(7, next_correlation_++, rec::kGraphFlag, 77, 4); }

  ProcessRecording recording() const {
    std::vector<ProcessRecording> all = recordings_of(process_);
    EXPECT_EQ(all.size(), 1U);
    return std::move(all.front());
  }

 private:
  std::uint32_t next() { return next_ += 8; }

  rec::Event event(std::uint32_t parent, std::uint8_t flags = 0) {
    rec::Event made;
    made.head.flags = flags;
    made.head.duration_ns = 10;
    made.start_ns = now_ += 1000;
    made.communicator = kWorld;
    made.parent = parent;
    return made;
  }

  // The group call, the API call and the launch; returns the launch.
  std::uint32_t call(std::uint64_t count, std::uint8_t flags) {
    const std::uint32_t group = next();
    rec::CollApi api;
    api.event = event(group, flags);
    api.count = count;
    api.stream = 0x1000;
    api.function = 1;
    api.data_type = 2;
    last_call_ = next();
    process_.coll_apis.push_back({last_call_, api});
    rec::KernelLaunch launch;
    launch.event = event(group);
    launch.stream = 0x1000;
    process_.launches.push_back({next(), launch});
    return next_;
  }

  void report(std::uint32_t launch, std::uint64_t count, std::uint64_t sequence) {
    const std::uint32_t plan = next();
    process_.plans.push_back({plan, {event(launch)}});
    rec::Coll coll;
    coll.event = event(last_call_);
    coll.plan = plan;
    coll.sequence = sequence;
    coll.count = count;
    coll.function = 1;
    coll.data_type = 2;
    coll.algorithm = 3;
    coll.protocol = 4;
    coll.channels = 4;
    process_.colls.push_back({next(), coll});
  }

  void kernel(std::uint32_t name,
              std::uint32_t correlation,
              std::uint8_t flags,
              std::uint64_t node = 0,
              std::int32_t grid = 4) {
    rec::Kernel kernel;
    kernel.head.flags = flags;
    kernel.head.duration_ns = correlation;
    kernel.start_ns = static_cast<std::uint64_t>(now_ += 1000);
    kernel.end_ns = kernel.start_ns + 500;
    kernel.name = name;
    kernel.grid = grid;
    kernel.device = 0;
    kernel.graph_node = node;
    process_.kernels.push_back({next(), kernel});
  }

  RecordedProcess process_;
  std::uint32_t next_ = 8;
  std::uint32_t next_correlation_ = 1;
  std::uint32_t last_call_ = 0;
  std::int64_t now_ = 1'000'000;
};

using Ran = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // bytes, sequence

Ran ran(const ProcessRecording& recording) {
  Ran operations;
  for (const Operation& operation : recording.gpu.operations) {
    operations.emplace_back(operation.bytes, operation.sequence);
    EXPECT_EQ(operation.end_ns - operation.start_ns, 500);
  }
  return operations;
}

std::int64_t warned(const ProcessRecording& recording, const std::string& reason) {
  for (const model::Warning& warning : recording.warnings.all()) {
    if (warning.reason.find(reason) != std::string::npos) return warning.count;
  }
  return 0;
}

TEST(RecordedGraphs, RunsAreTheOperationsThatWereCaptured) {
  GraphProcess process;
  process.eager(1, 0);
  process.capture(2, 1);
  process.capture(3, 1);
  process.eager(4, 1);
  process.run({10, 11});
  process.eager(5, 2);
  process.run({10, 11});
  const ProcessRecording recording = process.recording();
  EXPECT_EQ(ran(recording), (Ran{{4, 0}, {16, 1}, {8, 2}, {12, 3}, {20, 4}, {8, 5}, {12, 6}}));
  EXPECT_TRUE(recording.warnings.empty()) << recording.warnings.all().front().reason;
  EXPECT_EQ(recording.matches.by_correlation, 3U);
  EXPECT_EQ(recording.matches.by_order, 4U);
}

TEST(RecordedGraphs, EveryRunIsALaunchOfItsOwn) {
  GraphProcess process;
  process.capture(2, 0);
  process.run({10});
  process.run({10});
  const ProcessRecording recording = process.recording();
  ASSERT_EQ(recording.gpu.operations.size(), 2U);
  EXPECT_NE(recording.gpu.operations[0].group, recording.gpu.operations[1].group);
  EXPECT_EQ(recording.gpu.operations[0].num_channels, 4U);
}

// The second graph was captured later, so its nodes have higher numbers, although it ran first.
TEST(RecordedGraphs, GraphsFollowTheOrderOfTheirNodes) {
  GraphProcess process;
  process.capture(2, 0);
  process.capture(3, 0);
  process.run({21});
  process.run({20});
  process.run({21});
  const ProcessRecording recording = process.recording();
  EXPECT_EQ(ran(recording), (Ran{{12, 0}, {8, 1}, {12, 2}}));
  EXPECT_TRUE(recording.warnings.empty()) << recording.warnings.all().front().reason;
}

// A branch of a graph may run before a node that was captured earlier.
TEST(RecordedGraphs, NodesFollowTheirNumbersNotTheirStarts) {
  GraphProcess process;
  process.capture(2, 0);
  process.capture(3, 0);
  process.run({11, 10});
  EXPECT_EQ(ran(process.recording()), (Ran{{12, 0}, {8, 1}}));
}

TEST(RecordedGraphs, RecordingsWithoutNumbersOfNodesGoByOrder) {
  GraphProcess process;
  process.capture(2, 0);
  process.capture(3, 0);
  process.run({0, 0});
  process.run({0, 0});
  EXPECT_EQ(ran(process.recording()), (Ran{{8, 0}, {12, 1}, {8, 2}, {12, 3}}));
}

TEST(RecordedGraphs, WhatDidNotRunIsLeftOut) {
  GraphProcess process;
  process.eager(1, 0);
  process.capture(2, 1);
  process.eager(3, 1);
  const ProcessRecording recording = process.recording();
  EXPECT_EQ(ran(recording), (Ran{{4, 0}, {12, 1}}));
  EXPECT_EQ(warned(recording, "not seen to run"), 1);
}

TEST(RecordedGraphs, KernelsThatFitNothingAreCounted) {
  GraphProcess process;
  process.capture(2, 0);
  process.run({10}, 5);
  process.run_send_receive();
  process.run({11});
  const ProcessRecording recording = process.recording();
  EXPECT_EQ(ran(recording), (Ran{{8, 0}}));
  EXPECT_EQ(warned(recording, "fit no captured call"), 2);
}

// Three graphs of one AllReduce each, of which one ran: nobody knows which.
TEST(RecordedGraphs, DoubtIsCounted) {
  GraphProcess process;
  for (const std::uint64_t count : {2, 3, 4})
    process.capture(count, 0);
  process.run({30});
  const ProcessRecording recording = process.recording();
  EXPECT_EQ(ran(recording), (Ran{{8, 0}}));
  EXPECT_EQ(warned(recording, "fit several runs"), 1);
  EXPECT_EQ(warned(recording, "not seen to run"), 2);
}

// Over a network, NCCL tells each plan again whenever the graph runs.
TEST(RecordedGraphs, PlansThatAreToldWhenTheyRunTakeTheirKernels) {
  GraphProcess process;
  process.eager(1, 0);
  const std::uint32_t first = process.capture_with_proxy(2);
  const std::uint32_t second = process.capture_with_proxy(3);
  for (int i = 0; i < 2; ++i) {
    process.report_when_run(first, 2, 1);
    process.report_when_run(second, 3, 1);
    process.run({10, 11});
  }
  process.eager(4, 1);
  const ProcessRecording recording = process.recording();
  EXPECT_EQ(ran(recording), (Ran{{4, 0}, {8, 1}, {12, 2}, {8, 3}, {12, 4}, {16, 5}}));
  EXPECT_TRUE(recording.warnings.empty()) << recording.warnings.all().front().reason;
}

}  // namespace
}  // namespace assay::goal
