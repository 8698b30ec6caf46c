#include "trace/compare/joint_changes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

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

// Returns the blocks in which every setting has a run.
std::set<int> complete_blocks(std::span<const JointRuns> settings) {
  std::map<int, std::size_t> counts;
  for (const JointRuns& runs : settings)
    for (const JointRun& run : runs)
      ++counts[run.block];
  std::set<int> blocks;
  for (const auto& [block, count] : counts)
    if (count == settings.size()) blocks.insert(block);
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

// Returns the effect of the blocks (analysis of randomised complete blocks); std::nullopt where
// positions are unknown or blocks are too few.
std::optional<OrderEffect> blocks_of(std::span<const JointRuns> settings) {
  if (settings.front().empty() || settings.front().front().position == 0) return std::nullopt;
  OrderEffect effect{.blocks = complete_blocks(settings)};
  const auto others = static_cast<double>(effect.blocks.size()) - 1;
  const double freedom = others * static_cast<double>(settings.size() - 1);
  if (freedom < kLeastFreedom) return std::nullopt;
  const std::vector<JointRuns> runs = runs_of_blocks(settings, effect.blocks);
  std::map<int, std::vector<double>> values;
  std::vector<double> all;
  for (const JointRuns& of_setting : runs) {
    for (const JointRun& run : of_setting) {
      values[run.block].push_back(run.value);
      all.push_back(run.value);
    }
  }
  const double mean = core::mean(all);
  double explained = 0;
  for (const auto& [block, of_block] : values)
    explained += static_cast<double>(settings.size()) * std::pow(core::mean(of_block) - mean, 2);
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
  const auto trend = trend_of(settings);
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

JointChanges without_trend(std::span<const JointRuns> settings,
                           const OrderEffect& effect,
                           const Criterion& criterion) {
  JointChanges result{.noise = effect.noise, .p = effect.p};
  const JointRuns& baseline = settings.front();
  result.trend_percent = 100 * effect.slope / core::mean(values_of(baseline));
  for (const JointRuns& test : settings.subspan(1)) {
    const double apart = mean_position(test) - mean_position(baseline);
    const double share = 1 / static_cast<double>(baseline.size()) +
                         1 / static_cast<double>(test.size()) +
                         apart * apart / effect.position_spread;
    const double difference =
        core::mean(values_of(test)) - core::mean(values_of(baseline)) - effect.slope * apart;
    result.changes.push_back(change_between(
        baseline, test, std::sqrt(effect.rest.variance),
        difference_of(difference, effect.rest.variance * share, effect.rest.freedom, criterion),
        criterion));
  }
  return result;
}

JointChanges within_blocks(std::span<const JointRuns> settings,
                           const OrderEffect& effect,
                           const Criterion& criterion) {
  JointChanges result{.noise = effect.noise, .p = effect.p};
  const std::vector<JointRuns> runs = runs_of_blocks(settings, effect.blocks);
  const double share = 2 / static_cast<double>(effect.blocks.size());
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const double difference = core::mean(values_of(runs[i])) - core::mean(values_of(runs[0]));
    result.changes.push_back(change_between(
        runs[0], runs[i], std::sqrt(effect.rest.variance),
        difference_of(difference, effect.rest.variance * share, effect.rest.freedom, criterion),
        criterion));
  }
  return result;
}

std::vector<core::SampleVariance> variances_of(std::span<const JointRuns> settings) {
  std::vector<core::SampleVariance> variances;
  for (const JointRuns& runs : settings) {
    const double deviation = core::sample_deviation(values_of(runs));
    variances.push_back({deviation * deviation, static_cast<double>(runs.size() - 1)});
  }
  return variances;
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

JointChanges with_pooled_noise(std::span<const JointRuns> settings, const Criterion& criterion) {
  const std::vector<core::SampleVariance> variances = variances_of(settings);
  if (!may_pool(variances)) return {};
  JointChanges result{.noise = JointChanges::Noise::kPooled};
  const core::SampleVariance pooled = core::pooled_variance(variances);
  const auto variance_of_mean = [&](std::size_t i) {
    return std::max(variances[i].variance, pooled.variance) /
           static_cast<double>(settings[i].size());
  };
  for (std::size_t i = 1; i < settings.size(); ++i) {
    const double difference =
        core::mean(values_of(settings[i])) - core::mean(values_of(settings[0]));
    result.changes.push_back(
        change_between(settings[0], settings[i], std::sqrt(pooled.variance),
                       difference_of(difference, variance_of_mean(0) + variance_of_mean(i),
                                     pooled.freedom, criterion),
                       criterion));
  }
  return result;
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
  const bool repeated = std::all_of(settings.begin(), settings.end(),
                                    [](const JointRuns& runs) { return runs.size() > 1; });
  if (settings.size() < 2 || !repeated) return {};
  const auto effect = order_effect(settings);
  if (!effect) return with_pooled_noise(settings, criterion);
  return effect->noise == JointChanges::Noise::kTrend ? without_trend(settings, *effect, criterion)
                                                      : within_blocks(settings, *effect, criterion);
}

std::vector<FarRun> far_runs(std::span<const JointRuns> settings) {
  constexpr std::size_t kFewestRuns = 3;
  constexpr double kDeviations = 5;
  constexpr double kDeviationOfMedian = 1.4826;  // of the normal distribution
  constexpr double kLeastPercent = 2;
  std::vector<FarRun> runs;
  std::vector<double> distances;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].size() < kFewestRuns) continue;
    const double middle = core::median(values_of(settings[i]));
    for (const JointRun& run : settings[i]) {
      const double percent = 100 * (run.value - middle) / middle;
      runs.push_back({i, run.block, percent});
      distances.push_back(std::fabs(percent));
    }
  }
  const double far =
      std::max(kDeviations * kDeviationOfMedian * core::median(distances), kLeastPercent);
  std::erase_if(runs, [far](const FarRun& run) { return !(std::fabs(run.percent) > far); });
  return runs;
}

}  // namespace assay::trace
