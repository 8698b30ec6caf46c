#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "allreduce/plot/drawings.h"
#include "allreduce/plot/heatmap_parts.h"

namespace assay::allreduce {
namespace {

constexpr const char* kUnknownCost = "?";
constexpr report::Color kSame = report::color_of(0xe6e6e6);

// Round, so that the ticks are.
double scale_end(const std::vector<ChoiceDifference>& differing) {
  double most = 0;
  for (const ChoiceDifference& one : differing)
    most = std::max(most, std::abs(one.cost_percent.value_or(0)));
  for (const double end : {1.0, 2.0, 5.0, 10.0, 20.0}) {
    if (most <= end) return end;
  }
  return 50;
}

// Four characters where it matters, so that panels can stand side by side.
std::string signed_percent(double percent) {
  if (std::abs(percent) < 9.95) return fmt::format("{:+.1f}", percent);
  return fmt::format("{:+.0f}", percent);
}

report::HeatmapCell chosen_cell(const DrawnChoice& choice, const Cell& cell, Launch launch) {
  const auto strategy = choice.strategy(cell, launch);
  if (!strategy) return {};
  return {.color = color_of(*strategy)};
}

report::HeatmapCell cost_cell(const std::vector<ChoiceDifference>& differing,
                              const report::ColorScale& scale,
                              const Cell& cell) {
  const auto found = std::find_if(differing.begin(), differing.end(),
                                  [&](const ChoiceDifference& one) { return one.cell == cell; });
  if (found == differing.end()) return {.color = kSame};
  if (!found->cost_percent) return {.color = std::nullopt, .text = kUnknownCost};
  return {.color = scale.at(*found->cost_percent), .text = signed_percent(*found->cost_percent)};
}

// What the panels hold: strategies by their colours, cells without a difference, without a cost.
void add_legend(report::Heatmap& figure) {
  const auto holds = [&](const auto& test) {
    return std::any_of(figure.panels.begin(), figure.panels.end(), [&](const auto& panel) {
      return std::any_of(panel.cells.begin(), panel.cells.end(), test);
    });
  };
  for (const StrategySpec& spec : kStrategies) {
    const report::HeatmapCell swatch{.color = color_of(spec.strategy)};
    if (holds([&](const auto& cell) { return cell.color == swatch.color; })) {
      figure.legend.push_back({.swatch = swatch, .text = std::string(spec.name)});
    }
  }
  figure.legend.push_back({.swatch = {.color = kSame}, .text = "same choice"});
  if (holds([](const auto& cell) { return cell.text == kUnknownCost; })) {
    figure.legend.push_back({.swatch = {.color = std::nullopt, .text = kUnknownCost},
                             .text = "a choice without a time"});
  }
}

}  // namespace

report::Heatmap choice_difference_figure(const Grid& grid,
                                         const DrawnChoice& first,
                                         const DrawnChoice& second) {
  report::Heatmap figure = empty_heatmap(
      grid,
      fmt::format("Two Tables and What Their Difference Costs (Fusion: {})", name_of(grid.fusion)));
  const std::vector<ChoiceDifference> differing = differences(grid, first, second);
  const double end = scale_end(differing);
  const report::ColorScale scale{.colors = report::blue_to_red(), .low = -end, .high = end};
  for (const DrawnChoice* choice : {&first, &second}) {
    figure.panels.push_back(panel_of(grid, choice->name, [&](std::size_t row, std::size_t column) {
      return chosen_cell(*choice, cell_of(grid, row, column), grid.launch);
    }));
  }
  figure.panels.push_back(panel_of(
      grid,
      fmt::format("second beside first: {} of {} cells differ", differing.size(),
                  grid.hidden_sizes.size() * grid.token_counts.size()),
      [&](std::size_t row, std::size_t column) {
        const Cell cell = cell_of(grid, row, column);
        const bool both = first.strategy(cell, grid.launch) && second.strategy(cell, grid.launch);
        return both ? cost_cell(differing, scale, cell) : report::HeatmapCell{};
      }));
  figure.bar = report::color_bar("Slower (%)", scale, {-end, -end / 2, 0, end / 2, end});
  add_legend(figure);
  add_legend_of_missing(figure);
  return figure;
}

}  // namespace assay::allreduce
