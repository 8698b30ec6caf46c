#include "goal/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "goal/goal_test_util.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

void add(Job& job, std::uint32_t gpu, NcclFunction function, std::uint32_t stream) {
  const bool pair = function == NcclFunction::kSend || function == NcclFunction::kRecv;
  Operation operation =
      test_collective(function, pair ? NcclAlgorithm::kNone : NcclAlgorithm::kRing,
                      pair ? NcclProtocol::kSimple : NcclProtocol::kLl, 64, 1);
  operation.stream = stream;
  if (pair) operation.peer = 1 - static_cast<std::int32_t>(gpu);
  add_operation(job.gpus[gpu], operation);
}

// The send ends in NCCL's buffers before the other GPU starts to receive.
Job buffered_send() {
  Job job = make_test_job({2, 2});
  add(job, 0, NcclFunction::kSend, 0);
  add(job, 0, NcclFunction::kAllReduce, 1);
  add(job, 1, NcclFunction::kAllReduce, 1);
  add(job, 1, NcclFunction::kRecv, 0);
  return job;
}

StreamPlan plan(const Job& job, const StreamOptions& options, model::Warnings& warnings) {
  const auto resolved = resolve(job, Misfits::kFail);
  EXPECT_TRUE(resolved.ok());
  return plan_streams(resolved.value(), options, warnings);
}

long num_unordered(const StreamPlan& plan) {
  long number = 0;
  for (const std::vector<bool>& launches : plan.unordered)
    number += std::count(launches.begin(), launches.end(), true);
  return number;
}

TEST(StreamPlan, KeepsTheOrderThatCanEnd) {
  Job job = make_test_job({2, 2});
  for (const std::uint32_t gpu : {0U, 1U}) {
    add(job, gpu, NcclFunction::kAllReduce, 1);
    add(job, gpu, gpu == 0 ? NcclFunction::kSend : NcclFunction::kRecv, 0);
  }
  model::Warnings warnings;
  EXPECT_EQ(num_unordered(plan(job, {}, warnings)), 0);
  EXPECT_TRUE(plan(job, {.streams = Streams::kMergedWhenDisjoint}, warnings).merged);
  EXPECT_TRUE(warnings.empty());
}

TEST(StreamPlan, FreesWhatWouldWaitInACircle) {
  model::Warnings warnings;
  const StreamPlan made = plan(buffered_send(), {}, warnings);
  EXPECT_EQ(num_unordered(made), 2);  // the launches of one exchange on both GPUs
  EXPECT_FALSE(warnings.empty());
}

TEST(StreamPlan, DoesNotMergeStreamsIntoACircle) {
  model::Warnings warnings;
  const Job job = buffered_send();
  EXPECT_FALSE(plan(job,
                    {.streams = Streams::kMergedWhenDisjoint, .order = StreamOrder::kIndependent},
                    warnings)
                   .merged);
  EXPECT_TRUE(warnings.empty());
}

TEST(StreamPlan, FreesNothingWithoutAnOrder) {
  model::Warnings warnings;
  const StreamPlan made = plan(buffered_send(), {.order = StreamOrder::kIndependent}, warnings);
  EXPECT_EQ(num_unordered(made), 0);
  EXPECT_TRUE(warnings.empty());
}

// Computation on stream 0 while an AllReduce runs on stream 1; the second one waits for both.
Job stated_job() {
  Job job = make_test_job({2, 2});
  for (model::JobGpu& gpu : job.gpus) {
    gpu.states_waits = true;
    gpu.waits = {0, 1};
    Operation reduce = test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                       NcclProtocol::kSimple, 64, 1);
    reduce.stream = 1;
    reduce.compute_ns = 700;
    gpu.operations.push_back(reduce);
    gpu.operations.push_back(
        {.communicator = model::kNoCommunicator, .stream = 0, .compute_ns = 5000});
    reduce.sequence = 1;
    reduce.group = 1;
    reduce.num_waits = 2;
    reduce.compute_ns = 30;
    gpu.operations.push_back(reduce);
  }
  return job;
}

TEST(StatedWaits, AreWhatALaunchFollows) {
  const Job job = stated_job();
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  model::Warnings warnings;
  const StreamPlan plan = plan_streams(resolved.value(), {}, warnings);
  const GpuTimeline timeline = make_timeline(resolved.value(), 1, plan, 0, warnings);
  ASSERT_EQ(timeline.launches.size(), 3U);
  EXPECT_EQ(timeline.launches[0].after, std::vector<std::uint32_t>());
  EXPECT_EQ(timeline.launches[0].gap_ns, 700U);
  EXPECT_EQ(timeline.launches[1].launch.num_calls, 0U);
  EXPECT_EQ(timeline.launches[1].after, std::vector<std::uint32_t>());
  EXPECT_EQ(timeline.launches[1].gap_ns, 5000U);
  EXPECT_EQ(timeline.launches[2].after, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(timeline.launches[2].gap_ns, 30U);
  EXPECT_TRUE(warnings.empty());
}

// Two GPUs exchange: in NCCL a send and a receive of one channel run in different warps.
TEST(Timeline, ReceivesHaveCpusOfTheirOwn) {
  Job job = make_test_job({2, 2});
  for (const std::uint32_t gpu : {0U, 1U}) {
    add(job, gpu, NcclFunction::kSend, 0);
    add(job, gpu, NcclFunction::kRecv, 0);
    job.gpus[gpu].operations[1].group = job.gpus[gpu].operations[0].group;
    job.gpus[gpu].operations[1].start_ns = job.gpus[gpu].operations[0].start_ns;
  }
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  model::Warnings warnings;
  const GpuTimeline timeline = make_timeline(resolved.value(), 0, {}, 0, warnings);
  ASSERT_EQ(timeline.launches.size(), 1U);
  const TimedLaunch& launch = timeline.launches[0];
  const std::uint32_t channel = resolved.value().shapes[0].cut.parts[0].channel;
  EXPECT_NE(launch.cpus.of(NcclFunction::kSend, channel),
            launch.cpus.of(NcclFunction::kRecv, channel));
  EXPECT_EQ(launch.message_cpu + 1, timeline.num_cpus);
  EXPECT_LT(launch.cpus.of(NcclFunction::kRecv, channel), launch.message_cpu);
}

}  // namespace
}  // namespace assay::goal
