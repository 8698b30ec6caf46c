#include "trace/attribution/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/attribution/resolution.h"
#include "trace/attribution/table.h"
#include "trace/path/simulated_run_test_util.h"

namespace assay::trace::attribution {
namespace {

using path::testing::Done;
using path::testing::SimulatedRun;

// A training step in small: layers whose weights are gathered beside the computation before, a
// reduction that nothing hides, and an optimizer. What a test plants differs from the defaults.
struct Program {
  int ranks = 4;
  int recorded_ranks = 0;  // the first ones; 0: all
  int steps = 4;
  double kernel_us = 400;
  double beside_factor = 1.1;  // of kernels beside communication
  double optimizer_us = 150;
  double gather_us = 250;             // hidden
  double reduce_us = 300;             // not hidden
  std::int64_t reduced = 50'000'000;  // elements
  int reduces = 1;
  double latency_us = 20;       // of each collective
  double slow_rank_us = 0;      // of rank 2, once a step
  double host_us = 0;           // for which all ranks wait, once a step
  double slow_host_us = 0;      // for which rank 1 waits, once a step
  double late_host_us = 0;      // by which rank 3 begins later than the others, once
  double odd_step_host_us = 0;  // for which all ranks wait in the second step
  double odd_end_host_us = 0;   // the same, behind the work of the second step
  double added_us = 0;          // a kernel more
  double jump_us = 0;           // by which rank 1's clock is set ahead in the second step
  std::string gemm = "gemm";
  std::uint32_t channels = 24;
  double noise_us = 1;
};

class Noise {
 public:
  explicit Noise(double us) : us_(us) {}

  // Deterministic, without a mean.
  double operator()() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return us_ * (static_cast<double>(state_ >> 33) / static_cast<double>(1ULL << 31) - 0.5);
  }

 private:
  double us_;
  std::uint64_t state_ = 42;
};

path::Execution execution_of(const Program& program) {
  const int recorded = program.recorded_ranks == 0 ? program.ranks : program.recorded_ranks;
  SimulatedRun run(program.ranks);
  Noise noise(program.noise_us);
  const auto ranks_us = [&](double us) {
    std::vector<double> result;
    for (int r = 0; r < program.ranks; ++r)
      result.push_back(us + noise());
    return result;
  };
  const auto collective_us = [&](double us) { return us + program.latency_us + noise(); };
  run.delay_host(3, program.late_host_us);
  for (int step = 1; step <= program.steps; ++step) {
    run.begin_step(step);
    const Done embedded = run.kernel("embed", ranks_us(program.kernel_us / 2));
    const Done gathered =
        run.collective({"allgather", 100'000'000, program.channels},
                       collective_us(program.gather_us), SimulatedRun::kNetwork, {embedded});
    run.kernel(program.gemm, ranks_us(program.kernel_us * program.beside_factor));
    std::vector<double> slow = ranks_us(program.kernel_us);
    slow[2] += program.slow_rank_us;
    run.kernel(program.gemm, slow, SimulatedRun::kCompute, {gathered});
    if (program.added_us > 0) run.kernel("added", ranks_us(program.added_us));
    if (step == 2)
      for (int r = 0; r < program.ranks; ++r)
        run.delay_host(r, program.odd_step_host_us);
    const Done used = run.kernel("loss", ranks_us(50));
    if (step == 2) run.jump_clock(1, used.end_us[1], program.jump_us);
    Done reduced = used;
    for (int i = 0; i < program.reduces; ++i)
      reduced = run.collective({"allreduce", program.reduced, program.channels},
                               collective_us(program.reduce_us), SimulatedRun::kNetwork, {used});
    const Done small =
        run.collective({"allreduce", 1000, 1}, collective_us(1), SimulatedRun::kNetwork, {reduced});
    const Done updated =
        run.kernel("optimizer", ranks_us(program.optimizer_us), SimulatedRun::kCompute, {small});
    // The hosts wait for the step, as they do when they read the loss, and launch the next one.
    for (int r = 0; r < program.ranks; ++r)
      run.wait_on_host(r, updated.end_us[static_cast<std::size_t>(r)] - 100 + program.host_us +
                              (r == 1 ? program.slow_host_us : 0) +
                              (step == 2 ? program.odd_end_host_us : 0));
  }
  run.begin_step(program.steps + 1);
  run.kernel("embed", ranks_us(program.kernel_us / 2));
  return path::execution_of(std::span(run.ranks()).first(static_cast<std::size_t>(recorded)));
}

constexpr Cause kAllCauses[] = {Cause::kContention, Cause::kClock,     Cause::kPower,
                                Cause::kKernels,    Cause::kVolume,    Cause::kBandwidth,
                                Cause::kLatency,    Cause::kUnmatched, Cause::kStraggler,
                                Cause::kHost,       Cause::kOther};

double part(const Attribution& attribution, Cause cause) {
  return attribution.change_ms[static_cast<std::size_t>(cause)];
}

Attribution attribution_between(const path::Execution& a, const path::Execution& b) {
  const path::Execution* const side_a[] = {&a};
  const path::Execution* const side_b[] = {&b};
  return attribute(side_a, side_b).value();
}

Attribution attribution_of(const Program& a,
                           const Program& b,
                           std::optional<ClockChange> clock = std::nullopt) {
  const path::Execution execution_a = execution_of(a);
  const path::Execution execution_b = execution_of(b);
  const path::Execution* const side_a[] = {&execution_a};
  const path::Execution* const side_b[] = {&execution_b};
  return attribute(side_a, side_b, clock).value();
}

void expect_sum(const Attribution& attribution) {
  double sum = 0;
  for (const double change : attribution.change_ms)
    sum += change;
  EXPECT_NEAR(sum, attribution.total_ms(), 1e-3 * std::fabs(attribution.total_ms()) + 1e-9);
}

// The causes get at least 95 % of the change, and nothing else more than 5 %.
void expect_planted(const Attribution& attribution, const std::vector<Cause>& planted) {
  expect_sum(attribution);
  const double total = attribution.total_ms();
  double sum = 0;
  for (const Cause cause : planted)
    sum += part(attribution, cause);
  EXPECT_GT(sum / total, 0.95) << attribution_in_words(attribution);
  for (const Cause cause : kAllCauses) {
    if (std::find(planted.begin(), planted.end(), cause) != planted.end()) continue;
    EXPECT_LT(std::fabs(part(attribution, cause) / total), 0.05)
        << attribution_in_words(attribution);
  }
}

TEST(Attribution, KernelsSlowedByCommunicationBesideThem) {
  Program b;
  b.beside_factor = 1.4;
  expect_planted(attribution_of({}, b), {Cause::kContention});
}

TEST(Attribution, KernelsSlowerByThemselves) {
  Program b;
  b.optimizer_us = 300;
  expect_planted(attribution_of({}, b), {Cause::kKernels});
}

// All kernels are slower, beside communication and alone.
TEST(Attribution, KernelsSlowerByThemselvesAlsoBesideCommunication) {
  Program b;
  b.kernel_us = 480;
  const Attribution attribution = attribution_of({}, b);
  expect_sum(attribution);
  EXPECT_GT(part(attribution, Cause::kKernels) / attribution.total_ms(), 0.95);
}

TEST(Attribution, AnAddedKernel) {
  Program b;
  b.added_us = 200;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kKernels});
  const auto added = std::find_if(attribution.details.begin(), attribution.details.end(),
                                  [](const Detail& detail) { return detail.name == "added"; });
  ASSERT_NE(added, attribution.details.end());
  EXPECT_EQ(added->words, "added");
  EXPECT_EQ(added->a_ms, 0);
  EXPECT_NEAR(added->b_ms, 0.2 * 4 / 5, 0.01);  // the last step has none
}

TEST(Attribution, AReplacedKernel) {
  Program b;
  b.gemm = "faster_gemm";
  b.kernel_us = 300;
  const Attribution attribution = attribution_of({}, b);
  expect_sum(attribution);
  EXPECT_GT((part(attribution, Cause::kKernels) + part(attribution, Cause::kContention)) /
                attribution.total_ms(),
            0.95);
}

TEST(Attribution, AClockThatTheRunsRecorded) {
  Program b;
  b.kernel_us = 440;
  b.optimizer_us = 165;
  const Attribution attribution = attribution_of({}, b, ClockChange{.ratio = 1.1});
  expect_sum(attribution);
  EXPECT_GT(part(attribution, Cause::kClock) / attribution.total_ms(), 0.9);
  EXPECT_LT(std::fabs(part(attribution, Cause::kKernels) / attribution.total_ms()), 0.05);
}

TEST(Attribution, AClockThatThePowerLimitHeldDown) {
  Program b;
  b.kernel_us = 440;
  b.optimizer_us = 165;
  const Attribution attribution =
      attribution_of({}, b, ClockChange{.ratio = 1.1, .by_power = true});
  expect_sum(attribution);
  EXPECT_GT(part(attribution, Cause::kPower) / attribution.total_ms(), 0.9);
  EXPECT_EQ(part(attribution, Cause::kClock), 0);
}

TEST(Attribution, AClockThatChangesNothingExplainsNothing) {
  Program b;
  b.reduce_us = 600;
  const Attribution attribution = attribution_of({}, b, ClockChange{.ratio = 1.1});
  expect_planted(attribution, {Cause::kBandwidth});
}

TEST(Attribution, SlowerCommunication) {
  Program b;
  b.reduce_us = 600;
  b.channels = 8;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kBandwidth});
  const auto detail = std::find_if(
      attribution.details.begin(), attribution.details.end(),
      [](const Detail& d) { return d.cause == Cause::kBandwidth && d.name.ends_with("50000000"); });
  ASSERT_NE(detail, attribution.details.end());
  EXPECT_TRUE(detail->words.starts_with("24 to 8 channels")) << detail->words;
}

TEST(Attribution, SlowerCommunicationThatComputationHidesCostsNothing) {
  Program b;
  b.gather_us = 350;
  const Attribution attribution = attribution_of({}, b);
  expect_sum(attribution);
  EXPECT_LT(std::fabs(attribution.total_ms()), 0.005);
  EXPECT_LT(std::fabs(part(attribution, Cause::kBandwidth)), 0.005);
}

// The gathering was hidden and decides now; the computation that it hides stays the same.
TEST(Attribution, CommunicationThatTakesTheCriticalPathOver) {
  Program b;
  b.gather_us = 1500;
  expect_planted(attribution_of({}, b), {Cause::kBandwidth});
}

TEST(Attribution, MoreCollectivesAreVolume) {
  Program b;
  b.reduces = 2;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kVolume});
  const auto detail = std::find_if(attribution.details.begin(), attribution.details.end(),
                                   [](const Detail& d) { return d.cause == Cause::kVolume; });
  ASSERT_NE(detail, attribution.details.end());
  EXPECT_TRUE(detail->is_message);
  EXPECT_NEAR(detail->change_ms(), 0.32 * 4 / 5, 0.01);
}

TEST(Attribution, LargerMessagesAtTheSameBandwidthAreVolume) {
  Program b;
  b.reduced = 100'000'000;
  b.reduce_us = 600;
  expect_planted(attribution_of({}, b), {Cause::kVolume});
}

TEST(Attribution, VolumeAndBandwidthShareWhatBothChange) {
  Program b;
  b.reduced = 100'000'000;
  b.reduce_us = 1200;
  const Attribution forward = attribution_of({}, b);
  const Attribution back = attribution_of(b, {});
  expect_planted(forward, {Cause::kVolume, Cause::kBandwidth});
  // From 300 by 300 to 600, then 1200; or from 300 to 600, then by 600 to 1200.
  EXPECT_NEAR(part(forward, Cause::kVolume), 0.45 * 4 / 5, 0.03);
  EXPECT_NEAR(part(forward, Cause::kBandwidth), 0.45 * 4 / 5, 0.03);
  for (const Cause cause : kAllCauses)
    EXPECT_NEAR(part(forward, cause), -part(back, cause), 0.002);
}

// Four stages of a pipeline, of which one may be slower, pass micro-batches on.
struct Pipeline {
  std::vector<double> stages_us = {400, 400, 400, 400};
  double message_us = 50;
  bool is_buffered = true;
  bool names_peers = true;
};

path::Execution execution_of_pipeline(const Pipeline& pipeline) {
  SimulatedRun run(4);
  Noise noise(1);
  for (int step = 1; step <= 4; ++step) {
    run.begin_step(step);
    for (int batch = 0; batch < 6; ++batch) {
      for (int stage = 0; stage < 4; ++stage) {
        run.kernel_on(stage, "gemm", pipeline.stages_us[static_cast<std::size_t>(stage)] + noise());
        if (stage < 3)
          run.message(stage, stage + 1, pipeline.message_us + noise(), pipeline.is_buffered);
      }
    }
    const Done sum = run.collective({}, 25, SimulatedRun::kCompute);
    for (int r = 0; r < 4; ++r)
      run.wait_on_host(r, sum.end_us[static_cast<std::size_t>(r)]);
  }
  return path::execution_of(pipeline.names_peers ? run.ranks() : run.ranks_without_peers());
}

Attribution attribution_of_pipelines(const Pipeline& a, const Pipeline& b) {
  return attribution_between(execution_of_pipeline(a), execution_of_pipeline(b));
}

TEST(Attribution, ASlowerStageOfAPipelineIsAStraggler) {
  for (const bool is_buffered : {true, false}) {
    for (const std::size_t slow : {0U, 2U, 3U}) {
      Pipeline a{.is_buffered = is_buffered};
      Pipeline b = a;
      b.stages_us[slow] = 480;
      const Attribution attribution = attribution_of_pipelines(a, b);
      EXPECT_GT(attribution.total_ms(), 0.2);
      expect_planted(attribution, {Cause::kStraggler});
    }
  }
}

TEST(Attribution, SlowerStagesOfAPipelineAreSlowerKernels) {
  const Pipeline b{.stages_us = {440, 440, 440, 440}};
  expect_planted(attribution_of_pipelines({}, b), {Cause::kKernels});
}

// A pipeline whose stages run forwards and backwards in orders of their own (1F1B); the first and
// the last one have a kernel more.
class OneForwardOneBackward {
 public:
  explicit OneForwardOneBackward(std::vector<double> stages_us)
      : stages_us_(std::move(stages_us)) {}

  path::Execution execution() {
    for (int step = 1; step <= 4; ++step) {
      run_.begin_step(step);
      forwards_ = backwards_ = {};
      while (backwards_[0] < kBatches)
        for (std::size_t stage = 0; stage < kStages; ++stage)
          while (runs_next(stage)) {
          }
      const Done sum = run_.collective({}, 25, SimulatedRun::kCompute);
      for (std::size_t stage = 0; stage < kStages; ++stage)
        run_.wait_on_host(static_cast<int>(stage), sum.end_us[stage]);
    }
    return path::execution_of(run_.ranks());
  }

 private:
  static constexpr std::size_t kStages = 4;
  static constexpr std::size_t kBatches = 6;

  // Returns whether the stage had something to run whose input is there.
  bool runs_next(std::size_t stage) {
    if (backwards_[stage] == kBatches) return false;
    const std::size_t ahead = std::min(kStages - stage, kBatches - backwards_[stage]);
    const bool forward = forwards_[stage] < backwards_[stage] + ahead;
    const std::array<std::size_t, kStages>& done = forward ? forwards_ : backwards_;
    const bool has_input = stage != (forward ? 0 : kStages - 1);
    const std::size_t from = forward ? stage - 1 : stage + 1;
    if (has_input && done[from] <= done[stage]) return false;
    const int rank = static_cast<int>(stage);
    if (has_input) run_.message(static_cast<int>(from), rank, 50 + noise_(), true);
    if (stage == 0 && forward) run_.kernel_on(rank, "embedding", 30 + noise_());
    run_.kernel_on(rank, forward ? "forward" : "backward",
                   (forward ? 1 : 2) * stages_us_[stage] + noise_());
    if (stage == kStages - 1 && forward) run_.kernel_on(rank, "loss", 30 + noise_());
    ++(forward ? forwards_ : backwards_)[stage];
    return true;
  }

  SimulatedRun run_{static_cast<int>(kStages)};
  Noise noise_{1};
  std::vector<double> stages_us_;
  std::array<std::size_t, kStages> forwards_ = {};
  std::array<std::size_t, kStages> backwards_ = {};
};

TEST(Attribution, ASlowerStageIsAStragglerWhateverTheOrderOfItsKernels) {
  for (const std::size_t slow : {0U, 2U, 3U}) {
    std::vector<double> stages_us(4, 400);
    const path::Execution a = OneForwardOneBackward(stages_us).execution();
    stages_us[slow] = 480;
    const path::Execution b = OneForwardOneBackward(stages_us).execution();
    const Attribution attribution = attribution_between(a, b);
    EXPECT_GT(attribution.total_ms(), 0.2);
    expect_planted(attribution, {Cause::kStraggler});
  }
}

TEST(Attribution, SlowerStagesAreSlowerKernelsWhateverTheirOrder) {
  expect_planted(attribution_between(OneForwardOneBackward({400, 400, 400, 400}).execution(),
                                     OneForwardOneBackward({440, 440, 440, 440}).execution()),
                 {Cause::kKernels});
}

TEST(Attribution, SlowerMessagesOfAPipelineAreBandwidth) {
  const Pipeline b{.message_us = 200};
  expect_planted(attribution_of_pipelines({}, b), {Cause::kBandwidth});
}

TEST(Attribution, MessagesThatAreNotPairedMayWait) {
  Pipeline a{.names_peers = false};
  Pipeline b = a;
  b.stages_us[2] = 480;
  const Attribution attribution = attribution_of_pipelines(a, b);
  expect_sum(attribution);
  EXPECT_NEAR(part(attribution, Cause::kBandwidth), 0, 0.005);
  EXPECT_NEAR(part(attribution, Cause::kVolume), 0, 0.005);
  EXPECT_GT(part(attribution, Cause::kUnmatched) / attribution.total_ms(), 0.5);
  for (const Detail& detail : attribution.details) {
    if (detail.cause == Cause::kUnmatched) {
      EXPECT_EQ(detail.name.substr(0, 4), "recv");
    }
  }
}

TEST(Attribution, LatencyOfCollectives) {
  Program b;
  b.latency_us = 120;
  expect_planted(attribution_of({}, b), {Cause::kLatency});
}

TEST(Attribution, AStraggler) {
  Program b;
  b.slow_rank_us = 250;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kStraggler});
  const auto detail = std::find_if(attribution.details.begin(), attribution.details.end(),
                                   [](const Detail& d) { return d.cause == Cause::kStraggler; });
  ASSERT_NE(detail, attribution.details.end());
  EXPECT_EQ(detail->name, "rank 2, its kernels");
}

// Whoever came last to a collective may be a rank that nobody recorded.
TEST(Attribution, AWaitForARankWithoutATraceIsNoBandwidth) {
  Program a;
  a.recorded_ranks = 2;
  Program b = a;
  b.slow_rank_us = 250;
  const Attribution attribution = attribution_of(a, b);
  expect_planted(attribution, {Cause::kUnmatched});
  EXPECT_FALSE(attribution.has_one_size);
  EXPECT_GT(attribution.path_b_ms[static_cast<std::size_t>(Cause::kUnmatched)], 0);
  EXPECT_NEAR(attribution.path_b_ms[static_cast<std::size_t>(Cause::kBandwidth)], 0, 1e-9);
}

// The ranks that were recorded wait for each other all the same.
TEST(Attribution, AStragglerAmongOthersThatWereNotRecorded) {
  Program a;
  a.recorded_ranks = 3;
  Program b = a;
  b.slow_rank_us = 250;
  expect_planted(attribution_of(a, b), {Cause::kStraggler});
}

path::Execution execution_on_two_streams(double second_us) {
  SimulatedRun run(1);
  for (int step = 1; step <= 5; ++step) {
    run.begin_step(step);
    const Done first = run.kernel("gemm", {600});
    const Done second = run.kernel("gemm", {second_us}, SimulatedRun::kNetwork);
    run.kernel("loss", {50}, SimulatedRun::kCompute, {first, second});
  }
  return path::execution_of(run.ranks());
}

TEST(Attribution, AlikeStreamsOfARankAreNoStragglersOfEachOther) {
  const Attribution attribution =
      attribution_between(execution_on_two_streams(600), execution_on_two_streams(900));
  EXPECT_GT(part(attribution, Cause::kKernels), 0.25);
  EXPECT_DOUBLE_EQ(part(attribution, Cause::kStraggler), 0);
}

TEST(Attribution, AStragglerThatWaitsForItsHost) {
  Program b;
  b.slow_host_us = 500;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kStraggler});
  const auto detail = std::find_if(attribution.details.begin(), attribution.details.end(),
                                   [](const Detail& d) { return d.cause == Cause::kStraggler; });
  ASSERT_NE(detail, attribution.details.end());
  EXPECT_EQ(detail->name, "rank 1, its host");
  EXPECT_NE(attribution_in_words(attribution).find(" ms (rank 1, its host)"), std::string::npos)
      << attribution_in_words(attribution);
}

TEST(Attribution, ARankThatBeginsLaterIsAStraggler) {
  Program b;
  b.late_host_us = 2000;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kStraggler});
  for (const Detail& detail : attribution.details) {
    EXPECT_NE(detail.cause, Cause::kHost) << detail.name << " " << detail.change_ms();
  }
}

TEST(Attribution, HostsThatLaunchTooLate) {
  Program b;
  b.host_us = 400;
  expect_planted(attribution_of({}, b), {Cause::kHost});
}

TEST(Attribution, TwoCausesAtOnce) {
  Program b;
  b.optimizer_us = 300;
  b.reduce_us = 500;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kKernels, Cause::kBandwidth});
  EXPECT_NEAR(part(attribution, Cause::kKernels) / attribution.total_ms(), 150.0 / 350, 0.05);
}

TEST(Attribution, TwoCausesInOppositeDirections) {
  Program b;
  b.reduce_us = 150;
  b.slow_rank_us = 400;
  const Attribution attribution = attribution_of({}, b);
  expect_sum(attribution);
  EXPECT_NEAR(part(attribution, Cause::kBandwidth), -0.150 * 4 / 5, 0.010);
  EXPECT_NEAR(part(attribution, Cause::kStraggler), 0.400 * 4 / 5, 0.020);
}

TEST(Attribution, TheSameTheOtherWayRoundIsTheOppositeOfIt) {
  Program b;
  b.optimizer_us = 300;
  b.reduce_us = 500;
  b.slow_rank_us = 100;
  const Attribution forward = attribution_of({}, b);
  const Attribution back = attribution_of(b, {});
  for (const Cause cause : kAllCauses)
    EXPECT_NEAR(part(forward, cause), -part(back, cause), 0.002);
}

TEST(Attribution, NothingChangedIsNothing) {
  const Attribution attribution = attribution_of({}, {});
  for (const Cause cause : kAllCauses)
    EXPECT_EQ(part(attribution, cause), 0);
}

TEST(Attribution, RunsOfEitherSideHaveTheSameWeight) {
  Program slow;
  slow.reduce_us = 600;
  const path::Execution a = execution_of({});
  const path::Execution b1 = execution_of(slow);
  const path::Execution b2 = execution_of({});
  const path::Execution* const side_a[] = {&a, &a, &a};
  const path::Execution* const side_b[] = {&b1, &b2};
  const Attribution attribution = attribute(side_a, side_b).value();
  expect_planted(attribution, {Cause::kBandwidth});
  EXPECT_NEAR(attribution.total_ms(), 0.3 * 4 / 5 / 2, 0.01);
}

TEST(Attribution, OtherRanksCannotBeSetSideBySide) {
  Program more;
  more.ranks = 5;
  const path::Execution a = execution_of({});
  const path::Execution b = execution_of(more);
  const path::Execution* const side_a[] = {&a};
  const path::Execution* const side_b[] = {&b};
  const auto attribution = attribute(side_a, side_b);
  ASSERT_FALSE(attribution.ok());
  EXPECT_EQ(attribution.error().message, "they have different ranks");
}

// Every other step counts, as the one with the jump is not steady.
TEST(Attribution, RunsWithAClockThatWasSetAheadCannotBeSetSideBySide) {
  Program jumped;
  jumped.jump_us = 3.6e9;
  jumped.reduce_us = 600;
  const path::Execution a = execution_of({});
  const path::Execution b = execution_of(jumped);
  const path::Execution* const side_a[] = {&a};
  const path::Execution* const side_b[] = {&b};
  const auto choose = [](const path::Execution& execution) {
    std::vector<bool> counts(execution.steps.size(), true);
    counts[1] = false;
    return counts;
  };
  for (const bool swapped : {false, true}) {
    const auto attribution = swapped ? attribute(side_b, side_a, std::nullopt, choose)
                                     : attribute(side_a, side_b, std::nullopt, choose);
    ASSERT_FALSE(attribution.ok()) << attribution_in_words(attribution.value());
    EXPECT_EQ(attribution.error().message,
              "a cause would take longer than their steps, as after a clock was set ahead");
  }
}

TEST(Attribution, FurtherStepsAreTold) {
  Program longer;
  longer.steps = 7;
  const Attribution attribution = attribution_of({}, longer);
  expect_sum(attribution);
  ASSERT_EQ(attribution.notes.size(), 1U);
}

// Sets a usual run beside `b`, of both of which the second step does not count.
Attribution attribution_without_second_step(const Program& b) {
  const path::Execution execution_a = execution_of({});
  const path::Execution execution_b = execution_of(b);
  const path::Execution* const side_a[] = {&execution_a};
  const path::Execution* const side_b[] = {&execution_b};
  const auto all_but_second = [](const path::Execution& execution) {
    std::vector<bool> counts(execution.steps.size(), true);
    counts[1] = false;
    return counts;
  };
  return attribute(side_a, side_b, std::nullopt, all_but_second).value();
}

// The second step of b is odd; the others are slower for another reason.
TEST(Attribution, StepsThatDoNotCountExplainNothing) {
  Program b;
  b.reduce_us = 600;
  b.odd_step_host_us = 5000;
  const Attribution attribution = attribution_without_second_step(b);
  expect_planted(attribution, {Cause::kBandwidth});
  EXPECT_NEAR(attribution.total_ms(), 0.3 * 3 / 4, 0.01);
  for (const Detail& detail : attribution.details)
    EXPECT_TRUE(detail.cause == Cause::kBandwidth || std::fabs(detail.change_ms()) < 0.05)
        << detail.name << " " << detail.change_ms();
  const Attribution with = attribution_of({}, b);
  EXPECT_LT(part(with, Cause::kBandwidth) / with.total_ms(), 0.5);
}

// The first step of a and the last ones of b are odd, so that the counted steps lie at different
// places of their runs.
TEST(Attribution, CountedStepsMeetWhereverTheyLie) {
  Program b;
  b.reduce_us = 600;
  const path::Execution execution_a = execution_of({});
  const path::Execution execution_b = execution_of(b);
  const path::Execution* const side_a[] = {&execution_a};
  const path::Execution* const side_b[] = {&execution_b};
  const auto odd = [&](const path::Execution& execution) {
    std::vector<bool> counts(execution.steps.size(), false);
    const std::size_t first = &execution == &execution_a ? 2 : 0;
    counts[first] = counts[first + 1] = true;
    return counts;
  };
  const Attribution attribution = attribute(side_a, side_b, std::nullopt, odd).value();
  expect_planted(attribution, {Cause::kBandwidth});
  EXPECT_NEAR(attribution.total_ms(), 0.3, 0.01);
}

// Without its wait for the next step, which is longer in b, the last step would be too short.
TEST(Attribution, TheLastStepIsAPeriodToo) {
  Program b;
  b.host_us = 700;
  const Attribution attribution = attribution_of({}, b);
  expect_planted(attribution, {Cause::kHost});
  EXPECT_NEAR(attribution.total_ms(), 0.6, 0.03);
}

TEST(AttributionTable, NothingIsToldAsNothing) {
  EXPECT_EQ(attribution_in_words(attribution_of({}, {})),
            "A step takes as long, and so do its parts.");
}

constexpr std::size_t kOtherAt = static_cast<std::size_t>(Cause::kOther);
constexpr std::size_t kStragglerAt = static_cast<std::size_t>(Cause::kStraggler);
constexpr std::size_t kLatencyAt = static_cast<std::size_t>(Cause::kLatency);

// The replays leave such rests.
Attribution with_rounding_noise() {
  Attribution attribution;
  attribution.a_ms = 10;
  attribution.change_ms[kStragglerAt] = 1.19;
  attribution.change_ms[kLatencyAt] = -0.00014;
  attribution.change_ms[kOtherAt] = 0.0002;
  attribution.b_ms = 10 + 1.19 + 0.00006;
  return attribution;
}

TEST(AttributionTable, PartsBelowTheResolutionAreOne) {
  const Attribution attribution = with_rounding_noise();
  const model::Table table = attribution_table(attribution, {"old", "new"});
  std::vector<std::string> told;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string name = model::text(table.at(row, 0));
    const std::string kind = model::text(table.at(row, 1));
    if (name == kCauseNames[kLatencyAt] || name == kCauseNames[kOtherAt]) {
      EXPECT_EQ(kind, "small part");
      EXPECT_EQ(table.at(row, 4), model::Cell());
    }
    if (kind != "part" || model::number(table.at(row, 4)) == 0) continue;
    told.push_back(name);
    if (name == "parts below 0.001 ms each") {
      EXPECT_NEAR(model::number(table.at(row, 4)), 6e-5, 1e-12);
    }
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"waiting for a straggler", "parts below 0.001 ms each"}));
}

TEST(AttributionTable, WordsHaveNoDigitsThatTellNothing) {
  EXPECT_EQ(attribution_in_words(with_rounding_noise()),
            "Of +1.19 ms a step: waiting for a straggler +1.19 ms.");
}

// One size does not tell latency from bandwidth.
TEST(AttributionTable, AChangeOfMessagesOfOneSizeIsLatencyOrBandwidth) {
  EXPECT_FALSE(attribution_of({}, {}).has_one_size);
  const Attribution attribution = attribution_of_pipelines({}, {.message_us = 200});
  EXPECT_TRUE(attribution.has_one_size);
  const std::string words = attribution_in_words(attribution);
  EXPECT_NE(words.find("communication: latency or bandwidth +"), std::string::npos) << words;
}

TEST(AttributionTable, OtherMayBeAHostWhoseLaunchesAreNotKnown) {
  Attribution attribution;
  attribution.a_ms = 10;
  attribution.change_ms[kOtherAt] = 0.9;
  attribution.b_ms = 10.9;
  attribution.ranks_without_launches = {2};
  EXPECT_EQ(attribution_in_words(attribution),
            "Of +0.9 ms a step: other +0.9 ms. No launch records tell how long rank 2 waited for "
            "its host: 'other' may hold that.");
}

// A small change has digits of its own, but no clock tells three nanoseconds.
TEST(AttributionTable, OtherPartsThatRoundToNothingAreNotTold) {
  Attribution attribution;
  attribution.a_ms = 10;
  attribution.change_ms[kStragglerAt] = 0.012;
  attribution.change_ms[kLatencyAt] = 0.000003;
  attribution.b_ms = 10 + 0.012003;
  attribution.resolution_ms = 0.001;
  EXPECT_EQ(attribution_in_words(attribution),
            "Of +0.012 ms a step: waiting for a straggler +0.012 ms.");
  attribution.change_ms[kLatencyAt] = 0.0007;
  EXPECT_EQ(attribution_in_words(attribution),
            "Of +0.012 ms a step: waiting for a straggler +0.012 ms, others +0.0007 ms (each below "
            "0.001 ms).");
}

TEST(Resolution, IsTheSmallestOfTheLimitsButNoLessThanTheClock) {
  Attribution attribution;
  attribution.a_ms = 40;
  attribution.b_ms = 48;
  attribution.change_ms[kStragglerAt] = 8;
  // A hundredth of the change is 0.08 ms, a thousandth of a step 0.048.
  EXPECT_DOUBLE_EQ(resolution_ms(attribution, {.a_ms = {40}, .b_ms = {48}}), 0.05);
  EXPECT_DOUBLE_EQ(resolution_ms(attribution, {.a_ms = {39.99, 40.01}, .b_ms = {48, 48}}), 0.01);
  EXPECT_DOUBLE_EQ(resolution_ms(attribution, {.a_ms = {40, 40}, .b_ms = {48, 48}}), 0.001);
}

TEST(Resolution, OfPartsThatCancelTheLargestCounts) {
  Attribution attribution;
  attribution.a_ms = attribution.b_ms = 1000;
  attribution.change_ms[kStragglerAt] = 5;
  attribution.change_ms[kLatencyAt] = -5;
  EXPECT_DOUBLE_EQ(resolution_ms(attribution, {.a_ms = {1000}, .b_ms = {1000}}), 0.05);
}

TEST(Resolution, ATellingPartMayConsistOfSmallKernels) {
  Attribution attribution = with_rounding_noise();
  attribution.resolution_ms = 0.02;
  const auto least = least_details_ms(attribution);
  EXPECT_NEAR(least[kStragglerAt], 0.0119, 1e-12);
  EXPECT_EQ(least[kLatencyAt], 0.02);
}

TEST(Resolution, ValuesHaveTheDigitsOfTheLargest) {
  EXPECT_DOUBLE_EQ(rounded_beside(0.0023649, 8.93), 0.002);
  EXPECT_DOUBLE_EQ(rounded_beside(-0.88069, 8.93), -0.88069);
  EXPECT_DOUBLE_EQ(rounded_beside(0.00014, 1.19), 0);
  EXPECT_DOUBLE_EQ(rounded_beside(0.0996, 8.93), 0.1);
  EXPECT_DOUBLE_EQ(rounded_up(0.0301), 0.04);
  EXPECT_DOUBLE_EQ(rounded_up(0.03), 0.03);
}

TEST(AttributionTable, EvidenceNamesRowsThatExist) {
  Attribution attribution;
  const auto detail = [&](Cause cause, const char* name, bool is_message) {
    attribution.details.push_back({.cause = cause,
                                   .name = name,
                                   .a_ms = 1,
                                   .b_ms = 2,
                                   .words = "",
                                   .is_message = is_message});
  };
  detail(Cause::kVolume, "allreduce, Float, 8", true);
  detail(Cause::kBandwidth, "all_to_all, Float, 8", true);
  detail(Cause::kBandwidth, "all_to_allv, Float, 8", true);
  detail(Cause::kBandwidth, "broadcast, Float, 8", true);
  detail(Cause::kUnmatched, "allreduce, Float", true);
  detail(Cause::kUnmatched, "ncclDevKernel_Generic_1", false);
  const model::Table table = attribution_table(attribution, {"old", "new"});
  std::vector<std::string> evidence;
  for (std::size_t row = 0; row < table.row_count(); ++row)
    if (model::text(table.at(row, 1)) == "detail")
      evidence.push_back(model::text(table.at(row, 7)));
  EXPECT_EQ(
      evidence,
      (std::vector<std::string>{
          "NCCL_ImplSync_Cmp: allreduce, Float, 8", "NCCL_ImplSync_Cmp: all_to_all, Float, 8",
          "NCCL_All2Allv_Cmp: all_to_allv, Float", "NCCL_Long_Cmp: broadcast, Float, 8",
          "NCCL_Long_Cmp: allreduce, Float", "kernel_summary of each rank's report: this kernel"}));
}

TEST(AttributionTable, PartsAddUpToItsTotal) {
  Program b;
  b.optimizer_us = 300;
  b.slow_rank_us = 100;
  const model::Table table = attribution_table(attribution_of({}, b), {"old", "new"});
  double sum = 0;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string kind = model::text(table.at(row, 1));
    if (kind == "part") sum += model::number(table.at(row, 4));
    if (kind != "total") continue;
    EXPECT_NEAR(sum, model::number(table.at(row, 4)), 1e-9);
    EXPECT_EQ(row + 1, table.row_count());
  }
  EXPECT_EQ(table.columns[2].name, "old (ms)");
}

double host_details_ms(const Attribution& attribution) {
  double sum = 0;
  for (const Detail& detail : attribution.details)
    sum += detail.cause == Cause::kHost ? detail.change_ms() : 0;
  return sum;
}

// The wait lies at the end of the step before the kernel that waits, and of the last step, too.
TEST(Attribution, DetailsOfTheHostAddUpToItsPart) {
  Program b;
  b.host_us = 700;
  const Attribution attribution = attribution_of({}, b);
  EXPECT_NEAR(part(attribution, Cause::kHost), 0.6, 0.03);
  EXPECT_NEAR(host_details_ms(attribution), part(attribution, Cause::kHost), 0.02);
}

// All ranks wait before the third step, at the end of the second one, which does not count.
TEST(Attribution, AWaitAtTheEndOfAStepThatDoesNotCountIsNoDetail) {
  Program b;
  b.odd_end_host_us = 2000;
  const Attribution without = attribution_without_second_step(b);
  EXPECT_NEAR(part(without, Cause::kHost), 0, 0.01);
  EXPECT_NEAR(host_details_ms(without), 0, 0.01);
  const Attribution with = attribution_of({}, b);
  EXPECT_NEAR(part(with, Cause::kHost), 1.9 / 5, 0.03);
  EXPECT_NEAR(host_details_ms(with), part(with, Cause::kHost), 0.02);
}

}  // namespace
}  // namespace assay::trace::attribution
