#include "goal/synth/assemble.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "goal/synth/collective_choice.h"

namespace assay::goal {
namespace {

constexpr double kHeld = 24.0 / 132;  // of a GPU, by a large collective's channels

const CollectiveCall kReduction{Group::kData, model::NcclFunction::kAllReduce, 400'000'000, 4};

double reduction_ns() {
  return static_cast<double>(estimated_ns({kReduction.function, kReduction.bytes, 4, 1}));
}

AssembledJob assembled(Program program) {
  auto made = assemble({std::move(program)}, {.tp = 1, .stages = 1, .dp = 4});
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

AssembledJob beside_a_reduction(double compute_ns) {
  ProgramWriter writer;
  writer.compute(1e6);
  const std::uint32_t running = writer.launch(collective_op(kReduction, Lane::kData));
  writer.compute(compute_ns);
  writer.join(running);
  return assembled(writer.finish());
}

TEST(Assembling, ComputationBesideACollectiveHasTheRestOfTheGpu) {
  const double half_ns = reduction_ns() / 2;
  const AssembledJob made = beside_a_reduction(half_ns);
  EXPECT_NEAR(static_cast<double>(made.busiest_ns), 1e6 + half_ns / (1 - kHeld), 1e-3 * half_ns);
  EXPECT_NEAR(static_cast<double>(made.busiest_held_ns), half_ns * kHeld / (1 - kHeld),
              1e-3 * half_ns);
}

TEST(Assembling, ComputationThatTakesLongerLosesWhatTheCollectiveHeld) {
  const double compute_ns = 3 * reduction_ns();
  const AssembledJob made = beside_a_reduction(compute_ns);
  EXPECT_NEAR(static_cast<double>(made.busiest_held_ns), reduction_ns() * kHeld, 2);
  EXPECT_NEAR(static_cast<double>(made.estimated_ns), 1e6 + compute_ns + reduction_ns() * kHeld, 2);
}

TEST(Assembling, WhatWaitsForACollectiveIsAsLongAsAlone) {
  ProgramWriter writer;
  writer.compute(1e6);
  writer.call(collective_op(kReduction, Lane::kData));
  writer.compute(2e6);
  const AssembledJob made = assembled(writer.finish());
  EXPECT_EQ(made.busiest_ns, 3'000'000);
  EXPECT_EQ(made.busiest_held_ns, 0);
}

// Returns for each node by how many GPUs the rings of a job's only communicator leave it.
std::map<std::string, std::size_t> gpus_that_leave(Group group, const JobGrid& grid) {
  ProgramWriter writer;
  writer.call(collective_op({group, model::NcclFunction::kAllReduce, 1 << 20, 4}, Lane::kTensor));
  const model::Job job = std::move(assemble({writer.finish()}, grid)).value().job;
  const model::Communicator& made = job.communicators.front();
  std::map<std::string, std::set<std::uint32_t>> exits;
  for (const std::vector<model::ChannelLinks>& links : made.channels) {
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      const std::uint32_t gpu = made.gpus[rank];
      const std::uint32_t next = made.gpus[static_cast<std::size_t>(links[rank].ring_next)];
      if (job.gpus[gpu].node != job.gpus[next].node) exits[job.gpus[gpu].node].insert(gpu);
    }
  }
  std::map<std::string, std::size_t> counts;
  for (const auto& [node, gpus] : exits)
    counts[node] = gpus.size();
  return counts;
}

TEST(Assembling, EveryCommunicatorLeavesItsNodesByAllItsGpus) {
  using Counts = std::map<std::string, std::size_t>;
  EXPECT_EQ(gpus_that_leave(Group::kTensor, {.tp = 16, .stages = 1, .dp = 1}),
            (Counts{{"node0", 8}, {"node1", 8}}));
  EXPECT_EQ(gpus_that_leave(Group::kExpert, {.tp = 2, .stages = 1, .dp = 8, .ep = 8}),
            (Counts{{"node0", 4}, {"node1", 4}}));
  EXPECT_EQ(gpus_that_leave(Group::kServing, {.tp = 1, .stages = 1, .dp = 16, .ep = 16}),
            (Counts{{"node0", 8}, {"node1", 8}}));
  EXPECT_EQ(gpus_that_leave(Group::kTensor, {.tp = 8, .stages = 1, .dp = 2}), Counts{});
}

}  // namespace
}  // namespace assay::goal
