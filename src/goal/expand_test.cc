#include "goal/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "goal/goal_test_util.h"
#include "goal/timeline.h"
#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;
using model::OpKind;
using model::ScheduleOp;
using testing::ElementsAre;

Operation ring_ll(std::uint64_t bytes, std::uint32_t channels = 1) {
  return test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl, bytes,
                         channels);
}

struct Expanded {
  std::unique_ptr<const Job> job;  // referred to by `resolved`
  std::vector<model::RankImage> images;
  std::vector<std::vector<ScheduleOp>> ops;
  model::Warnings warnings;
  Resolved resolved;
};

Expanded expand(const Job& source,
                const ExpandOptions& options = {},
                const StreamOptions& streams = {}) {
  Expanded made;
  made.job = std::make_unique<const Job>(source);
  const Job& job = *made.job;
  auto resolved = resolve(job, Misfits::kFail);
  EXPECT_TRUE(resolved.ok()) << resolved.error().message;
  made.resolved = std::move(resolved).value();
  const auto tags = plan_tags(made.resolved, {});
  EXPECT_TRUE(tags.ok()) << tags.error().message;
  Costs costs = costs_from_lines(default_costs(), "");
  costs.launch_ns = {};
  const Expander expander(made.resolved, tags.value(), costs, options,
                          plan_streams(made.resolved, streams, made.warnings));
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    model::RankBuilder builder;
    expander.expand(gpu, builder, made.warnings);
    made.images.push_back(builder.finish());
    const auto view = model::view_rank(made.images.back().bytes, gpu);
    EXPECT_TRUE(view.ok());
    made.ops.emplace_back(view.value().ops.begin(), view.value().ops.end());
  }
  return made;
}

// A mix of operations, so that wrong counts show.
Job busy_job() {
  Job job = make_test_job({4, 2});
  for (const NcclProtocol protocol :
       {NcclProtocol::kSimple, NcclProtocol::kLl, NcclProtocol::kLl128}) {
    add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, protocol,
                                        3'000'000, 3));
    add_collective(
        job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kTree, protocol, 500'000, 2));
    add_collective(job, test_collective(NcclFunction::kReduceScatter, NcclAlgorithm::kRing,
                                        protocol, 70'000, 2));
  }
  for (int i = 0; i < 3; ++i) {
    Operation send = test_collective(NcclFunction::kSend, NcclAlgorithm::kNone, NcclProtocol::kNone,
                                     1'000'000, 2);
    send.peer = 3;
    add_operation(job.gpus[0], send);
    send.function = NcclFunction::kRecv;
    send.peer = 0;
    add_operation(job.gpus[3], send);
  }
  return job;
}

TEST(Messages, AreAsManyAsTheExpansionMakes) {
  const Expanded made = expand(busy_job());
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> counted;
    MessageCounter counter(made.resolved, gpu);
    for (const Call& call : made.resolved.gpus[gpu].calls) {
      for (const PeerMessages& messages : counter.count(call)) {
        counted[messages.peer].first += messages.sends;
        counted[messages.peer].second += messages.receives;
      }
    }
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> emitted;
    for (const ScheduleOp& op : made.ops[gpu]) {
      if (op.kind == OpKind::kSend) ++emitted[+op.peer].first;
      if (op.kind == OpKind::kReceive) ++emitted[+op.peer].second;
    }
    EXPECT_EQ(counted, emitted) << "GPU " << gpu;
    EXPECT_FALSE(emitted.empty());
  }
}

TEST(Expand, SharesCpusWhenStreamsHaveMoreChannelsThanThereAre) {
  Job job = make_test_job({2, 2});
  constexpr std::uint32_t kStreams = 40;
  for (model::JobGpu& gpu : job.gpus) {
    gpu.streams.assign(kStreams, "s");
    for (std::uint32_t stream = 0; stream < kStreams; ++stream)
      add_operation(gpu, ring_ll(1 << 20, 8)).stream = stream;
  }
  for (const IntraNode mode : {IntraNode::kMessages, IntraNode::kCalc}) {
    const Expanded made = expand(job, {.intra_node = mode});
    ASSERT_EQ(made.warnings.all().size(), 1U);
    EXPECT_EQ(made.warnings.all()[0].reason, "more channels of streams than a schedule has CPUs");
    EXPECT_EQ(made.warnings.all()[0].count, 2);
    // The CPU of the link comes after those of the channels.
    EXPECT_EQ(made.images[0].max_cpu, mode == IntraNode::kCalc ? 254U : 253U);
  }
}

TEST(Expand, MakesCalculationsOfTransfersWithinNodes) {
  Job job = make_test_job({2, 2});
  Operation send =
      test_collective(NcclFunction::kSend, NcclAlgorithm::kNone, NcclProtocol::kSimple, 300'000, 1);
  send.peer = 1;
  add_operation(job.gpus[0], send);
  send.function = NcclFunction::kRecv;
  send.peer = 0;
  add_operation(job.gpus[1], send);
  const Expanded made = expand(
      job, {.intra_node = IntraNode::kCalc, .intra_latency_ns = 1000, .intra_bytes_per_ns = 100});
  const auto& ops = made.ops[1];
  const auto receive = std::find_if(
      ops.begin(), ops.end(), [](const ScheduleOp& op) { return op.kind == OpKind::kReceive; });
  ASSERT_NE(receive, ops.end());
  EXPECT_EQ(std::uint64_t{receive->size}, 0U);
  const ScheduleOp& transfer = *(receive + 1);
  EXPECT_EQ(transfer.kind, OpKind::kCalc);
  EXPECT_EQ(std::uint64_t{transfer.size}, 1655U);  // of a slice of 64 KiB
  EXPECT_EQ(+transfer.cpu, made.images[1].max_cpu);
  for (const ScheduleOp& op : made.ops[0]) {
    if (op.kind == OpKind::kSend) {
      EXPECT_EQ(std::uint64_t{op.size}, 0U);
    }
  }
}

TEST(Expand, BetweenNodesCalcsChangeNothing) {
  Job job = make_test_job({2, 1});
  add_collective(job, ring_ll(4096));
  const Expanded messages = expand(job);
  const Expanded calcs = expand(job, {.intra_node = IntraNode::kCalc});
  EXPECT_EQ(messages.images[0].bytes, calcs.images[0].bytes);
}

TEST(Expand, MessagesWithinNodesHaveTheirOwnNic) {
  Job job = make_test_job({4, 2});
  add_collective(job, ring_ll(4096));
  const Expanded made = expand(job);
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    for (const ScheduleOp& op : made.ops[gpu]) {
      if (op.kind != OpKind::kCalc) {
        EXPECT_EQ(+op.nic, op.peer / 2 == gpu / 2 ? 1 : 0);
      }
    }
  }
}

// On every GPU, a second stream starts right after the first.
Job two_streams() {
  Job job = make_test_job({2, 2});
  add_collective(job, ring_ll(64));
  add_collective(job, ring_ll(64));
  for (model::JobGpu& gpu : job.gpus)
    gpu.operations[1].stream = 1;
  return job;
}

std::size_t num_roots(const model::RankImage& image) {
  return model::view_rank(image.bytes, 0).value().roots.size();
}

StreamOptions independent(Streams streams) {
  return {.streams = streams, .order = StreamOrder::kIndependent};
}

TEST(Expand, LaunchesFollowWhatHadEndedInAnyStream) {
  const Expanded observed = expand(two_streams());
  EXPECT_EQ(num_roots(observed.images[0]), 1U);
}

TEST(Expand, MergesStreamsThatNeverOverlap) {
  const Expanded apart = expand(two_streams(), {}, independent(Streams::kApart));
  EXPECT_EQ(num_roots(apart.images[0]), 2U);
  const Expanded merged = expand(two_streams(), {}, independent(Streams::kMergedWhenDisjoint));
  EXPECT_EQ(num_roots(merged.images[0]), 1U);
}

TEST(Expand, KeepsStreamsApartWhenTheyOverlapOnOneGpu) {
  Job job = two_streams();
  job.gpus[1].operations[1].start_ns = job.gpus[1].operations[0].end_ns - 1;
  const Expanded made = expand(job, {}, independent(Streams::kMergedWhenDisjoint));
  EXPECT_EQ(num_roots(made.images[0]), 2U);
  EXPECT_EQ(num_roots(made.images[1]), 2U);
}

TEST(Expand, CountsGapsThatAreNegative) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring_ll(64));
  add_collective(job, ring_ll(64));
  job.gpus[0].operations[1].start_ns = job.gpus[0].operations[0].end_ns - 10;
  const Expanded made = expand(job);
  ASSERT_EQ(made.warnings.all().size(), 1U);
  EXPECT_EQ(made.warnings.all()[0].reason, "operations of a stream overlap in time");
  EXPECT_EQ(made.warnings.all()[0].count, 1);
}

// Clocks count from 1970 or so: a GPU without operations must not move their start there.
TEST(Expand, IdleGpusSayNothingAboutTheClock) {
  constexpr std::int64_t kLate = 1'700'000'000'000'000'000;
  Job job = make_test_job({3, 3});
  job.communicators[0].gpus = {0, 1};
  for (const std::size_t gpu : {0, 1}) {
    Operation& added = add_operation(job.gpus[gpu], ring_ll(64));
    added.start_ns += kLate + static_cast<std::int64_t>(gpu);
    added.end_ns += kLate;
  }
  const Expanded made = expand(job);
  EXPECT_EQ(std::uint64_t{made.ops[0][0].size}, 0U);
  EXPECT_EQ(std::uint64_t{made.ops[1][0].size}, 1U);
  EXPECT_TRUE(made.ops[2].empty());
}

// The nanoseconds of rank 0's calculations on a CPU.
double calculated(const Expanded& made, std::uint8_t cpu) {
  std::uint64_t sum = 0;
  for (const ScheduleOp& op : made.ops[0])
    if (op.kind == OpKind::kCalc && op.cpu == cpu) sum += op.size;
  return static_cast<double>(sum);
}

std::uint8_t last_cpu(const Expanded& made) {
  std::uint8_t last = 0;
  for (const ScheduleOp& op : made.ops[0])
    last = std::max(last, op.cpu);
  return last;
}

constexpr double kOneCpuUnitNs = 0.5;

ExpandOptions one_cpu() {
  ExpandOptions options;
  options.cpus = CpuUse::kOne;
  options.time_unit_ns = kOneCpuUnitNs;
  options.intra_node = IntraNode::kCalc;
  options.empty_message_bytes = 1;
  return options;
}

// All channels of a launch share a CPU, so that their works add up to that of one channel.
TEST(Expand, OneCpuDoesTheWorkOfAllChannelsInTheTimeOfOne) {
  Job job = make_test_job({2, 2});
  add_collective(job, ring_ll(1'000'000, 4));
  const Expanded many = expand(job, {.intra_node = IntraNode::kCalc});
  const Expanded one = expand(job, one_cpu());
  // The transfers within the node are on the CPU after those of the channels.
  const double links = calculated(many, last_cpu(many));
  double works = 0;
  for (std::uint8_t cpu = 0; cpu < 4; ++cpu)
    works += calculated(many, cpu);
  EXPECT_NEAR(calculated(one, 0), (works / 4 + links) / kOneCpuUnitNs, 0.01 * works);
  for (const ScheduleOp& op : one.ops[0]) {
    EXPECT_EQ(op.cpu, 0);
    EXPECT_EQ(op.nic, 0);
    EXPECT_TRUE(op.kind == OpKind::kCalc || op.size > 0);
  }
}

// A channel that serves several operations of a group takes the time of all of them.
TEST(Expand, OneCpuDoesTheWorkOfOperationsThatShareAChannel) {
  Job job = make_test_job({2, 2});
  for (int i = 0; i < 3; ++i)
    add_collective(job, ring_ll(1'000'000));
  for (model::JobGpu& gpu : job.gpus) {
    gpu.parts = {{.channel = 0, .count = 250'000, .chunk_count = 8192, .last_chunk_count = 4096}};
    for (Operation& operation : gpu.operations) {
      operation.num_parts = 1;
      operation.group = 0;
      operation.start_ns = gpu.operations[0].start_ns;
      operation.end_ns = gpu.operations[0].end_ns;
    }
  }
  const Expanded many = expand(job, {.intra_node = IntraNode::kCalc});
  const double works = calculated(many, 0);
  const double links = calculated(many, last_cpu(many));
  EXPECT_NEAR(calculated(expand(job, one_cpu()), 0), (works + links) / kOneCpuUnitNs, 0.01 * works);
}

// Sizes of the messages from a GPU to another one, on both sides.
std::vector<std::uint64_t> sizes(const Expanded& made,
                                 std::uint32_t gpu,
                                 std::uint32_t peer,
                                 OpKind kind) {
  std::vector<std::uint64_t> all;
  for (const ScheduleOp& op : made.ops[gpu]) {
    if (op.kind == kind && op.peer == peer)
      all.push_back(std::uint64_t{op.size});  // operations are packed
  }
  return all;
}

// One chunk, 614,400 bytes with its flags, in a chain of two nodes: slices within each, and one
// message between them.
TEST(Expand, OnlyMessagesToAnotherNodeAreWholeChunks) {
  for (const NcclFunction function : {NcclFunction::kBroadcast, NcclFunction::kReduce}) {
    Job job = make_test_job({.num_gpus = 4, .gpus_per_node = 2});
    Operation operation =
        test_collective(function, NcclAlgorithm::kRing, NcclProtocol::kLl128, 576'000, 1);
    operation.root = function == NcclFunction::kBroadcast ? 0 : 3;
    add_collective(job, operation);
    const Expanded made = expand(job);
    EXPECT_THAT(sizes(made, 1, 2, OpKind::kSend), ElementsAre(614'400U));
    for (std::uint32_t gpu = 0; gpu < 3; ++gpu) {
      const std::vector<std::uint64_t> sent = sizes(made, gpu, gpu + 1, OpKind::kSend);
      EXPECT_EQ(sent, sizes(made, gpu + 1, gpu, OpKind::kReceive));
      EXPECT_EQ(sent.size(), gpu == 1 ? 1U : 16U) << gpu;
    }
  }
}

}  // namespace
}  // namespace assay::goal
