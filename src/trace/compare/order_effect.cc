#include "trace/compare/order_effect.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/linear_equations.h"
#include "core/statistics.h"

namespace assay::trace {
namespace {

// A sweep without any effect of its order is seldom told that it has one.
constexpr double kOrderMatters = 0.01;
// Fewer values beside an effect of the order tell neither it nor the noise.
constexpr double kLeastFreedom = 3;

double squared_deviations_within(std::span<const JointRuns> settings) {
  double squares = 0;
  for (const JointRuns& runs : settings) {
    const std::vector<double> values = values_of(runs);
    if (values.size() < 2) continue;
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

// Without noise, an effect that rounding makes of equal times would be certain.
bool is_rounding(double explained, std::span<const JointRuns> settings) {
  constexpr double kRounding = 1e-20;  // of a time, whose logarithm has it whatever its size
  return explained <= kRounding * static_cast<double>(run_count(settings));
}

// Returns the effect of a straight trend over the positions, the same for all settings (analysis of
// covariance); std::nullopt where positions are unknown or too few.
std::optional<OrderEffect> trend_of(std::span<const JointRuns> settings) {
  OrderEffect effect{.is_trend = true};
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
  if (is_rounding(explained, settings)) return std::nullopt;
  const double rest = std::max(squared_deviations_within(settings) - explained, 0.0);
  effect.rest = {rest / freedom, freedom};
  effect.p = core::f_probability(explained / effect.rest.variance, 1, freedom);
  return effect;
}

// Returns the runs of each setting that are in blocks with runs of others. A run that was made
// again long after its block, when another one had begun, is no part of it. The runs of a block
// that were made in different sessions are different blocks.
std::vector<JointRuns> runs_in_blocks(std::span<const JointRuns> settings) {
  using Block = std::pair<int, int>;
  std::map<int, std::pair<std::size_t, JointRun>> in_order;
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const JointRun& run : settings[i])
      in_order.emplace(run.position, std::pair(i, run));
  Block begun_last;
  std::map<Block, std::vector<std::pair<std::size_t, JointRun>>> blocks;
  for (const auto& [position, made] : in_order) {
    const Block block(made.second.block, made.second.session);
    if (blocks.count(block) == 0) begun_last = block;
    if (begun_last == block) blocks[block].push_back(made);
  }
  std::vector<JointRuns> result(settings.size());
  int number = 0;
  for (const auto& [block, runs] : blocks) {
    if (runs.size() < 2) continue;
    ++number;
    for (const auto& [setting, run] : runs) {
      result[setting].push_back(run);
      result[setting].back().block = number;
    }
  }
  return result;
}

// The runs of a block are by their settings.
std::map<int, std::map<std::size_t, double>> by_block(std::span<const JointRuns> settings) {
  std::map<int, std::map<std::size_t, double>> blocks;
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const JointRun& run : settings[i])
      blocks[run.block][i] = run.value;
  return blocks;
}

// Holds what the settings explain beside the blocks, by least squares.
struct WithinBlocks {
  std::size_t blocks = 0;
  std::size_t rank = 0;  // of the differences between settings
  std::vector<double> settings = {};
  double rest = 0;  // the sum of squared deviations beside both
};

double mean_of(const std::map<std::size_t, double>& block) {
  double sum = 0;
  for (const auto& [setting, value] : block)
    sum += value;
  return sum / static_cast<double>(block.size());
}

core::LinearEquations equations_within(const std::map<int, std::map<std::size_t, double>>& blocks,
                                       std::size_t count) {
  core::LinearEquations equations{
      .matrix = std::vector<std::vector<double>>(count, std::vector<double>(count, 0)),
      .right = std::vector<double>(count, 0)};
  for (const auto& [block, values] : blocks) {
    const double mean = mean_of(values);
    const auto size = static_cast<double>(values.size());
    for (const auto& [setting, value] : values) {
      equations.matrix[setting][setting] += 1;
      equations.right[setting] += value - mean;
      for (const auto& [other, of_other] : values)
        equations.matrix[setting][other] -= 1 / size;
    }
  }
  return equations;
}

double squared_deviations_of(const std::map<std::size_t, double>& block) {
  const double mean = mean_of(block);
  double squares = 0;
  for (const auto& [setting, value] : block)
    squares += (value - mean) * (value - mean);
  return squares;
}

WithinBlocks fit_within(std::span<const JointRuns> settings) {
  const auto blocks = by_block(settings);
  const core::LinearEquations equations = equations_within(blocks, settings.size());
  WithinBlocks fit{.blocks = blocks.size()};
  for (const auto& [block, values] : blocks)
    fit.rest += squared_deviations_of(values);
  core::LinearSolution solution = core::solve(equations);
  fit.rest -= std::inner_product(equations.right.begin(), equations.right.end(),
                                 solution.unknowns.begin(), 0.0);
  fit.rest = std::max(fit.rest, 0.0);
  fit.rank = solution.rank;
  fit.settings = std::move(solution.unknowns);
  return fit;
}

// Returns the settings at the level of all runs.
std::vector<double> means_beside(std::span<const JointRuns> settings,
                                 std::span<const double> effects) {
  double level = 0;
  const auto count = static_cast<double>(run_count(settings));
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const JointRun& run : settings[i])
      level += (run.value - effects[i]) / count;
  std::vector<double> means;
  for (const double effect : effects)
    means.push_back(level + effect);
  return means;
}

// Leaves those runs that blocks link with the first setting. Settings that were all made again in a
// later session are linked with each other alone, and tell nothing of the others' blocks.
void keep_linked(std::vector<JointRuns>& settings) {
  std::vector<bool> is_linked(settings.size(), false);
  is_linked.front() = true;
  std::set<int> blocks;
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      is_linked[i] = is_linked[i] || std::any_of(settings[i].begin(), settings[i].end(),
                                                 [&blocks](const JointRun& run) {
                                                   return blocks.count(run.block) > 0;
                                                 });
      if (!is_linked[i]) continue;
      for (const JointRun& run : settings[i])
        grows = blocks.insert(run.block).second || grows;
    }
  }
  for (std::size_t i = 0; i < settings.size(); ++i)
    if (!is_linked[i]) settings[i].clear();
}

// Returns the effect of the blocks (analysis of variance of settings and blocks that add up, which
// blocks without all settings leave possible); std::nullopt where positions are unknown, or blocks
// are too few or do not link all settings.
std::optional<OrderEffect> blocks_of(std::span<const JointRuns> settings) {
  for (const JointRuns& runs : settings)
    for (const JointRun& run : runs)
      if (run.position == 0) return std::nullopt;
  OrderEffect effect{.runs = runs_in_blocks(settings)};
  keep_linked(effect.runs);
  const auto compared = static_cast<std::size_t>(std::count_if(
      effect.runs.begin(), effect.runs.end(), [](const JointRuns& runs) { return !runs.empty(); }));
  const WithinBlocks fit = fit_within(effect.runs);
  if (fit.rank + 1 < compared) return std::nullopt;
  const double freedom = static_cast<double>(run_count(effect.runs)) -
                         static_cast<double>(fit.blocks) - static_cast<double>(fit.rank);
  if (freedom < kLeastFreedom) return std::nullopt;
  effect.rest = {fit.rest / freedom, freedom};
  const double others = static_cast<double>(fit.blocks) - 1;
  const double explained = std::max(squared_deviations_within(effect.runs) - fit.rest, 0.0);
  if (is_rounding(explained, effect.runs)) return std::nullopt;
  effect.p = core::f_probability(explained / others / effect.rest.variance, others, freedom);
  effect.means = means_beside(effect.runs, fit.settings);
  return effect;
}

}  // namespace

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

std::optional<OrderEffect> order_effect(std::span<const JointRuns> settings) {
  constexpr double kMuchMore = 5;
  const auto matters = [](const std::optional<OrderEffect>& effect) {
    return effect && effect->p < kOrderMatters;
  };
  auto trend = trend_of(settings);
  auto blocks = blocks_of(settings);
  if (matters(trend) &&
      !(matters(blocks) && blocks->rest.variance * kMuchMore < trend->rest.variance))
    return trend;
  return matters(blocks) ? std::move(blocks) : std::nullopt;
}

double difference_variance(std::span<const JointRuns> settings, std::size_t a, std::size_t b) {
  core::LinearEquations equations = equations_within(by_block(settings), settings.size());
  equations.right.assign(settings.size(), 0);
  equations.right[a] = 1;
  equations.right[b] = -1;
  const core::LinearSolution solution = core::solve(std::move(equations));
  return solution.unknowns[a] - solution.unknowns[b];
}

}  // namespace assay::trace
