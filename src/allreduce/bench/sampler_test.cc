#include "allreduce/bench/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "core/statistics.h"

namespace assay::allreduce {
namespace {

// Simulates the times that GPUs give: a time for each arm with noise, now and then a far longer
// one, and clocks that drift for all arms alike.
class Machine {
 public:
  struct Noise {
    double spread = 0.01;         // relative standard deviation
    double tail_part = 0.0;       // part of the samples that take 2 to 12 times as long
    double drift_per_call = 0.0;  // relative growth of all times
  };

  Machine(std::vector<double> times_us, Noise noise, std::uint64_t seed)
      : times_us_(std::move(times_us)), noise_(noise), random_(seed) {}

  core::Result<double> operator()(std::size_t arm) {
    std::normal_distribution<double> spread(1, noise_.spread);
    std::uniform_real_distribution<double> uniform(0, 1);
    const double drift = 1 + noise_.drift_per_call * static_cast<double>(order_.size());
    order_.push_back(arm);
    const double tail = uniform(random_) < noise_.tail_part ? 2 + 10 * uniform(random_) : 1;
    return times_us_[arm] * drift * tail * spread(random_);
  }

  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

 private:
  std::vector<double> times_us_;
  Noise noise_;
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
};

std::vector<ArmSamples> sampled(Machine& machine, std::size_t arms, std::uint64_t seed = 1) {
  SamplerOptions options;
  options.seed = seed;
  auto samples = sample_arms(arms, options, [&](std::size_t arm) { return machine(arm); });
  EXPECT_TRUE(samples.ok());
  return std::move(samples).value();
}

std::size_t fastest(const std::vector<ArmSamples>& arms) {
  const auto* const found = std::min_element(
      arms.data(), arms.data() + arms.size(),
      [](const ArmSamples& a, const ArmSamples& b) { return a.median_us < b.median_us; });
  return static_cast<std::size_t>(found - arms.data());
}

TEST(AllreduceSampler, ClearWinnersTakeFewSamples) {
  Machine machine({10, 5, 20, 40}, {}, 3);
  const auto arms = sampled(machine, 4);
  EXPECT_EQ(fastest(arms), 1U);
  for (const ArmSamples& arm : arms)
    EXPECT_EQ(arm.times_us.size(), 6U);
}

TEST(AllreduceSampler, OnlyContendersGoOn) {
  Machine machine({10.0, 10.5, 20}, {.spread = 0.05}, 5);
  const auto arms = sampled(machine, 3);
  EXPECT_EQ(fastest(arms), 0U);
  EXPECT_GT(arms[0].times_us.size(), 6U);
  EXPECT_EQ(arms[0].times_us.size(), arms[1].times_us.size());
  EXPECT_EQ(arms[2].times_us.size(), 6U);
}

// The two fastest arms are 6 % apart, while every twentieth sample is far too long and the clocks
// fall by a tenth.
TEST(AllreduceSampler, FindsTheWinnerThroughTailsAndCommonDrift) {
  int right = 0;
  std::size_t samples = 0;
  constexpr int kCells = 200;
  for (std::uint64_t seed = 0; seed < kCells; ++seed) {
    Machine machine({10.6, 10.0, 11.5},
                    {.spread = 0.01, .tail_part = 0.05, .drift_per_call = 0.002}, seed);
    right += fastest(sampled(machine, 3, seed)) == 1 ? 1 : 0;
    samples += machine.order().size();
  }
  EXPECT_GE(right, kCells * 99 / 100);
  EXPECT_LT(samples / kCells, 60U);  // out of at most 600
}

// The drift is larger than the lead, so the intervals of the medians overlap, but those of the
// pairs do not.
TEST(AllreduceSampler, PairsDecideUnderStrongDrift) {
  Machine machine({10.0, 10.6}, {.spread = 0.004, .drift_per_call = 0.01}, 11);
  const auto arms = sampled(machine, 2);
  EXPECT_EQ(fastest(arms), 0U);
  EXPECT_LT(arms[0].times_us.size(), 15U);
}

TEST(AllreduceSampler, StopsAtATie) {
  Machine machine({10.0, 10.05}, {.spread = 0.01}, 7);
  const auto arms = sampled(machine, 2);
  EXPECT_LT(arms[0].times_us.size(), 60U);
  EXPECT_NEAR(arms[0].median_us, arms[1].median_us, 0.2);
}

TEST(AllreduceSampler, GivesUpAtTheMostSamples) {
  Machine machine({10.0, 10.2}, {.spread = 0.5}, 9);
  const auto arms = sampled(machine, 2);
  EXPECT_EQ(arms[0].times_us.size(), 200U);
  EXPECT_EQ(arms[1].times_us.size(), 200U);
}

TEST(AllreduceSampler, TheSameSeedGivesTheSameOrder) {
  const auto order = [](std::uint64_t seed) {
    Machine machine({10, 10.3, 10.6, 11}, {.spread = 0.03}, 2);
    sampled(machine, 4, seed);
    return machine.order();
  };
  EXPECT_EQ(order(4), order(4));
  EXPECT_NE(order(4), order(5));
}

// An arm that always follows the same other arm would inherit what that one leaves in the caches.
TEST(AllreduceSampler, EveryArmComesFirstNowAndThen) {
  Machine machine({10, 10, 10}, {.spread = 0.5}, 2);
  sampled(machine, 3);
  std::vector<int> first(3);
  for (std::size_t round = 0; round < 100; ++round)
    ++first[machine.order()[3 * round]];
  for (const int count : first)
    EXPECT_GT(count, 15);
}

// The interval of a median must hold the true median in 95 % of the experiments.
TEST(AllreduceSampler, TheIntervalCoversTheMedian) {
  int covered = 0;
  constexpr int kTrials = 2000;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    Machine machine({10}, {.spread = 0.1}, seed);
    SamplerOptions options;
    options.min_samples = 20;
    const auto arms = sample_arms(1, options, [&](std::size_t arm) { return machine(arm); });
    const ArmSamples& arm = arms.value()[0];
    ASSERT_EQ(arm.times_us.size(), 20U);
    covered += arm.low_us <= 10 && 10 <= arm.high_us ? 1 : 0;
  }
  // With 20 values, the interval from the 6th to the 15th holds the median in 95.86 % of cases; the
  // tolerance is three standard deviations of the count.
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.9586, 0.0134);
}

// Of five the range holds the median in 93.75 % of all cases, of six in 96.88 %.
TEST(AllreduceSampler, ByDefaultAnIntervalHoldsAtLeast95Percent) {
  std::vector<double> times = {3, 1, 5, 2, 4, 6};
  std::size_t next = 0;
  const auto arms =
      sample_arms(1, {}, [&](std::size_t) -> core::Result<double> { return times.at(next++); });
  EXPECT_EQ(arms.value()[0].median_us, 3.5);
  EXPECT_EQ(arms.value()[0].low_us, 1);
  EXPECT_EQ(arms.value()[0].high_us, 6);
  EXPECT_EQ(arms.value()[0].times_us, times);
  EXPECT_GE(core::median_confidence(times.size(), core::kMedianTail), 0.95);
}

TEST(AllreduceSampler, FailsWithTheFirstFailingSample) {
  int calls = 0;
  const auto arms = sample_arms(2, {}, [&](std::size_t) -> core::Result<double> {
    if (++calls == 4) return core::Error{"device lost"};
    return 1.0;
  });
  ASSERT_FALSE(arms.ok());
  EXPECT_EQ(arms.error().message, "device lost");
  EXPECT_EQ(calls, 4);
}

TEST(AllreduceSampler, NoArmsNoSamples) {
  const auto arms = sample_arms(0, {}, [](std::size_t) -> core::Result<double> { return 1.0; });
  ASSERT_TRUE(arms.ok());
  EXPECT_TRUE(arms.value().empty());
}

}  // namespace
}  // namespace assay::allreduce
