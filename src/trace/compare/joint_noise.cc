#include "trace/compare/joint_noise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/linear_equations.h"
#include "core/statistics.h"
#include "core/variance_test.h"

namespace assay::trace {
namespace {

constexpr double kUnequalSpreads = 0.05;

// Returns std::nullopt where not all times have one.
std::optional<JointRuns> logarithms_of(JointRuns runs) {
  for (JointRun& run : runs) {
    if (!(run.value > 0)) return std::nullopt;
    run.value = std::log(run.value);
  }
  return runs;
}

std::vector<double> times_of(const JointRuns& logarithms) {
  std::vector<double> times = values_of(logarithms);
  for (double& time : times)
    time = std::exp(time);
  return times;
}

// Both sides, in logarithms.
struct BothRuns {
  const JointRuns& baseline;
  const JointRuns& test;
  double level = 0;      // the mean of the baseline
  double deviation = 0;  // of the runs of either
};

Change change_between(const BothRuns& sides,
                      const core::Difference& of_logarithms,
                      const Criterion& criterion) {
  Change change = measure_change(times_of(sides.baseline), times_of(sides.test),
                                 model::Better::kLower, criterion);
  change.baseline = std::exp(sides.level);
  set_ratio(change, of_logarithms, model::Better::kLower, criterion);
  change.baseline_deviation = sides.deviation * change.baseline;
  change.test_deviation = sides.deviation * change.test;
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
    one.mean = core::mean(values_of(one.runs));
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
  const double ratio = baseline.freedom <= 1 ? 1 : kMostRatio;
  return baseline.variance <= ratio * core::pooled_variance(variances.subspan(1)).variance;
}

JointRuns runs_beside(const JointRuns& runs, const JointRuns& others) {
  std::set<int> blocks;
  for (const JointRun& run : others)
    blocks.insert(run.block);
  JointRuns result = runs;
  std::erase_if(result, [&](const JointRun& run) { return blocks.count(run.block) == 0; });
  std::sort(result.begin(), result.end(),
            [](const JointRun& a, const JointRun& b) { return a.block < b.block; });
  return result;
}

// Returns the differences from the baseline in the blocks that both have.
std::vector<double> block_differences(const JointRuns& baseline, const JointRuns& test) {
  std::map<int, double> of_baseline;
  for (const JointRun& run : baseline)
    of_baseline[run.block] = run.value;
  std::vector<double> differences;
  for (const JointRun& run : test)
    if (const auto beside = of_baseline.find(run.block); beside != of_baseline.end())
      differences.push_back(run.value - beside->second);
  return differences;
}

bool share_blocks(const JointRuns& baseline, const JointRuns& test) {
  return block_differences(baseline, test).size() >= 2;
}

// Returns the variance of each setting within blocks. Differences between two settings have the
// variances of both, which follow from those of all pairs by least squares: the estimate of F. E.
// Grubbs, Journal of the American Statistical Association 43, 1948, where all settings are in all
// blocks. It may be negative. Returns nothing where too few blocks link the settings.
std::vector<core::SampleVariance> noise_within(std::span<const JointSetting> settings) {
  const std::size_t count = settings.size();
  core::LinearEquations equations{
      .matrix = std::vector<std::vector<double>>(count, std::vector<double>(count, 0)),
      .right = std::vector<double>(count, 0)};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      const std::vector<double> differences = block_differences(settings[i].runs, settings[j].runs);
      if (differences.size() < 2) continue;
      const auto freedom = static_cast<double>(differences.size() - 1);
      equations.matrix[i][i] += freedom;
      equations.matrix[i][j] += freedom;
      equations.right[i] += freedom * std::pow(core::sample_deviation(differences), 2);
    }
  }
  const core::LinearSolution solution = core::solve(std::move(equations));
  if (solution.rank < count) return {};
  std::vector<core::SampleVariance> noise;
  for (std::size_t i = 0; i < count; ++i)
    noise.push_back({solution.unknowns[i], static_cast<double>(settings[i].runs.size()) - 1});
  return noise;
}

// Gives settings with several runs in blocks their noise within these, and returns whether that of
// all may be pooled. The variances of few settings about their blocks' means depend on each other,
// and can be negative: none counts as less than a small share of all.
bool set_noise_within(std::span<JointSetting> settings, double rest) {
  constexpr double kLeastShare = 0.1;
  std::vector<JointSetting> repeated(settings.begin(), settings.end());
  std::erase_if(repeated, [](const JointSetting& setting) { return setting.runs.size() < 2; });
  std::vector<core::SampleVariance> noise = noise_within(repeated);
  if (noise.empty()) return false;
  auto next = noise.begin();
  for (JointSetting& setting : settings) {
    setting.noise = {};
    if (setting.runs.size() < 2) continue;
    next->variance = std::max(next->variance, kLeastShare * rest);
    setting.noise = *next++;
  }
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
    const auto session = setting.sessions.find(run);
    if (!std::isnan(value))
      runs.push_back({run, position == setting.positions.end() ? 0 : position->second, value,
                      session == setting.sessions.end() ? 0 : session->second});
  }
  return runs;
}

JointNoise::JointNoise(std::span<const JointRuns> settings) {
  std::vector<JointRuns> repeated;
  places_.resize(settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    auto logarithms = logarithms_of(settings[i]);
    if (settings[i].size() < 2 || !logarithms) continue;
    places_[i] = repeated.size();
    repeated.push_back(std::move(*logarithms));
  }
  if (repeated.size() < 2 || !places_.front()) return;
  if (const auto effect = order_effect(repeated)) {
    kind_ = effect->is_trend ? Kind::kTrend : Kind::kBlocks;
    p_ = effect->p;
    if (kind_ == Kind::kBlocks) {
      settings_ = fitted(effect->runs, nullptr);
      for (std::size_t i = 0; i < settings_.size(); ++i)
        settings_[i].mean = effect->means[i];
      pool_ = effect->rest;
      is_pooled_ = set_noise_within(settings_, pool_.variance);
      return;
    }
    trend_percent_ = 100 * std::expm1(effect->slope);
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
  return kind_ != Kind::kPair && places_[setting] && !settings_[*places_[setting]].runs.empty();
}

bool JointNoise::knows(std::size_t baseline, std::size_t test) const {
  if (!knows(baseline) || !knows(test)) return false;
  if (kind_ != Kind::kBlocks) return true;
  const JointRuns& from = settings_[*places_[baseline]].runs;
  const JointRuns& to = settings_[*places_[test]].runs;
  if (is_pooled_ && std::min(from.size(), to.size()) > 1) return true;
  return share_blocks(from, to);
}

bool JointNoise::are_apart(std::size_t baseline, std::size_t test) const {
  return kind_ == Kind::kBlocks && places_[baseline] && places_[test] && !knows(baseline, test);
}

double JointNoise::mean(std::size_t setting) const {
  return std::exp(settings_[*places_[setting]].mean);
}

double JointNoise::variance_of(const JointSetting& setting) const {
  return is_pooled_ ? std::max(setting.noise.variance, pool_.variance) : setting.noise.variance;
}

Change JointNoise::change(std::size_t baseline,
                          std::size_t test,
                          const Criterion& criterion) const {
  const JointSetting& from = settings_[*places_[baseline]];
  const JointSetting& to = settings_[*places_[test]];
  if (kind_ != Kind::kBlocks) return beside_trend(from, to, criterion);
  return share_blocks(from.runs, to.runs) ? within_blocks(from, to, criterion)
                                          : across_blocks(baseline, test, criterion);
}

Change JointNoise::change_apart(std::size_t baseline, std::size_t test) const {
  const auto known = [this](std::size_t setting) { return knows(setting) ? mean(setting) : kNaN; };
  return single_change(known(baseline), known(test), model::Better::kLower);
}

// Spreads of few runs may differ much before Bartlett's test tells it. A mean of few runs hangs on
// its own spread, so it has the freedom that a pool of settings with as few runs would have.
double JointNoise::pool_freedom(std::size_t fewest_runs) const {
  double all = 0;
  double as_few = 0;
  for (const JointSetting& setting : settings_) {
    if (setting.runs.empty()) continue;
    all += static_cast<double>(setting.runs.size() - 1);
    as_few += static_cast<double>(std::min(setting.runs.size(), fewest_runs) - 1);
  }
  return pool_.freedom * as_few / all;
}

Change JointNoise::beside_trend(const JointSetting& from,
                                const JointSetting& to,
                                const Criterion& criterion) const {
  const double of_from = variance_of(from) / static_cast<double>(from.runs.size());
  const double of_to = variance_of(to) / static_cast<double>(to.runs.size());
  double of_slope = 0;
  for (const JointSetting& setting : settings_)
    of_slope += variance_of(setting) * setting.weight;
  const double apart = to.position - from.position;
  const double freedom =
      is_pooled_
          ? pool_freedom(std::min(from.runs.size(), to.runs.size()))
          : std::min(core::difference_freedom(of_from, from.runs.size(), of_to, to.runs.size()),
                     std::max(from.noise.freedom + to.noise.freedom, 1.0));
  const double deviation =
      std::sqrt(is_pooled_ ? pool_.variance : (variance_of(from) + variance_of(to)) / 2);
  return change_between(
      {from.runs, to.runs, from.mean, deviation},
      difference_of(to.mean - from.mean, of_from + of_to + of_slope * apart * apart, freedom,
                    criterion),
      criterion);
}

// Pairs of runs in a common block have the noise of these two settings alone, whatever that of
// others (Student's paired t test).
Change JointNoise::within_blocks(const JointSetting& from,
                                 const JointSetting& to,
                                 const Criterion& criterion) const {
  const std::vector<double> differences = block_differences(from.runs, to.runs);
  const std::size_t blocks = differences.size();
  const double own = std::pow(core::sample_deviation(differences), 2);
  const double variance = is_pooled_ ? std::max(own, 2 * pool_.variance) : own;
  const double freedom = is_pooled_ ? pool_freedom(blocks) : static_cast<double>(blocks) - 1;
  const JointRuns baseline = runs_beside(from.runs, to.runs);
  const JointRuns test = runs_beside(to.runs, from.runs);
  return change_between({baseline, test, core::mean(values_of(baseline)), std::sqrt(variance / 2)},
                        difference_of(core::mean(differences),
                                      variance / static_cast<double>(blocks), freedom, criterion),
                        criterion);
}

// The runs of all settings link the two, and tell their noise.
Change JointNoise::across_blocks(std::size_t baseline,
                                 std::size_t test,
                                 const Criterion& criterion) const {
  const JointSetting& from = settings_[*places_[baseline]];
  const JointSetting& to = settings_[*places_[test]];
  std::vector<JointRuns> runs;
  for (const JointSetting& setting : settings_)
    runs.push_back(setting.runs);
  const double variance = std::max(variance_of(from), variance_of(to));
  return change_between(
      {from.runs, to.runs, from.mean, std::sqrt(variance)},
      difference_of(to.mean - from.mean,
                    variance * difference_variance(runs, *places_[baseline], *places_[test]),
                    pool_freedom(std::min(from.runs.size(), to.runs.size())), criterion),
      criterion);
}

bool has_the_effect_of(const JointNoise& noise, const JointNoise& other) {
  if (noise.kind() != other.kind()) return false;
  if (noise.kind() != JointNoise::Kind::kTrend) return true;
  return std::signbit(noise.trend_percent()) == std::signbit(other.trend_percent()) &&
         percent_text(noise.trend_percent()) == percent_text(other.trend_percent());
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
