// How often comparisons of like with like claim a difference, and how often they miss one, with the
// noise of a real sweep: tests/data/nccl_ctas_steps.csv has the periods of the 864 steps of
// samples/sweep-nccl-ctas (6 settings, 3 runs each, 8 ranks, 6 steps).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/change.h"
#include "trace/compare/step_states.h"
#include "trace/golden_test_util.h"
#include "trace/steady.h"

namespace assay::trace {
namespace {

using model::Better;

constexpr int kPairs = 10'000;
constexpr int kRanks = 8;
constexpr int kSteps = 6;

// Standard deviations in percent of the steady period, and the transients.
struct Noise {
  double run = 0;     // between runs, beyond what their steps explain
  double number = 0;  // between the steps of a run as every run has it: the work differs by step
  double step = 0;    // between the steps of a run, common to its ranks
  double rank = 0;    // between the ranks of a step
  double transient_share = 0;
  std::vector<double> transients = {};  // their distances from the steady period, in percent
};

// The ranks of each step of each run of each setting.
using Sample = std::map<std::string, std::map<int, std::map<int, std::vector<double>>>>;

Sample read_sample() {
  const model::Table table = testing::read_csv_table(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                                     "tests/data/nccl_ctas_steps.csv")
                                 .value();
  Sample sample;
  for (std::size_t row = 0; row < table.row_count(); ++row)
    sample[model::text(table.at(row, 0))][static_cast<int>(model::number(table.at(row, 1)))]
          [static_cast<int>(model::number(table.at(row, 3)))]
              .push_back(model::number(table.at(row, 4)));
  return sample;
}

double variance(const std::vector<double>& values) {
  return std::pow(core::sample_deviation(values), 2);
}

// One setting: runs by steps, means over ranks, in percent of their mean.
struct Crossed {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<bool>> steady;
  std::vector<double> runs;     // effects of the runs
  std::vector<double> numbers;  // effects of the step numbers

  // Fits both effects to the steady steps, by least squares.
  void fit() {
    runs.assign(values.size(), 0);
    numbers.assign(values.front().size(), 0);
    constexpr int kRounds = 100;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t step = 0; step < numbers.size(); ++step)
        numbers[step] = mean_without([&](std::size_t run) { return std::pair(run, step); },
                                     values.size(), runs);
      for (std::size_t run = 0; run < runs.size(); ++run)
        runs[run] = mean_without([&](std::size_t step) { return std::pair(run, step); },
                                 numbers.size(), numbers);
    }
  }

  [[nodiscard]] double residual_variance() const {
    double squares = 0;
    double count = 0;
    for (std::size_t run = 0; run < runs.size(); ++run)
      for (std::size_t step = 0; step < numbers.size(); ++step) {
        if (!steady[run][step]) continue;
        squares += std::pow(values[run][step] - runs[run] - numbers[step], 2);
        ++count;
      }
    return squares / (count - static_cast<double>(runs.size() + numbers.size() - 1));
  }

 private:
  template <class Place>
  double mean_without(const Place& place,
                      std::size_t count,
                      const std::vector<double>& effects) const {
    std::vector<double> kept;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [run, step] = place(i);
      if (steady[run][step]) kept.push_back(values[run][step] - effects[i]);
    }
    return core::mean(kept);
  }
};

// The variances of one setting, or sums of them.
struct Variances {
  double between = 0;  // of run means
  double number = 0;
  double step = 0;
  double rank = 0;
};

Variances variances_of(const std::map<int, std::map<int, std::vector<double>>>& runs,
                       std::vector<double>& transients) {
  Crossed crossed;
  std::vector<double> ranks;
  std::vector<double> means;
  for (const auto& [repeat, run] : runs) {
    std::vector<double> periods;
    for (const auto& [step, values] : run)
      periods.push_back(core::mean(values));
    means.push_back(steady_period(periods));
    for (const auto& [step, values] : run)
      ranks.push_back(1e4 * variance(values) / (means.back() * means.back()));
    crossed.steady.push_back(find_steady(periods));
    crossed.values.push_back(periods);
    for (std::size_t i = 0; i < periods.size(); ++i)
      if (!crossed.steady.back()[i]) transients.push_back(100 * (periods[i] / means.back() - 1));
  }
  const double mean = core::mean(means);
  for (std::vector<double>& run : crossed.values)
    for (double& value : run)
      value = 100 * (value / mean - 1);
  crossed.fit();
  return {.between = variance(crossed.runs),
          .number = variance(crossed.numbers),
          .step = crossed.residual_variance(),
          .rank = core::mean(ranks)};
}

// Estimates the components by an analysis of variance of runs crossed with step numbers (S. Searle,
// G. Casella and C. McCulloch, Variance Components, chapter 4), pooled over settings.
Noise noise_of(const Sample& sample) {
  Noise noise;
  Variances sum;
  double steps = 0;
  for (const auto& [setting, runs] : sample) {
    const Variances variances = variances_of(runs, noise.transients);
    fmt::print("{}: runs' means {:.3f} %, step numbers {:.3f} %, steps {:.3f} %, ranks {:.3f} %\n",
               setting, std::sqrt(variances.between), std::sqrt(variances.number),
               std::sqrt(variances.step), std::sqrt(variances.rank));
    sum.between += variances.between;
    sum.number += variances.number;
    sum.step += variances.step;
    sum.rank += variances.rank;
    steps += static_cast<double>(runs.size()) * kSteps;
  }
  const auto settings = static_cast<double>(sample.size());
  noise.run = std::sqrt(std::max(sum.between - sum.step / kSteps, 0.0) / settings);
  noise.number = std::sqrt(sum.number / settings);
  noise.step = std::sqrt(sum.step / settings);
  noise.rank = std::sqrt(sum.rank / settings);
  noise.transient_share = static_cast<double>(noise.transients.size()) / steps;
  return noise;
}

class Simulation {
 public:
  explicit Simulation(Noise noise) : noise_(std::move(noise)) {}

  // Draws the work of the steps, which all runs share that follow.
  void draw_numbers() {
    for (double& number : numbers_)
      number = noise_.number * normal_(random_);
  }

  // Returns the periods of the first steps of a run.
  std::vector<double> steps(std::size_t count, double period_ms) {
    std::vector<double> periods = run(period_ms);
    periods.resize(count);
    return periods;
  }

  // Returns the steady periods of some runs, in milliseconds.
  std::vector<double> runs(int count, double period_ms) {
    std::vector<double> result;
    for (int i = 0; i < count; ++i)
      result.push_back(steady_period(run(period_ms)));
    return result;
  }

 private:
  // Returns the periods of a run's steps, means over ranks.
  std::vector<double> run(double period_ms) {
    const double of_run = noise_.run * normal_(random_);
    std::vector<double> periods;
    for (const double number : numbers_) {
      double percent = of_run + number + noise_.step * normal_(random_);
      if (uniform_(random_) < noise_.transient_share)
        percent += noise_.transients[random_() % noise_.transients.size()];
      double ranks = 0;
      for (int rank = 0; rank < kRanks; ++rank)
        ranks += noise_.rank * normal_(random_);
      periods.push_back(period_ms * (1 + (percent + ranks / kRanks) / 100));
    }
    return periods;
  }

  Noise noise_;
  std::array<double, kSteps> numbers_ = {};
  std::mt19937_64 random_{20261123};
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

bool is_different(const Change& change) {
  return change.verdict == Verdict::kBetter || change.verdict == Verdict::kWorse;
}

// Returns the percentage of pairs that are called different where the test takes so much longer.
double called_different(int runs, double longer, double tolerance);

void show(const std::string& what, double percent) {
  fmt::print("{}: {:.2f} %\n", what, percent);
}

const Noise& sample_noise() {
  static const Noise noise = noise_of(read_sample());
  return noise;
}

double called_different(int runs, double longer, double tolerance) {
  Simulation simulation(sample_noise());
  int different = 0;
  for (int i = 0; i < kPairs; ++i) {
    simulation.draw_numbers();
    const std::vector<double> baseline = simulation.runs(runs, 40);
    const std::vector<double> test = simulation.runs(runs, 40 * (1 + longer / 100));
    different += is_different(
        measure_change(baseline, test, Better::kLower, {.tolerance_percent = tolerance}));
  }
  return 100.0 * different / kPairs;
}

TEST(Calibration, TheSampleIsWhatItWas) {
  const Noise& noise = sample_noise();
  fmt::print(
      "pooled: runs {:.3f} %, step numbers {:.3f} %, steps {:.3f} %, ranks {:.3f} %, "
      "transients {:.2f} %\n",
      noise.run, noise.number, noise.step, noise.rank, 100 * noise.transient_share);
  EXPECT_EQ(noise.transients.size(), 2U);
  EXPECT_NEAR(noise.step, 0.482, 0.001);
  EXPECT_NEAR(noise.run, 0.06, 0.005);
  EXPECT_NEAR(noise.rank, 0.052, 0.001);
}

TEST(Calibration, LikeWithLikeIsCalledDifferentAsOftenAsItSays) {
  const double different = called_different(3, 0, 0);
  show("like with like, three runs a side", different);
  EXPECT_GE(different, 4);
  EXPECT_LE(different, 6);
  const double beyond = called_different(3, 0, 1);
  show("the same, beyond the tolerance of 1 %", beyond);
  EXPECT_LE(beyond, different);
}

TEST(Calibration, ADifferenceOfOnePercentIsFound) {
  const double found = called_different(3, 1, 0);
  show("power at 1 %, three runs a side", found);
  EXPECT_GE(found, 95);
  show("the same, beyond the tolerance of 1 %", called_different(3, 1, 1));
  show("power at 1 %, two runs a side", called_different(2, 1, 0));
  show("power at 1 %, four runs a side", called_different(4, 1, 0));
}

// Sheets of 7 rows that share nothing but their number of runs.
TEST(Calibration, ASheetOfManyRowsClaimsNoMoreThanOne) {
  constexpr int kSheets = 2'000;
  constexpr std::size_t kRows = 7;
  Simulation simulation(sample_noise());
  int alone = 0;
  int together = 0;
  for (int i = 0; i < kSheets; ++i) {
    std::vector<Change> rows;
    for (std::size_t row = 0; row < kRows; ++row)
      rows.push_back(measure_change(simulation.runs(3, 40), simulation.runs(3, 40), Better::kLower,
                                    {.tolerance_percent = 0}));
    alone += std::any_of(rows.begin(), rows.end(), is_different);
    std::vector<Change*> family;
    for (Change& row : rows)
      family.push_back(&row);
    judge_together(family, {});
    together += std::any_of(rows.begin(), rows.end(), is_different);
  }
  show("sheets of like with like with a verdict, rows judged alone", 100.0 * alone / kSheets);
  show("sheets of like with like with a verdict, rows judged together", 100.0 * together / kSheets);
  EXPECT_GT(100.0 * alone / kSheets, 20);
  EXPECT_LE(100.0 * together / kSheets, 6);
}

// Returns the steady periods of a run's first steps, as a comparison takes them.
std::vector<double> steady_steps_of(Simulation& simulation, std::size_t steps) {
  std::vector<RankStep> run;
  for (const double period : simulation.steps(steps, 40))
    run.push_back({.step = static_cast<std::int64_t>(run.size()), .period_ms = period});
  std::vector<double> kept;
  for (const StepState& state : step_states(run))
    if (state.is_steady) kept.push_back(state.period_ms);
  return kept;
}

void show_one_run_a_side(double scale, std::size_t steps) {
  Noise noise = sample_noise();
  noise.step *= scale;
  noise.number = noise.transient_share = 0;
  Simulation simulation(noise);
  int different = 0;
  int left_out = 0;
  for (int i = 0; i < kPairs; ++i) {
    const std::vector<double> baseline = steady_steps_of(simulation, steps);
    const std::vector<double> test = steady_steps_of(simulation, steps);
    left_out += (baseline.size() < steps) + (test.size() < steps);
    different += measure_change(baseline, test, Better::kLower,
                                {.tolerance_percent = 0, .evidence = Evidence::kOneRun})
                     .verdict == Verdict::kDifferent;
  }
  const double percent = 100.0 * different / kPairs;
  show(fmt::format("one run of {} steps a side, noise of steps {:.2f} %", steps, noise.step),
       percent);
  show("  runs with a step left out", 100.0 * left_out / (2 * kPairs));
  EXPECT_LE(percent, 10);
}

// With one run a side, steps are the repetitions. Steps that are left out as transient, rightly or
// not, make the others look more alike than they are.
TEST(Calibration, OneRunASideSeldomDiffersFromItself) {
  for (const double scale : {1.0, 5.0})
    for (const std::size_t steps : {std::size_t{3}, std::size_t{6}})
      show_one_run_a_side(scale, steps);
}

// Every so many steps take a tenth longer than the others, at random, in both of two runs.
struct SlowSteps {
  double share = 0;
  std::size_t steps = 0;
};

double percent_of_likes_that_differ(const SlowSteps& slow) {
  std::mt19937_64 random(20261130);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto run = [&] {
    std::vector<RankStep> steps;
    for (std::size_t i = 0; i < slow.steps; ++i)
      steps.push_back(
          {.step = static_cast<std::int64_t>(i),
           .period_ms = (uniform(random) < slow.share ? 11 : 10) * (1 + 0.002 * normal(random))});
    return steps;
  };
  const auto kept = [](const std::vector<RankStep>& steps, Modes modes) {
    std::vector<double> periods;
    for (const StepState& state : step_states(steps, modes))
      if (state.is_steady) periods.push_back(state.period_ms);
    return periods;
  };
  constexpr int kRuns = 2000;
  int different = 0;
  for (int i = 0; i < kRuns; ++i) {
    const std::vector<RankStep> a = run();
    const std::vector<RankStep> b = run();
    const Modes modes = common_modes(a, b);
    different += measure_change(kept(a, modes), kept(b, modes), Better::kLower,
                                {.tolerance_percent = 0, .evidence = Evidence::kOneRun})
                     .verdict == Verdict::kDifferent;
  }
  return 100.0 * different / kRuns;
}

// A workload may have two modes. Slow steps that are left out on one side alone, or nearly all of
// one mode, would make a difference of nothing.
TEST(Calibration, StepsOfTwoModesSeldomDifferFromThemselves) {
  for (const std::size_t steps : {std::size_t{6}, std::size_t{10}, std::size_t{20}}) {
    for (const double share : {0.05, 0.1, 0.2, 0.3, 0.4, 0.5}) {
      const double percent = percent_of_likes_that_differ({.share = share, .steps = steps});
      show(fmt::format("one run of {} steps a side, {:g} % of which take a tenth longer", steps,
                       100 * share),
           percent);
      EXPECT_LE(percent, 12);
    }
  }
}

struct UnequalSides {
  int few = 0;
  int many = 0;
  double ratio = 0;  // of the deviation of the few to that of the many
};

// A run that fails leaves sides of unequally many.
TEST(Calibration, UnequallyManyRunsKeepTheirPromise) {
  std::mt19937_64 random(20261130);
  std::normal_distribution<double> normal(0, 1);
  for (const UnequalSides& sides :
       {UnequalSides{2, 3, 1}, UnequalSides{2, 3, 3}, UnequalSides{2, 6, 1}, UnequalSides{2, 6, 3},
        UnequalSides{2, 10, 1}, UnequalSides{2, 10, 3}, UnequalSides{3, 10, 1},
        UnequalSides{3, 10, 3}}) {
    const auto values = [&](int count, double deviation) {
      std::vector<double> made;
      for (int i = 0; i < count; ++i)
        made.push_back(40 + deviation * normal(random));
      return made;
    };
    int different = 0;
    for (int i = 0; i < kPairs; ++i)
      different +=
          is_different(measure_change(values(sides.few, 0.1 * sides.ratio), values(sides.many, 0.1),
                                      Better::kLower, {.tolerance_percent = 0}));
    const double percent = 100.0 * different / kPairs;
    show(fmt::format("like with like, {} runs beside {}, whose noise is {:g} times the other's",
                     sides.few, sides.many, sides.ratio),
         percent);
    EXPECT_GE(percent, 1.5);
    EXPECT_LE(percent, 9);
  }
}

struct Rates {
  double by_steps = 0;
  double by_runs = 0;
};

// Returns how often a run beside several of the same setting is called different, in percent.
Rates lone_run_called_different(const Noise& noise, int runs) {
  Simulation simulation(noise);
  int by_steps = 0;
  int by_runs = 0;
  const auto is_called = [](const std::vector<double>& a, const std::vector<double>& b,
                            Evidence evidence) {
    return measure_change(a, b, Better::kLower, {.tolerance_percent = 0, .evidence = evidence})
               .verdict == Verdict::kDifferent;
  };
  for (int i = 0; i < kPairs; ++i) {
    std::vector<double> steps;
    std::vector<double> means;
    for (int run = 0; run < runs; ++run) {
      const std::vector<double> own = simulation.steps(kSteps, 40);
      steps.insert(steps.end(), own.begin(), own.end());
      means.push_back(core::mean(own));
    }
    const std::vector<double> alone = simulation.steps(kSteps, 40);
    by_steps += is_called(steps, alone, Evidence::kOneRun);
    by_runs += is_called(means, std::vector{core::mean(alone)}, Evidence::kLoneRun);
  }
  return {100.0 * by_steps / kPairs, 100.0 * by_runs / kPairs};
}

// The steps of the lone run, counted as if they were independent, claim more the more runs differ.
TEST(Calibration, ALoneRunBesideSeveralSeldomDiffersFromThem) {
  Noise noise = sample_noise();
  noise.number = noise.transient_share = 0;
  for (const double between : {noise.run, 0.36, 1.0}) {
    noise.run = between;
    for (const int runs : {2, 3, 5, 10}) {
      const Rates rates = lone_run_called_different(noise, runs);
      const std::string what =
          fmt::format("a run beside {} like it, with {:.2f} % between runs", runs, between);
      show(what, rates.by_runs);
      show("  counted by steps", rates.by_steps);
      EXPECT_GE(rates.by_runs, 4);
      EXPECT_LE(rates.by_runs, 6);
      EXPECT_GT(rates.by_steps, between > noise.step ? 50 : 4);
    }
  }
}

// Settings may differ in noise. The test then errs more often, in less than 9 % of all pairs.
TEST(Calibration, UnequalNoiseMakesSomeMoreErrors) {
  std::mt19937_64 random(20261123);
  std::normal_distribution<double> normal(0, 1);
  for (const double ratio : {1.0, 2.0, 3.0, 6.0, 10.0}) {
    const auto values = [&](double deviation) {
      return std::vector<double>{40 + deviation * normal(random), 40 + deviation * normal(random),
                                 40 + deviation * normal(random)};
    };
    int different = 0;
    for (int i = 0; i < kPairs; ++i)
      different += is_different(measure_change(values(0.1), values(0.1 * ratio), Better::kLower,
                                               {.tolerance_percent = 0}));
    const double percent = 100.0 * different / kPairs;
    show(fmt::format("like with like where one side's noise is {:g} times the other's", ratio),
         percent);
    EXPECT_GE(percent, 4);
    EXPECT_LE(percent, 9);
  }
}

}  // namespace
}  // namespace assay::trace
