#include "trace/compare/joint_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
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

// Three runs whose logarithms have a standard deviation of 0.01, in this order.
std::vector<double> around(double mean, const std::array<int, 3>& order) {
  std::vector<double> values;
  for (const int deviations : order)
    values.push_back(mean * std::exp(0.01 * deviations));
  return values;
}

TEST(JointNoise, ThreeSettingsShareTheirNoise) {
  const std::vector<JointRuns> settings =
      in_blocks({around(100, {0, 1, -1}), around(101, {1, -1, 0}), around(96, {-1, 0, 1})});
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kPooled);
  // Every variance has 2 degrees of freedom: 2.4469 sqrt(2 / 3) deviations with 6.
  const double half = 0.01 * 2.4469 * std::sqrt(2.0 / 3);
  EXPECT_NEAR(joint.change(0, 2, kTogether).percent, 4, 1e-9);
  EXPECT_NEAR(joint.change(0, 2, kTogether).percent_low, 100 - 96 * std::exp(half), 1e-3);
  EXPECT_NEAR(joint.change(0, 2, kTogether).percent_high, 100 - 96 * std::exp(-half), 1e-3);
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

// Its own pair calls 105 and 109 beside 100 +- 1 Unclear.
TEST(JointNoise, TwoNoisyRunsBesideManyAreNotCertain) {
  std::vector<JointRuns> settings = in_blocks({{100, 101, 99, 100.6, 99.4},
                                               {105, 109, 0, 0, 0},
                                               {100.2, 101.1, 99.3, 100.9, 99},
                                               {99.8, 100.9, 99.1, 101, 99.2},
                                               {100, 99.2, 100.8, 99.1, 100.9}});
  settings[1].resize(2);
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kPooled);
  const Criterion each{.confidence = 1 - 0.05 / 4};
  EXPECT_EQ(joint.change(0, 1, each).verdict, Verdict::kUnclear);
}

TEST(JointNoise, ATrendIsTakenOut) {
  // Each run takes 3 % more than the one before, and the test 3 % less than the baseline.
  const std::vector<JointRuns> settings =
      in_blocks({{100.1, 109.3, 112.4, 123}, {100, 102.8, 112.5, 115.8}});
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kTrend);
  EXPECT_NEAR(joint.trend_percent(), 3, 0.05);
  EXPECT_NEAR(joint.change(0, 1, kTogether).percent, 3, 0.1);
  EXPECT_EQ(joint.change(0, 1, kTogether).verdict, Verdict::kBetter);
}

TEST(JointNoise, TrendsOfOtherSizesAreOtherEffects) {
  const auto with_drift = [](double drift) {
    std::vector<JointRuns> settings = in_blocks({{100, 101, 99, 100}, {102, 100, 101, 101}});
    for (JointRuns& runs : settings)
      for (JointRun& run : runs)
        run.value += drift * run.position;
    return JointNoise(settings);
  };
  ASSERT_EQ(with_drift(3).kind(), Kind::kTrend);
  ASSERT_EQ(with_drift(5).kind(), Kind::kTrend);
  EXPECT_TRUE(has_the_effect_of(with_drift(3), with_drift(3)));
  EXPECT_FALSE(has_the_effect_of(with_drift(3), with_drift(5)));
  EXPECT_FALSE(has_the_effect_of(with_drift(3), with_drift(0)));
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
  const std::vector<JointRuns> settings = in_blocks({{100, 200, 100.1, 200}, {98, 196, 98, 196.1}});
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_NEAR(joint.change(0, 1, kTogether).percent, 2, 0.02);
  EXPECT_EQ(joint.change(0, 1, kTogether).verdict, Verdict::kBetter);
}

// Repeats that were slowed by a share slow longer settings by more.
TEST(JointNoise, LongSettingsInSlowBlocksLeaveTheOthersTheirNoise) {
  std::vector<JointRuns> settings = in_blocks({{34.93, 41.85, 36.59},
                                               {35.71, 43.06, 37.56},
                                               {35.03, 41.88, 36.67},
                                               {41.13, 49.31, 43.19},
                                               {43.90, 52.60, 46.11},
                                               {67.66, 81.12, 71.04}});
  const Criterion each{.confidence = 0.99};
  const JointNoise all(settings);
  ASSERT_EQ(all.kind(), Kind::kBlocks);
  EXPECT_EQ(all.change(0, 1, each).verdict, Verdict::kWorse);
  settings[1].resize(1);
  const JointNoise others(settings);
  ASSERT_EQ(others.kind(), Kind::kBlocks);
  EXPECT_EQ(others.change(0, 2, each).verdict, Verdict::kSame);
  EXPECT_NEAR(others.change(0, 5, each).ratio, 1.94, 0.01);
}

// It has no logarithm.
TEST(JointNoise, ASettingWithATimeOfZeroIsLeftOut) {
  const JointNoise joint(in_blocks({{100, 101, 99}, {0, 0, 1}, {102, 100, 101}, {95, 96, 97}}));
  EXPECT_EQ(joint.kind(), Kind::kPooled);
  EXPECT_FALSE(joint.knows(1));
  EXPECT_TRUE(joint.knows(0, 3));
  EXPECT_EQ(JointNoise(in_blocks({{0, 101, 99}, {100, 100, 100}, {102, 100, 101}})).kind(),
            Kind::kPair);
}

TEST(JointNoise, ARunMadeLongAfterItsBlockIsNoPartOfIt) {
  std::vector<JointRuns> settings =
      in_blocks({{100, 200, 100.1, 200, 100}, {98, 196, 98, 196.1, 98}});
  settings[1][1] = {2, 99, 98};  // was made again when the machine was fast
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_EQ(joint.change(0, 1, kTogether).test_count, 4U);
  EXPECT_NEAR(joint.change(0, 1, kTogether).percent, 2, 0.1);
}

// The last block of a session, of which a run was made again in the next one.
TEST(JointNoise, ARunOfALaterSessionIsNoPartOfItsBlock) {
  const std::vector<double> first = {100, 101, 100, 200.1, 199, 200};
  std::vector<JointRuns> settings =
      in_blocks({first, {98, 99.1, 196, 196.1, 195, 196}, {100, 101, 100.1, 200, 199.1, 200}});
  int position = 0;
  for (int block = 1; block <= 6; ++block)
    for (const std::size_t i : {0U, 2U, 1U}) {
      JointRun& run = settings[i][static_cast<std::size_t>(block) - 1];
      run.position = ++position;
      run.session = block > 3 || (block == 3 && i == 1) ? 2 : 1;
    }
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_EQ(joint.change(0, 1, kTogether).test_count, 5U);
  EXPECT_NEAR(joint.change(0, 1, kTogether).percent, 2, 0.1);
  EXPECT_GT(joint.change(0, 1, kTogether).percent_low, 1.8);
}

// Two settings failed in the first session and were made again in the second, which is slower: only
// each other tells their blocks, and the others keep theirs.
TEST(JointNoise, SettingsOfALaterSessionLeaveTheOthersTheirBlocks) {
  std::vector<JointRuns> settings = in_blocks({{100, 120, 110, 140.2},
                                               {103, 123.1, 113, 143},
                                               {130, 150.1, 140, 170},
                                               {130.1, 150, 140.1, 170.1}});
  int position = 100;
  for (std::size_t i = 2; i < settings.size(); ++i) {
    for (JointRun& run : settings[i]) {
      run.position = ++position;
      run.session = 2;
    }
  }
  for (std::size_t i = 0; i < 2; ++i)
    for (JointRun& run : settings[i])
      run.session = 1;
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_EQ(joint.change(0, 1, kTogether).verdict, Verdict::kWorse);
  EXPECT_TRUE(joint.are_apart(0, 2));
}

TEST(JointNoise, EqualValuesHaveNoEffectOfTheirOrder) {
  EXPECT_EQ(
      JointNoise(in_blocks({{100.1, 100.1, 100.1}, {100.1, 100.1, 100.1}, {100.1, 100.1, 100.1}}))
          .kind(),
      Kind::kPooled);
}

// Its variance is 1.3 times that of the others.
TEST(JointNoise, ThreeRunsBesideATrendAreNotTwo) {
  std::vector<JointRuns> settings =
      in_blocks({{100, 101.14, 98.86}, {102, 100, 101}, {95, 96, 97}, {90, 92, 91}});
  for (JointRuns& runs : settings)
    for (JointRun& run : runs)
      run.value += 3 * run.position;
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kTrend);
  const Change first = joint.change(0, 1, kTogether);
  const Change last = joint.change(2, 3, kTogether);
  EXPECT_NEAR(first.baseline_deviation / first.baseline, last.baseline_deviation / last.baseline,
              1e-9);
}

// Settings in eight blocks that differ. The second one takes 1 % less than the others.
std::vector<JointRuns> eight_blocks(std::size_t settings) {
  const std::vector<double> blocks = {100, 130, 80, 145, 110, 65, 125, 105};
  std::vector<std::vector<double>> values(settings);
  for (std::size_t i = 0; i < settings; ++i)
    for (std::size_t block = 0; block < blocks.size(); ++block)
      values[i].push_back(blocks[block] * (1 - (i == 1 ? 0.01 : 0) +
                                           0.001 * static_cast<double>((block * (i + 3)) % 5)));
  return in_blocks(values);
}

TEST(JointNoise, ASettingThatOftenFailsLeavesTheOthersTheirBlocks) {
  for (const std::size_t count : {3U, 4U}) {
    std::vector<JointRuns> settings = eight_blocks(count);
    settings.back().resize(2);
    const JointNoise joint(settings);
    ASSERT_EQ(joint.kind(), Kind::kBlocks);
    ASSERT_TRUE(joint.knows(0, 1));
    EXPECT_EQ(joint.change(0, 1, kTogether).test_count, 8U);
    EXPECT_NEAR(joint.change(0, 1, kTogether).difference, -1, 0.2);
    EXPECT_LT(joint.change(0, 1, kTogether).high, -0.5);
    EXPECT_EQ(joint.change(0, count - 1, kTogether).test_count, 2U);
    // It had other blocks, and takes as long.
    EXPECT_NEAR(joint.mean(count - 1), joint.mean(0), 0.3);
  }
}

// Every setting lacks another block.
TEST(JointNoise, BlocksNeedNotBeComplete) {
  std::vector<JointRuns> settings = eight_blocks(4);
  for (std::size_t i = 0; i < settings.size(); ++i)
    settings[i].erase(settings[i].begin() + static_cast<std::ptrdiff_t>(2 * i));
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_EQ(joint.change(0, 1, kTogether).test_count, 6U);
  EXPECT_NEAR(joint.change(0, 1, kTogether).difference, -1, 0.2);
}

TEST(JointNoise, SettingsOfOtherBlocksAreNotComparedWithin) {
  std::vector<JointRuns> settings = eight_blocks(4);
  settings[3].erase(settings[3].begin() + 4, settings[3].end());
  settings[0].erase(settings[0].begin(), settings[0].begin() + 4);
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_TRUE(joint.knows(1, 3));
  // The others link the two.
  ASSERT_TRUE(joint.knows(0, 3));
  const Change change = joint.change(0, 3, kTogether);
  EXPECT_NEAR(change.difference, joint.mean(3) - joint.mean(0), 1e-9);
  EXPECT_NEAR(change.difference, 0, 0.3);
  EXPECT_GT(change.high - change.low,
            joint.change(1, 3, kTogether).high - joint.change(1, 3, kTogether).low);
}

TEST(JointNoise, SettingsOfOtherBlocksWithNoiseOfTheirOwnAreApart) {
  std::vector<JointRuns> settings = eight_blocks(4);
  for (std::size_t block = 0; block < 8; ++block)
    settings[2][block].value += block % 3 == 0 ? 8 : -4;
  settings[3].erase(settings[3].begin() + 4, settings[3].end());
  settings[0].erase(settings[0].begin(), settings[0].begin() + 4);
  const JointNoise joint(settings);
  ASSERT_EQ(joint.kind(), Kind::kBlocks);
  EXPECT_FALSE(joint.knows(0, 3));
  EXPECT_TRUE(joint.are_apart(0, 3));
  EXPECT_FALSE(joint.are_apart(0, 1));
  EXPECT_EQ(joint.change_apart(0, 3).verdict, Verdict::kUnknown);
  EXPECT_TRUE(std::isnan(joint.change_apart(0, 3).low));
}

TEST(JointNoise, ALoneRunLeavesTheOthersTogether) {
  std::vector<JointRuns> settings = in_blocks(
      {around(100, {0, 1, -1}), {90, 90, 90}, around(101, {1, -1, 0}), around(96, {-1, 0, 1})});
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

// What the baseline, the first test and the others have.
template <class T>
struct OfSettings {
  T baseline = 1;
  T first = 1;
  T others = 1;

  [[nodiscard]] T of(std::size_t setting) const {
    return setting == 0 ? baseline : setting == 1 ? first : others;
  }
};

using Spreads = OfSettings<double>;  // of a step, in thousandths
using Runs = OfSettings<std::size_t>;

// Holds what the order of the runs adds to a step, in thousandths.
struct OrderEffects {
  double drift = 0;   // a run
  double blocks = 0;  // the standard deviation of repeats
};

struct NoisySweep {
  std::size_t tests = 1;
  Runs runs = {};
  Spreads spreads = {};
  OrderEffects order = {};
  double last_length = 1;  // of a step of the last test, in steps of the others
};

// Makes the runs of each block in an order of its own, as a sweep does.
void shuffle_blocks(std::vector<JointRuns>& settings, std::mt19937_64& random) {
  std::vector<int> order(settings.size());
  std::iota(order.begin(), order.end(), 1);
  for (std::size_t block = 0; block < settings.front().size(); ++block) {
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i = 0; i < settings.size(); ++i)
      settings[i][block].position = static_cast<int>(block * settings.size()) + order[i];
  }
}

std::vector<JointRuns> made(const NoisySweep& sweep, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const Runs& runs = sweep.runs;
  const std::size_t blocks = std::max({runs.baseline, runs.first, runs.others});
  std::vector<std::vector<double>> values(sweep.tests + 1);
  for (std::size_t i = 0; i <= sweep.tests; ++i)
    for (std::size_t run = 0; run < blocks; ++run)
      values[i].push_back((1000 + normal(random) * sweep.spreads.of(i)) *
                          (i == sweep.tests ? sweep.last_length : 1));
  std::vector<JointRuns> settings = in_blocks(values);
  shuffle_blocks(settings, random);
  std::vector<double> of_block(blocks + 1, 0);
  if (sweep.order.blocks > 0)
    for (double& block : of_block)
      block = sweep.order.blocks * normal(random);
  for (std::size_t i = 0; i <= sweep.tests; ++i) {
    settings[i].resize(runs.of(i));
    for (JointRun& run : settings[i])
      run.value *=
          1 +
          (sweep.order.drift * run.position + of_block[static_cast<std::size_t>(run.block)]) / 1000;
  }
  return settings;
}

struct FamilyFigures {
  double error = 0;  // how many percent of sweeps of equal settings call at least one different
  double width = 0;  // the mean of their intervals, in percent
};

// Of the settings as long as the baseline, with the intervals of the pair alone where noise is not
// joint.
FamilyFigures family_figures(const NoisySweep& sweep) {
  constexpr int kSweeps = 1000;
  const double confidence = 1 - 0.05 / static_cast<double>(sweep.tests);
  const Criterion criterion{.confidence = confidence, .tolerance_percent = 0};
  const std::size_t equal = sweep.last_length == 1 ? sweep.tests : sweep.tests - 1;
  std::mt19937_64 random(1);
  FamilyFigures figures;
  for (int n = 0; n < kSweeps; ++n) {
    const std::vector<JointRuns> settings = made(sweep, random);
    const JointNoise joint(settings);
    bool differs = false;
    for (std::size_t i = 1; i <= equal; ++i) {
      const Change change = joint.knows(i)
                                ? joint.change(0, i, criterion)
                                : measure_change(values_of(settings[0]), values_of(settings[i]),
                                                 model::Better::kLower, criterion);
      differs = differs || change.low > 0 || change.high < 0;
      figures.width +=
          (change.percent_high - change.percent_low) / static_cast<double>(kSweeps * equal);
    }
    if (differs) figures.error += 100.0 / kSweeps;
  }
  return figures;
}

class FamilyError : public ::testing::Test {
 protected:
  // Checks the error of all kinds of spreads, and notes it.
  void check(const std::string& name, std::size_t tests, std::size_t runs, OrderEffects order) {
    SCOPED_TRACE(name + ": " + std::to_string(tests) + " tests, " + std::to_string(runs) + " runs");
    const auto error = [&](const char* spread, Spreads spreads) {
      const double percent = family_figures({tests, {runs, runs, runs}, spreads, order}).error;
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

// A machine that is slower by a tenth is that for long steps and short ones. A setting of other
// length must cost the others nothing.
TEST_F(FamilyError, IsSmallBesideALongSetting) {
  for (const OrderEffects order : {OrderEffects{.drift = 10}, {.blocks = 50}}) {
    SCOPED_TRACE(order.drift > 0 ? "trend" : "blocks");
    NoisySweep sweep{.tests = 5, .runs = {3, 3, 3}, .order = order};
    const FamilyFigures alike = family_figures(sweep);
    for (const double length : {0.2, 2.0, 5.0}) {
      sweep.last_length = length;
      const FamilyFigures beside = family_figures(sweep);
      EXPECT_LT(beside.error, 6.5) << length;
      EXPECT_LT(beside.width, 1.05 * alike.width) << length;
    }
  }
}

// Returns the error of a comparison with four tests, and notes it.
double unequal_error(const std::string& name, Runs runs, Spreads spreads, OrderEffects order) {
  const double percent = family_figures({4, runs, spreads, order}).error;
  ::testing::Test::RecordProperty(name + std::to_string(runs.baseline) + "_" +
                                      std::to_string(runs.first) + "_" +
                                      std::to_string(runs.others),
                                  std::to_string(percent));
  return percent;
}

TEST_F(FamilyError, IsSmallWithUnequallyManyRuns) {
  for (const auto& [name, order] : {std::pair<std::string, OrderEffects>("", {}),
                                    {"trend_", {.drift = 1}},
                                    {"blocks_", {.blocks = 10}}}) {
    for (const std::size_t few : {2U, 3U}) {
      SCOPED_TRACE(name + std::to_string(few) + " runs beside 6");
      const Runs test{.baseline = 6, .first = few, .others = 6};
      const Runs baseline{.baseline = few, .first = 6, .others = 6};
      const Runs tests{.baseline = 6, .first = few, .others = few};
      EXPECT_LT(unequal_error(name + "test_alike_", test, {}, order), 6.5);
      EXPECT_LT(unequal_error(name + "test_noisy_", test, {.first = 3}, order), 8.5);
      EXPECT_LT(unequal_error(name + "baseline_alike_", baseline, {}, order), 6.5);
      EXPECT_LT(unequal_error(name + "baseline_noisy_", baseline, {.baseline = 3}, order), 8.5);
      EXPECT_LT(unequal_error(name + "tests_alike_", tests, {}, order), 6.5);
      EXPECT_LT(unequal_error(name + "tests_noisy_", tests, {.first = 3, .others = 3}, order), 8.5);
    }
  }
}

}  // namespace
}  // namespace assay::trace
