#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "allreduce/plot/drawings.h"
#include "allreduce/plot/heatmap_parts.h"

namespace assay::allreduce {
namespace {

constexpr double kMostPercent = 50;
constexpr double kLeastPercent = 1;
constexpr report::Color kSame = report::color_of(0xe6e6e6);

double scale_end(const std::vector<ChoiceDifference>& differing) {
  double most = 0;
  for (const ChoiceDifference& one : differing)
    most = std::max(most, std::abs(one.cost_percent.value_or(0)));
  return std::clamp(most, kLeastPercent, kMostPercent);
}

std::string signed_percent(double percent) {
  return (percent > 0 ? "+" : "") + percent_text(percent);
}

report::HeatmapCell chosen_cell(const Choice& choice, const Cell& cell) {
  const auto strategy = choice.strategy(cell);
  if (!strategy) return {};
  return {.color = color_of(*strategy)};
}

report::HeatmapCell cost_cell(const Grid& grid,
                              const std::vector<ChoiceDifference>& differing,
                              const report::ColorScale& scale,
                              const Cell& cell,
                              bool both_choose) {
  const auto found = std::find_if(differing.begin(), differing.end(),
                                  [&](const ChoiceDifference& one) { return one.cell == cell; });
  if (found == differing.end()) {
    if (!both_choose) return {};
    return {.color = kSame};
  }
  static_cast<void>(grid);
  if (!found->cost_percent) return {.color = std::nullopt, .text = "?"};
  return {.color = scale.at(*found->cost_percent), .text = signed_percent(*found->cost_percent)};
}

}  // namespace

report::Heatmap choice_difference_figure(const Grid& grid,
                                         const Choice& first,
                                         const Choice& second) {
  report::Heatmap figure = empty_heatmap(
      grid,
      fmt::format("Two Tables and What Their Difference Costs (Fusion: {})", name_of(grid.fusion)));
  const std::vector<ChoiceDifference> differing = differences(grid, first, second);
  const double end = scale_end(differing);
  const report::ColorScale scale{.colors = report::blue_to_red(), .low = -end, .high = end};
  for (const Choice* choice : {&first, &second}) {
    figure.panels.push_back(panel_of(grid, choice->name, [&](std::size_t row, std::size_t column) {
      return chosen_cell(*choice, cell_of(grid, row, column));
    }));
  }
  figure.panels.push_back(panel_of(
      grid,
      fmt::format("time by the second beside the first, {} of {} cells differ", differing.size(),
                  grid.hidden_sizes.size() * grid.token_counts.size()),
      [&](std::size_t row, std::size_t column) {
        const Cell cell = cell_of(grid, row, column);
        return cost_cell(grid, differing, scale, cell,
                         first.strategy(cell).has_value() && second.strategy(cell).has_value());
      }));
  figure.bar = report::color_bar("Slower (%)", scale, {-end, -end / 2, 0, end / 2, end});
  for (const StrategySpec& spec : kStrategies) {
    if (spec.strategy == Strategy::kAuto) continue;
    figure.legend.push_back(
        {.swatch = {.color = color_of(spec.strategy)}, .text = std::string(spec.name)});
  }
  figure.legend.push_back({.swatch = {.color = kSame}, .text = "same choice"});
  figure.legend.push_back(
      {.swatch = {.color = std::nullopt, .text = "?"}, .text = "a choice without a time"});
  add_legend_of_missing(figure);
  return figure;
}

}  // namespace assay::allreduce
