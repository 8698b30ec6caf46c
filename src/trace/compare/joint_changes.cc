#include "trace/compare/joint_changes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/statistics.h"
#include "core/variance_test.h"

namespace assay::trace {
namespace {

constexpr double kUnequalSpreads = 0.05;
// A sweep without any effect of its order is seldom told that it has one.
constexpr double kOrderMatters = 0.01;
// Fewer values beside an effect of the order tell neither it nor the noise.
constexpr double kLeastFreedom = 3;

std::vector<double> values_of(const JointRuns& runs) {
  std::vector<double> values;
  for (const JointRun& run : runs)
    values.push_back(run.value);
  return values;
}

double mean_position(const JointRuns& runs) {
  double sum = 0;
  for (const JointRun& run : runs)
    sum += run.position;
  return sum / static_cast<double>(runs.size());
}

double squared_deviations_within(std::span<const JointRuns> settings) {
  double squares = 0;
  for (const JointRuns& runs : settings) {
    const std::vector<double> values = values_of(runs);
    const double deviation = core::sample_deviation(values);
    squares += deviation * deviation * static_cast<double>(values.size() - 1);
  }
  return squares;
}

std::size_t run_count(std::span<const JointRuns> settings) {
  std::size_t count = 0;
  for (const JointRuns& runs : settings)
    count += runs.size();
  return count;
}

// Settings, the noise of each beside what their order explains, and how well that is known.
struct Fitted {
  std::vector<JointRuns> settings = {};  // without the effect
  std::vector<core::SampleVariance> noise = {};
  std::vector<double> positions = {};  // the mean of each setting's
  std::vector<double> weights = {};    // how much of each setting's variance the slope's counts
};

// What the order of the runs explains, and the noise beside it.
struct OrderEffect {
  JointChanges::Noise noise = JointChanges::Noise::kBlocks;
  double p = 1;
  core::SampleVariance rest = {};
  double slope = 0;            // of a trend, a run
  double position_spread = 0;  // sum of squared deviations of positions within settings
  std::set<int> blocks = {};   // complete ones
};

// Returns the effect of a straight trend over the positions, the same for all settings (analysis of
// covariance); std::nullopt where positions are unknown or too few.
std::optional<OrderEffect> trend_of(std::span<const JointRuns> settings) {
  OrderEffect effect{.noise = JointChanges::Noise::kTrend};
  double products = 0;
  for (const JointRuns& runs : settings) {
    const double position = mean_position(runs);
    const double value = core::mean(values_of(runs));
    for (const JointRun& run : runs) {
      if (run.position == 0) return std::nullopt;
      effect.position_spread += (run.position - position) * (run.position - position);
      products += (run.position - position) * (run.value - value);
    }
  }
  const double freedom =
      static_cast<double>(run_count(settings)) - static_cast<double>(settings.size()) - 1;
  if (freedom < kLeastFreedom || effect.position_spread == 0) return std::nullopt;
  effect.slope = products / effect.position_spread;
  const double explained = effect.slope * products;
  const double rest = std::max(squared_deviations_within(settings) - explained, 0.0);
  effect.rest = {rest / freedom, freedom};
  effect.p = core::f_probability(explained / effect.rest.variance, 1, freedom);
  return effect;
}

// Returns whether no run of another block was made between two runs of this one. A run that was
// made again long after its block is no part of it.
bool is_together(std::span<const JointRuns> settings, int block) {
  int first = std::numeric_limits<int>::max();
  int last = 0;
  for (const JointRuns& runs : settings) {
    for (const JointRun& run : runs) {
      if (run.block != block) continue;
      first = std::min(first, run.position);
      last = std::max(last, run.position);
    }
  }
  return std::all_of(settings.begin(), settings.end(), [&](const JointRuns& runs) {
    return std::all_of(runs.begin(), runs.end(), [&](const JointRun& run) {
      return run.block == block || run.position < first || run.position > last;
    });
  });
}

// Returns the blocks in which every setting has a run, one after the other.
std::set<int> complete_blocks(std::span<const JointRuns> settings) {
  std::map<int, std::size_t> counts;
  for (const JointRuns& runs : settings)
    for (const JointRun& run : runs)
      ++counts[run.block];
  std::set<int> blocks;
  for (const auto& [block, count] : counts)
    if (count == settings.size() && is_together(settings, block)) blocks.insert(block);
  return blocks;
}

std::vector<JointRuns> runs_of_blocks(std::span<const JointRuns> settings,
                                      const std::set<int>& blocks) {
  std::vector<JointRuns> result;
  for (const JointRuns& runs : settings) {
    result.emplace_back();
    for (const JointRun& run : runs)
      if (blocks.count(run.block) > 0) result.back().push_back(run);
  }
  return result;
}

std::map<int, double> means_of_blocks(std::span<const JointRuns> settings) {
  std::map<int, std::vector<double>> values;
  for (const JointRuns& runs : settings)
    for (const JointRun& run : runs)
      values[run.block].push_back(run.value);
  std::map<int, double> means;
  for (const auto& [block, of_block] : values)
    means[block] = core::mean(of_block);
  return means;
}

// Returns the effect of the blocks (analysis of randomised complete blocks); std::nullopt where
// positions are unknown or blocks are too few.
std::optional<OrderEffect> blocks_of(std::span<const JointRuns> settings) {
  for (const JointRuns& runs : settings)
    for (const JointRun& run : runs)
      if (run.position == 0) return std::nullopt;
  OrderEffect effect{.blocks = complete_blocks(settings)};
  const auto others = static_cast<double>(effect.blocks.size()) - 1;
  const double freedom = others * static_cast<double>(settings.size() - 1);
  if (freedom < kLeastFreedom) return std::nullopt;
  const std::vector<JointRuns> runs = runs_of_blocks(settings, effect.blocks);
  std::vector<double> means;
  for (const auto& [block, value] : means_of_blocks(runs))
    means.push_back(value);
  const double deviation = core::sample_deviation(means);
  const double explained = static_cast<double>(settings.size()) * deviation * deviation * others;
  const double rest = std::max(squared_deviations_within(runs) - explained, 0.0);
  effect.rest = {rest / freedom, freedom};
  effect.p = core::f_probability(explained / others / effect.rest.variance, others, freedom);
  return effect;
}

// Returns the trend where it is significant, or else the blocks. Blocks replace a trend that leaves
// much more noise than they do, as where the job changed between two blocks; where each block has
// the same order, they alone cannot tell a trend from the settings.
std::optional<OrderEffect> order_effect(std::span<const JointRuns> settings) {
  constexpr double kMuchMore = 5;
  const auto matters = [](const std::optional<OrderEffect>& effect) {
    return effect && effect->p < kOrderMatters;
  };
  auto trend = trend_of(settings);
  const auto blocks = blocks_of(settings);
  if (matters(trend) &&
      !(matters(blocks) && blocks->rest.variance * kMuchMore < trend->rest.variance))
    return trend;
  return matters(blocks) ? blocks : std::nullopt;
}

Change change_between(const JointRuns& baseline,
                      const JointRuns& test,
                      double deviation,
                      const core::Difference& difference,
                      const Criterion& criterion) {
  Change change =
      measure_change(values_of(baseline), values_of(test), model::Better::kLower, criterion);
  change.test = change.baseline + difference.difference;
  change.baseline_deviation = change.test_deviation = deviation;
  set_difference(change, difference, model::Better::kLower, criterion);
  return change;
}

core::Difference difference_of(double difference,
                               double variance_of_it,
                               double freedom,
                               const Criterion& criterion) {
  const double error = std::sqrt(variance_of_it);
  const double half = error == 0 ? 0 : core::student_t(criterion.confidence, freedom) * error;
  return {.difference = difference,
          .low = difference - half,
          .high = difference + half,
          .valid = true,
          .error = error,
          .degrees_of_freedom = freedom};
}

// Returns the settings as they are, or without a trend. A setting loses as much of its freedom to
// the slope as its runs count in it.
Fitted fitted(std::span<const JointRuns> settings, const OrderEffect* trend) {
  Fitted result;
  for (const JointRuns& runs : settings) {
    const double position = mean_position(runs);
    double squares = 0;
    JointRuns without = runs;
    for (JointRun& run : without) {
      squares += (run.position - position) * (run.position - position);
      if (trend != nullptr) run.value -= trend->slope * (run.position - position);
    }
    const double share = trend == nullptr ? 0 : squares / trend->position_spread;
    const double freedom = static_cast<double>(runs.size()) - 1;
    const double deviation = core::sample_deviation(values_of(without));
    const double left = freedom - share;
    result.noise.push_back({left > 0 ? deviation * deviation * freedom / left : 0, left});
    result.weights.push_back(trend == nullptr ? 0 : share / trend->position_spread);
    result.positions.push_back(position);
    result.settings.push_back(std::move(without));
  }
  return result;
}

// The baseline is in every change, so its noise must not be taken for less than it is. Two runs
// tell its spread so badly that it must lie below that of the others.
bool may_pool(std::span<const core::SampleVariance> variances) {
  constexpr double kMostRatio = 1.5;
  if (variances.size() < 3) return false;
  if (core::equal_spread_probability(variances) < kUnequalSpreads) return false;
  const core::SampleVariance& baseline = variances.front();
  const double ratio = baseline.freedom < 2 ? 1 : kMostRatio;
  return baseline.variance <= ratio * core::pooled_variance(variances.subspan(1)).variance;
}

// Returns the settings' variances; a setting that is no noisier than all has theirs.
std::vector<double> at_least(std::span<const core::SampleVariance> noise, double least) {
  std::vector<double> variances;
  for (const core::SampleVariance& one : noise)
    variances.push_back(std::max(one.variance, least));
  return variances;
}

// Judges by the noise of all settings, or else each pair by its own. `slope` is that of the trend.
std::vector<Change> changes_of(const Fitted& fit,
                               double slope,
                               bool is_pooled,
                               const Criterion& criterion) {
  const core::SampleVariance pooled = core::pooled_variance(fit.noise);
  const std::vector<double> variances = at_least(fit.noise, is_pooled ? pooled.variance : 0);
  double of_slope = 0;
  for (std::size_t i = 0; i < variances.size(); ++i)
    of_slope += variances[i] * fit.weights[i];
  const auto variance_of_mean = [&](std::size_t i) {
    return variances[i] / static_cast<double>(fit.settings[i].size());
  };
  std::vector<Change> changes;
  for (std::size_t i = 1; i < fit.settings.size(); ++i) {
    const double apart = fit.positions[i] - fit.positions[0];
    const double own =
        std::min(core::difference_freedom(variance_of_mean(0), fit.settings[0].size(),
                                          variance_of_mean(i), fit.settings[i].size()),
                 std::max(fit.noise[0].freedom + fit.noise[i].freedom, 1.0));
    const double difference = core::mean(values_of(fit.settings[i])) -
                              core::mean(values_of(fit.settings[0])) - slope * apart;
    const double deviation =
        std::sqrt(is_pooled ? pooled.variance : (variances[0] + variances[i]) / 2);
    changes.push_back(change_between(
        fit.settings[0], fit.settings[i], deviation,
        difference_of(difference,
                      variance_of_mean(0) + variance_of_mean(i) + of_slope * apart * apart,
                      is_pooled ? pooled.freedom : own, criterion),
        criterion));
  }
  return changes;
}

JointChanges without_trend(std::span<const JointRuns> settings,
                           const OrderEffect& effect,
                           const Criterion& criterion) {
  const Fitted fit = fitted(settings, &effect);
  return {.noise = effect.noise,
          .changes = changes_of(fit, effect.slope, may_pool(fit.noise), criterion),
          .trend_percent = 100 * effect.slope / core::mean(values_of(settings.front())),
          .p = effect.p};
}

JointChanges with_pooled_noise(std::span<const JointRuns> settings, const Criterion& criterion) {
  const Fitted fit = fitted(settings, nullptr);
  if (!may_pool(fit.noise)) return {};
  return {.noise = JointChanges::Noise::kPooled, .changes = changes_of(fit, 0, true, criterion)};
}

// Returns the differences from the baseline, block by block.
std::vector<double> block_differences(const JointRuns& baseline, const JointRuns& test) {
  std::map<int, double> of_baseline;
  for (const JointRun& run : baseline)
    of_baseline[run.block] = run.value;
  std::vector<double> differences;
  for (const JointRun& run : test)
    differences.push_back(run.value - of_baseline[run.block]);
  return differences;
}

// Returns the variance of each setting about the means of the blocks, of which it is a part: that
// of F. E. Grubbs, Journal of the American Statistical Association 43, 1948. It may be negative.
std::vector<core::SampleVariance> noise_within(std::span<const JointRuns> runs) {
  const std::map<int, double> means = means_of_blocks(runs);
  const auto count = static_cast<double>(runs.size());
  const auto freedom = static_cast<double>(means.size()) - 1;
  std::vector<double> squares;
  for (const JointRuns& of_setting : runs) {
    std::vector<double> rest;
    for (const JointRun& run : of_setting)
      rest.push_back(run.value - means.at(run.block));
    squares.push_back(std::pow(core::sample_deviation(rest), 2));
  }
  const double common = core::sum(squares) / (count * (count - 1));
  std::vector<core::SampleVariance> noise;
  for (const double square : squares)
    noise.push_back({(square - common) * count / (count - 2), freedom});
  return noise;
}

// The variances of few settings about their blocks' means depend on each other, and can be
// negative: none counts as less than a small share of all.
bool may_pool_within(std::span<const JointRuns> runs, double rest) {
  constexpr double kLeastShare = 0.1;
  if (runs.size() < 3) return false;
  std::vector<core::SampleVariance> noise = noise_within(runs);
  for (core::SampleVariance& one : noise)
    one.variance = std::max(one.variance, kLeastShare * rest);
  return may_pool(noise);
}

// Pairs of runs in a block have the noise of these two settings alone, whatever that of others
// (Student's paired t test). Noise that all settings share has more degrees of freedom.
JointChanges within_blocks(std::span<const JointRuns> settings,
                           const OrderEffect& effect,
                           const Criterion& criterion) {
  JointChanges result{.noise = effect.noise, .p = effect.p};
  const std::vector<JointRuns> runs = runs_of_blocks(settings, effect.blocks);
  const auto blocks = static_cast<double>(effect.blocks.size());
  const bool is_pooled = may_pool_within(runs, effect.rest.variance);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::vector<double> differences = block_differences(runs[0], runs[i]);
    const double own = std::pow(core::sample_deviation(differences), 2);
    const double variance = is_pooled ? std::max(own, 2 * effect.rest.variance) : own;
    const double freedom = is_pooled ? effect.rest.freedom : blocks - 1;
    result.changes.push_back(change_between(
        runs[0], runs[i], std::sqrt(variance / 2),
        difference_of(core::mean(differences), variance / blocks, freedom, criterion), criterion));
  }
  return result;
}

// Returns the standard deviation of all settings by the median of the differences between two runs
// of a setting (M. I. Shamos, 1976), which a few far runs hardly move.
double robust_deviation(std::span<const JointRuns> settings) {
  constexpr double kDeviationOfMedian = 1.0483;  // of differences of the normal distribution
  std::vector<double> differences;
  for (const JointRuns& runs : settings)
    for (std::size_t i = 0; i < runs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        differences.push_back(std::fabs(runs[i].value - runs[j].value));
  return kDeviationOfMedian * core::median(differences);
}

}  // namespace

JointRuns joint_runs(const SettingFigures& setting,
                     const std::string& type,
                     const std::map<int, int>& positions) {
  JointRuns runs;
  for (const int run : setting.runs) {
    std::vector<TimelineFigure> figures;
    std::copy_if(
        setting.steady.begin(), setting.steady.end(), std::back_inserter(figures),
        [&](const TimelineFigure& figure) { return figure.run == run && figure.type == type; });
    const double value = mean_ms(mean_over_ranks(figures, Repetition::kRun), type);
    const auto position = positions.find(run);
    if (!std::isnan(value))
      runs.push_back({run, position == positions.end() ? 0 : position->second, value});
  }
  return runs;
}

JointChanges joint_changes(std::span<const JointRuns> settings, const Criterion& criterion) {
  std::vector<JointRuns> repeated;
  std::vector<std::size_t> judged;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].size() < 2) continue;
    repeated.push_back(settings[i]);
    if (i > 0) judged.push_back(i);
  }
  if (judged.empty() || settings.front().size() < 2) return {};
  const auto effect = order_effect(repeated);
  JointChanges result;
  if (!effect)
    result = with_pooled_noise(repeated, criterion);
  else if (effect->noise == JointChanges::Noise::kTrend)
    result = without_trend(repeated, *effect, criterion);
  else
    result = within_blocks(repeated, *effect, criterion);
  if (!result.changes.empty()) result.judged = std::move(judged);
  return result;
}

std::vector<FarRun> far_runs(std::span<const JointRuns> settings) {
  constexpr std::size_t kFewestRuns = 3;
  constexpr double kChance = 0.005;    // by these, about; by simulation less than 2.5 %
  constexpr double kEfficiency = 0.8;  // of the robust deviation
  constexpr double kLeastPercent = 2;
  std::vector<FarRun> runs;
  std::vector<JointRuns> shares;  // of the median of their setting, in percent
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].size() < kFewestRuns) continue;
    const double middle = core::median(values_of(settings[i]));
    shares.emplace_back(settings[i]);
    for (JointRun& run : shares.back()) {
      run.value = 100 * (run.value - middle) / middle;
      runs.push_back({i, run.block, run.value});
    }
  }
  if (runs.empty()) return {};
  const auto count = static_cast<double>(runs.size());
  const double freedom = kEfficiency * (count - static_cast<double>(shares.size()));
  const double far = std::max(
      core::student_t(1 - kChance / count, freedom) * robust_deviation(shares), kLeastPercent);
  std::erase_if(runs, [far](const FarRun& run) { return !(std::fabs(run.percent) > far); });
  return runs;
}

}  // namespace assay::trace
