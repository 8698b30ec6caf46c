#include "goal/circles.h"

#include <gtest/gtest.h>

#include <string>

#include "goal/goal_test_util.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclFunction;
using model::Operation;

Operation pair(NcclFunction function, std::int32_t peer) {
  Operation operation = test_collective(function, model::NcclAlgorithm::kNone,
                                        model::NcclProtocol::kSimple, 1'000'000, 1);
  operation.peer = peer;
  return operation;
}

Operation ring(NcclFunction function) {
  return test_collective(function, model::NcclAlgorithm::kRing, model::NcclProtocol::kSimple,
                         1'000'000, 1);
}

// Returns the sentences of all warnings.
std::string told(const Job& job) {
  const auto resolved = resolve(job, Misfits::kFail);
  EXPECT_TRUE(resolved.ok()) << resolved.error().message;
  model::Warnings warnings;
  const StreamPlan plan = plan_streams(resolved.value(), {}, warnings);
  warn_of_circles(resolved.value(), plan, warnings);
  std::string text;
  for (const model::Warning& warning : warnings.all())
    text += warning.sentence() + "\n";
  return text;
}

TEST(Circles, SendsBeforeReceivesOnBothSidesNeedEagerMessages) {
  Job job = make_test_job({2, 1});
  for (const std::int32_t gpu : {0, 1}) {
    add_operation(job.gpus[static_cast<std::size_t>(gpu)], pair(NcclFunction::kSend, 1 - gpu));
    add_operation(job.gpus[static_cast<std::size_t>(gpu)], pair(NcclFunction::kRecv, 1 - gpu));
  }
  EXPECT_EQ(told(job),
            "operations that wait in a circle when sends wait for their receives, 2 times: the "
            "schedule ends with eager messages only: S must be at least their size (first: rank 0: "
            "Send #0 on 0xabc)\n");
  for (model::JobGpu& gpu : job.gpus) {
    gpu.operations[1].group = gpu.operations[0].group;
    gpu.operations[1].start_ns = gpu.operations[0].start_ns;
    gpu.operations[1].end_ns = gpu.operations[0].end_ns;
  }
  EXPECT_EQ(told(job), "");
}

TEST(Circles, CollectivesInOppositeOrdersCannotEnd) {
  Job job = make_test_job({2, 1});
  add_operation(job.gpus[0], ring(NcclFunction::kAllReduce));
  add_operation(job.gpus[0], ring(NcclFunction::kAllGather));
  add_operation(job.gpus[1], ring(NcclFunction::kAllGather));
  add_operation(job.gpus[1], ring(NcclFunction::kAllReduce));
  EXPECT_EQ(told(job),
            "operations that wait for each other in a circle, 2 times: the schedule cannot end "
            "(first: rank 0: AllReduce #0 on 0xabc)\n");
}

// Rank 2 exchanges with both others at once, so that rank 1 need not wait for rank 0's receive.
TEST(Circles, GroupsEndPartByPart) {
  Job job = make_test_job({3, 1});
  add_operation(job.gpus[0], pair(NcclFunction::kSend, 1));
  add_operation(job.gpus[0], pair(NcclFunction::kRecv, 2));
  add_operation(job.gpus[1], pair(NcclFunction::kSend, 2));
  add_operation(job.gpus[1], pair(NcclFunction::kRecv, 0));
  const Operation first = add_operation(job.gpus[2], pair(NcclFunction::kRecv, 1));
  Operation& second = add_operation(job.gpus[2], pair(NcclFunction::kSend, 0));
  second.group = first.group;
  second.start_ns = first.start_ns;
  second.end_ns = first.end_ns;
  EXPECT_EQ(told(job), "");
}

}  // namespace
}  // namespace assay::goal
