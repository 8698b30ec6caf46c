#include "trace/compare/joint_noise.h"

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

// Holds what the order of the runs explains, and the noise beside it.
struct OrderEffect {
  JointNoise::Kind kind = JointNoise::Kind::kBlocks;
  double p = 1;
  core::SampleVariance rest = {};
  double slope = 0;            // of a trend, a run
  double position_spread = 0;  // sum of squared deviations of positions within settings
  std::set<int> blocks = {};   // complete ones
};

// Returns the effect of a straight trend over the positions, the same for all settings (analysis of
// covariance); std::nullopt where positions are unknown or too few.
std::optional<OrderEffect> trend_of(std::span<const JointRuns> settings) {
  OrderEffect effect{.kind = JointNoise::Kind::kTrend};
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

// Returns the settings as they are, or without a trend, at the mean position of the first. A
// setting loses as much of its freedom to the slope as its runs count in it.
std::vector<JointSetting> fitted(std::span<const JointRuns> settings, const OrderEffect* trend) {
  std::vector<JointSetting> result;
  const double first = mean_position(settings.front());
  for (const JointRuns& runs : settings) {
    JointSetting one{.runs = runs, .position = mean_position(runs)};
    double squares = 0;
    for (JointRun& run : one.runs) {
      squares += (run.position - one.position) * (run.position - one.position);
      if (trend != nullptr) run.value -= trend->slope * (run.position - first);
    }
    const double share = trend == nullptr ? 0 : squares / trend->position_spread;
    const double freedom = static_cast<double>(runs.size()) - 1;
    const double deviation = core::sample_deviation(values_of(one.runs));
    const double left = freedom - share;
    one.noise = {left > 0 ? deviation * deviation * freedom / left : 0, left};
    one.weight = trend == nullptr ? 0 : share / trend->position_spread;
    result.push_back(std::move(one));
  }
  return result;
}

std::vector<core::SampleVariance> noise_of(std::span<const JointSetting> settings) {
  std::vector<core::SampleVariance> noise;
  for (const JointSetting& setting : settings)
    noise.push_back(setting.noise);
  return noise;
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
std::vector<core::SampleVariance> noise_within(std::span<const JointSetting> settings) {
  std::vector<JointRuns> runs;
  for (const JointSetting& setting : settings)
    runs.push_back(setting.runs);
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
bool may_pool_within(std::span<const JointSetting> settings, double rest) {
  constexpr double kLeastShare = 0.1;
  if (settings.size() < 3) return false;
  std::vector<core::SampleVariance> noise = noise_within(settings);
  for (core::SampleVariance& one : noise)
    one.variance = std::max(one.variance, kLeastShare * rest);
  return may_pool(noise);
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

JointRuns joint_runs(const SettingFigures& setting, const std::string& type) {
  JointRuns runs;
  for (const int run : setting.runs) {
    std::vector<TimelineFigure> figures;
    std::copy_if(
        setting.steady.begin(), setting.steady.end(), std::back_inserter(figures),
        [&](const TimelineFigure& figure) { return figure.run == run && figure.type == type; });
    const double value = mean_ms(mean_over_ranks(figures, Repetition::kRun), type);
    const auto position = setting.positions.find(run);
    if (!std::isnan(value))
      runs.push_back({run, position == setting.positions.end() ? 0 : position->second, value});
  }
  return runs;
}

JointNoise::JointNoise(std::span<const JointRuns> settings) {
  std::vector<JointRuns> repeated;
  places_.resize(settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].size() < 2) continue;
    places_[i] = repeated.size();
    repeated.push_back(settings[i]);
  }
  if (repeated.size() < 2 || !places_.front()) return;
  if (const auto effect = order_effect(repeated)) {
    kind_ = effect->kind;
    p_ = effect->p;
    if (kind_ == Kind::kBlocks) {
      settings_ = fitted(runs_of_blocks(repeated, effect->blocks), nullptr);
      pool_ = effect->rest;
      is_pooled_ = may_pool_within(settings_, pool_.variance);
      return;
    }
    trend_percent_ = 100 * effect->slope / core::mean(values_of(repeated.front()));
    settings_ = fitted(repeated, &*effect);
  } else {
    settings_ = fitted(repeated, nullptr);
  }
  const std::vector<core::SampleVariance> noise = noise_of(settings_);
  pool_ = core::pooled_variance(noise);
  is_pooled_ = may_pool(noise);
  if (kind_ == Kind::kPair && is_pooled_) kind_ = Kind::kPooled;
}

bool JointNoise::knows(std::size_t setting) const {
  return kind_ != Kind::kPair && places_[setting].has_value();
}

double JointNoise::mean(std::size_t setting) const {
  return core::mean(values_of(settings_[*places_[setting]].runs));
}

double JointNoise::variance_of(const JointSetting& setting) const {
  return is_pooled_ ? std::max(setting.noise.variance, pool_.variance) : setting.noise.variance;
}

Change JointNoise::change(std::size_t baseline,
                          std::size_t test,
                          const Criterion& criterion) const {
  const JointSetting& from = settings_[*places_[baseline]];
  const JointSetting& to = settings_[*places_[test]];
  return kind_ == Kind::kBlocks ? within_blocks(from, to, criterion)
                                : beside_trend(from, to, criterion);
}

// Noise that all settings share has more degrees of freedom than that of two.
Change JointNoise::beside_trend(const JointSetting& from,
                                const JointSetting& to,
                                const Criterion& criterion) const {
  const double of_from = variance_of(from) / static_cast<double>(from.runs.size());
  const double of_to = variance_of(to) / static_cast<double>(to.runs.size());
  double of_slope = 0;
  for (const JointSetting& setting : settings_)
    of_slope += variance_of(setting) * setting.weight;
  const double apart = to.position - from.position;
  const double own =
      std::min(core::difference_freedom(of_from, from.runs.size(), of_to, to.runs.size()),
               std::max(from.noise.freedom + to.noise.freedom, 1.0));
  const double difference = core::mean(values_of(to.runs)) - core::mean(values_of(from.runs));
  const double deviation =
      std::sqrt(is_pooled_ ? pool_.variance : (variance_of(from) + variance_of(to)) / 2);
  return change_between(from.runs, to.runs, deviation,
                        difference_of(difference, of_from + of_to + of_slope * apart * apart,
                                      is_pooled_ ? pool_.freedom : own, criterion),
                        criterion);
}

// Pairs of runs in a block have the noise of these two settings alone, whatever that of others
// (Student's paired t test).
Change JointNoise::within_blocks(const JointSetting& from,
                                 const JointSetting& to,
                                 const Criterion& criterion) const {
  const std::vector<double> differences = block_differences(from.runs, to.runs);
  const auto blocks = static_cast<double>(differences.size());
  const double own = std::pow(core::sample_deviation(differences), 2);
  const double variance = is_pooled_ ? std::max(own, 2 * pool_.variance) : own;
  return change_between(from.runs, to.runs, std::sqrt(variance / 2),
                        difference_of(core::mean(differences), variance / blocks,
                                      is_pooled_ ? pool_.freedom : blocks - 1, criterion),
                        criterion);
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
