#include "goal/synth/assemble.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::goal
