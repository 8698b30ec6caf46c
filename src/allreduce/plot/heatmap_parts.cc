#include "allreduce/plot/heatmap_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace assay::allreduce {
namespace {

constexpr const char* kFailed = "×";
constexpr double kMostPercent = 100;  // beyond, all cells are as red as they get
constexpr double kLeastPercent = 0.1;

// Steps of 1, 2 or 5 times a power of ten, about five of them.
std::vector<double> ticks_up_to(double high) {
  const double rough = high / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= high * (1 + 1e-9); ++i)
    ticks.push_back(i * step);
  return ticks;
}

bool any_cell(const report::Heatmap& figure,
              const std::function<bool(const report::HeatmapCell&)>& test) {
  return std::any_of(figure.panels.begin(), figure.panels.end(),
                     [&](const report::HeatmapPanel& panel) {
                       return std::any_of(panel.cells.begin(), panel.cells.end(), test);
                     });
}

}  // namespace

report::Heatmap empty_heatmap(const Grid& grid, std::string title) {
  report::Heatmap figure;
  figure.title = std::move(title);
  figure.subtitle = grid.subject();
  figure.x_title = "num_tokens";
  figure.y_title = "hidden_size";
  for (const auto tokens : grid.token_counts)
    figure.columns.push_back(std::to_string(tokens));
  for (const auto hidden : grid.hidden_sizes)
    figure.rows.push_back(std::to_string(hidden));
  return figure;
}

report::HeatmapPanel panel_of(
    const Grid& grid,
    std::string title,
    const std::function<report::HeatmapCell(std::size_t, std::size_t)>& cell) {
  report::HeatmapPanel panel{.title = std::move(title), .cells = {}};
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column)
      panel.cells.push_back(cell(row, column));
  }
  return panel;
}

report::HeatmapCell cell_without_time(const Measurement* tried) {
  const bool failed =
      tried != nullptr && tried->outcome != Outcome::kOk && tried->outcome != Outcome::kUnsupported;
  return {.color = std::nullopt, .text = failed ? kFailed : ""};
}

void add_legend_of_missing(report::Heatmap& figure) {
  if (any_cell(figure, [](const auto& cell) { return !cell.color && cell.text.empty(); })) {
    figure.legend.push_back({.swatch = {}, .text = "no data"});
  }
  if (any_cell(figure, [](const auto& cell) { return cell.text == kFailed; })) {
    figure.legend.push_back({.swatch = {.color = std::nullopt, .text = kFailed},
                             .text = "wrong result, error or hang"});
  }
}

report::ColorScale difference_scale(double largest_percent) {
  return {.colors = report::white_to_red(),
          .low = 0,
          .high = std::clamp(largest_percent, kLeastPercent, kMostPercent)};
}

report::ColorBar difference_bar(const report::ColorScale& scale, double largest_percent) {
  report::ColorBar bar = report::color_bar("Difference (%)", scale, ticks_up_to(scale.high));
  if (largest_percent > kMostPercent) bar.ticks.back().text = "≥ " + bar.ticks.back().text;
  return bar;
}

}  // namespace assay::allreduce
