#include "trace/compare/joint_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace assay::trace {
namespace {

using Kind = JointNoise::Kind;

constexpr Criterion kTogether = {.confidence = 0.95};

// Settings with these values, a block after the other, in the order of the settings and, in every
// second block, the other way round.
std::vector<JointRuns> in_blocks(const std::vector<std::vector<double>>& values) {
  std::vector<JointRuns> settings(values.size());
  int position = 0;
  for (std::size_t block = 0; block < values.front().size(); ++block) {
    for (std::size_t place = 0; place < values.size(); ++place) {
      const std::size_t i = block % 2 == 0 ? place : values.size() - 1 - place;
      settings[i].push_back({static_cast<int>(block) + 1, ++position, values[i][block]});
    }
  }
  return settings;
}

TEST(JointNoise, ThreeSettingsShareTheirNoise) {
  const std::vector<JointRuns> settings =
      in_blocks({{100, 101, 99}, {102, 100, 101}, {95, 96, 97}});
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kPooled);
  // Every variance is 1, with 2 degrees of freedom each: 2.4469 sqrt(2 / 3) with 6.
  EXPECT_NEAR(joint.change(0, 2, kTogether).percent, 4, 1e-9);
  EXPECT_NEAR(joint.change(0, 2, kTogether).percent_high - 4, 2.4469 * std::sqrt(2.0 / 3), 1e-3);
  EXPECT_EQ(joint.change(0, 2, kTogether).verdict, Verdict::kBetter);
}

TEST(JointNoise, SettingsWhoseSpreadsDifferCountTheirOwn) {
  EXPECT_EQ(JointNoise(in_blocks({{100, 100.1, 99.9}, {100, 120, 82}, {100.1, 99.9, 100}})).kind(),
            Kind::kPair);
}

TEST(JointNoise, ANoisyBaselineCountsItsOwnSpread) {
  EXPECT_EQ(JointNoise(in_blocks({{100, 103, 97.2}, {100, 101, 99}, {101, 100, 102}})).kind(),
            Kind::kPair);
}

TEST(JointNoise, ATrendIsTakenOut) {
  // Each run takes 3 more than the one before, and the test 3 less than the baseline.
  const std::vector<JointRuns> settings =
      in_blocks({{100.1, 109, 111.9, 121}, {100, 102.9, 112.1, 115}});
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kTrend);
  EXPECT_NEAR(joint.trend_percent(), 100 * 3 / 110.5, 0.05);
  EXPECT_NEAR(joint.change(0, 1, kTogether).difference, -3, 0.1);
  EXPECT_EQ(joint.change(0, 1, kTogether).verdict, Verdict::kBetter);
}

// The pair of two tests says what the changes of both from the baseline say.
TEST(JointNoise, ChangesOfAnyTwoSettingsAgree) {
  for (const double drift : {0.0, 3.0}) {
    std::vector<JointRuns> settings =
        in_blocks({{100, 101, 99, 100}, {102, 100, 101, 101}, {95, 96, 97, 96}});
    for (JointRuns& runs : settings)
      for (JointRun& run : runs)
        run.value += drift * run.position;
    const JointNoise joint(settings);
    ASSERT_EQ(joint.kind(), drift == 0 ? Kind::kPooled : Kind::kTrend);
    EXPECT_NEAR(joint.change(1, 2, kTogether).difference,
                joint.change(0, 2, kTogether).difference - joint.change(0, 1, kTogether).difference,
                1e-9);
    EXPECT_NEAR(joint.mean(2) - joint.mean(1), joint.change(1, 2, kTogether).difference, 1e-9);
    EXPECT_NEAR(joint.change(1, 2, kTogether).difference, -5, 0.5);
    EXPECT_EQ(joint.change(1, 2, kTogether).verdict, Verdict::kBetter);
  }
}

TEST(JointNoise, BlocksThatDifferAreComparedWithin) {
  const std::vector<JointRuns> settings = in_blocks({{100, 200, 100.1, 200}, {98, 198, 98, 198.1}});
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_NEAR(joint.change(0, 1, kTogether).difference, -2, 0.01);
  EXPECT_EQ(joint.change(0, 1, kTogether).verdict, Verdict::kBetter);
}

TEST(JointNoise, ARunMadeLongAfterItsBlockIsNoPartOfIt) {
  std::vector<JointRuns> settings =
      in_blocks({{100, 200, 100.1, 200, 100}, {98, 198, 98, 198.1, 98}});
  settings[1][1] = {2, 99, 98};  // was made again when the machine was fast
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_EQ(joint.change(0, 1, kTogether).test_count, 4U);
  EXPECT_NEAR(joint.change(0, 1, kTogether).difference, -2, 0.1);
}

TEST(JointNoise, ALoneRunLeavesTheOthersTogether) {
  std::vector<JointRuns> settings =
      in_blocks({{100, 101, 99}, {90, 90, 90}, {102, 100, 101}, {95, 96, 97}});
  settings[1].resize(1);
  const JointNoise joint(settings);
  EXPECT_EQ(joint.kind(), Kind::kPooled);
  EXPECT_FALSE(joint.knows(1));
  EXPECT_TRUE(joint.knows(2));
  EXPECT_NEAR(joint.change(0, 3, kTogether).percent, 4, 1e-9);
}

TEST(JointNoise, RunsWithoutAKnownOrderHaveNoBlocks) {
  std::vector<JointRuns> settings = in_blocks({{100, 200, 100.1, 200}, {98, 198, 98, 198.1}});
  for (JointRuns& runs : settings)
    for (JointRun& run : runs)
      run.position = 0;
  EXPECT_EQ(JointNoise(settings).kind(), Kind::kPair);
}

TEST(JointNoise, ARunFarFromItsSettingIsNamed) {
  const std::vector<FarRun> far =
      far_runs(in_blocks({{100, 100.2, 99.9, 130}, {97, 97.1, 97, 96.9}}));
  ASSERT_EQ(far.size(), 1U);
  EXPECT_EQ(far[0].setting, 0U);
  EXPECT_EQ(far[0].block, 4);
  EXPECT_NEAR(far[0].percent, 29.9, 0.1);
}

TEST(JointNoise, NoiseAloneSeldomNamesAFarRun) {
  constexpr int kSweeps = 1000;
  for (const std::size_t settings : {2U, 6U, 20U}) {
    for (const std::size_t runs : {3U, 4U, 6U}) {
      std::mt19937_64 random(1);
      std::normal_distribution<double> normal(1000, 20);
      int named = 0;
      for (int sweep = 0; sweep < kSweeps; ++sweep) {
        std::vector<std::vector<double>> values(settings, std::vector<double>(runs));
        for (std::vector<double>& of_setting : values)
          for (double& value : of_setting)
            value = normal(random);
        if (!far_runs(in_blocks(values)).empty()) ++named;
      }
      EXPECT_LT(100.0 * named / kSweeps, 2.5) << settings << " settings, " << runs << " runs";
    }
  }
}

// The noise of the baseline, of the first test and of the others, as shares of a step.
struct Spreads {
  double baseline = 1;
  double first = 1;
  double others = 1;
};

// Holds what the order of the runs adds to a step.
struct OrderEffects {
  double drift = 0;   // a run
  double blocks = 0;  // the standard deviation of repeats
};

std::vector<JointRuns> noisy_sweep(std::size_t tests,
                                   std::size_t runs,
                                   Spreads spreads,
                                   OrderEffects order,
                                   std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> values(tests + 1);
  for (std::size_t i = 0; i <= tests; ++i)
    for (std::size_t run = 0; run < runs; ++run)
      values[i].push_back(1000 + normal(random) * (i == 0   ? spreads.baseline
                                                   : i == 1 ? spreads.first
                                                            : spreads.others));
  std::vector<JointRuns> settings = in_blocks(values);
  std::vector<double> of_block(runs + 1, 0);
  if (order.blocks > 0)
    for (double& block : of_block)
      block = order.blocks * normal(random);
  for (JointRuns& of_setting : settings)
    for (JointRun& run : of_setting)
      run.value += order.drift * run.position + of_block[static_cast<std::size_t>(run.block)];
  return settings;
}

// Returns how many percent of sweeps of equal settings call at least one different, with the
// intervals of the pair alone where noise is not joint.
double family_error(std::size_t tests, std::size_t runs, Spreads spreads, OrderEffects order = {}) {
  constexpr int kSweeps = 1000;
  const double confidence = 1 - 0.05 / static_cast<double>(tests);
  const Criterion criterion{.confidence = confidence, .tolerance_percent = 0};
  std::mt19937_64 random(1);
  int wrong = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const std::vector<JointRuns> settings = noisy_sweep(tests, runs, spreads, order, random);
    const JointNoise joint(settings);
    std::vector<Change> changes;
    for (std::size_t i = 1; i <= tests; ++i) {
      if (joint.knows(i)) {
        changes.push_back(joint.change(0, i, criterion));
        continue;
      }
      std::vector<double> baseline;
      std::vector<double> test;
      for (std::size_t run = 0; run < runs; ++run) {
        baseline.push_back(settings[0][run].value);
        test.push_back(settings[i][run].value);
      }
      changes.push_back(measure_change(baseline, test, model::Better::kLower, criterion));
    }
    const bool differs = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
      return change.low > 0 || change.high < 0;
    });
    if (differs) ++wrong;
  }
  return 100.0 * wrong / kSweeps;
}

class FamilyError : public ::testing::Test {
 protected:
  // Checks the error of all kinds of spreads, and notes it.
  void check(const std::string& name, std::size_t tests, std::size_t runs, OrderEffects order) {
    SCOPED_TRACE(name + ": " + std::to_string(tests) + " tests, " + std::to_string(runs) + " runs");
    const auto error = [&](const char* spread, Spreads spreads) {
      const double percent = family_error(tests, runs, spreads, order);
      RecordProperty(name + spread + std::to_string(tests) + "x" + std::to_string(runs),
                     std::to_string(percent));
      return percent;
    };
    EXPECT_LT(error("equal", {}), 6.5);
    EXPECT_LT(error("baseline", {.baseline = 3}), runs == 2 ? 9.5 : 8.5);
    EXPECT_LT(error("first", {.first = 3}), 8.5);
    EXPECT_LT(error("others", {.first = 3, .others = 3}), 8.5);
  }
};

TEST_F(FamilyError, IsSmall) {
  for (const std::size_t tests : {1U, 5U, 19U})
    for (const std::size_t runs : {2U, 3U, 6U})
      check("", tests, runs, {});
}

TEST_F(FamilyError, IsSmallBesideATrend) {
  for (const std::size_t tests : {2U, 9U})
    for (const std::size_t runs : {2U, 3U, 6U})
      check("trend_", tests, runs, {.drift = 1});
}

TEST_F(FamilyError, IsSmallBesideBlocks) {
  for (const std::size_t tests : {2U, 9U})
    for (const std::size_t runs : {2U, 3U, 6U})
      check("blocks_", tests, runs, {.blocks = 10});
}

}  // namespace
}  // namespace assay::trace
