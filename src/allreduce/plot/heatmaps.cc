#include "allreduce/plot/heatmaps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "allreduce/decision.h"
#include "allreduce/plot/drawings.h"

namespace assay::allreduce {
namespace {

constexpr const char* kTied = "•";

std::string title_of(const char* what, const Grid& grid) {
  return fmt::format("{} (Fusion: {})", what, name_of(grid.fusion));
}

report::ColorScale time_scale(const Grid& grid) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const Measurement& one : grid.measurements) {
    if (one.outcome != Outcome::kOk || !(one.time_us > 0)) continue;
    low = std::min(low, one.time_us);
    high = std::max(high, one.time_us);
  }
  if (low >= high) {  // a single time is put in the middle of the scale
    low *= 0.9;
    high *= 1.1;
  }
  return {.colors = report::viridis(),
          .low = low,
          .high = high,
          .spacing = report::Spacing::kLogarithmic};
}

std::string panel_title(const Grid& grid, Strategy strategy) {
  const bool any =
      std::any_of(grid.measurements.begin(), grid.measurements.end(), [&](const Measurement& one) {
        return one.strategy == strategy && one.outcome == Outcome::kOk && one.time_us > 0;
      });
  return fmt::format("{}{}", name_of(strategy), any ? "" : " - no data");
}

report::HeatmapCell best_cell(const Grid& grid, std::size_t row, std::size_t column) {
  const Measurement* best = grid.best(row, column);
  if (best == nullptr) return {};
  const bool tied = are_tied(*best, grid.runner_up(row, column));
  return {.color = color_of(best->strategy), .text = tied ? kTied : ""};
}

// The colours go from the bottom to the top, so that the first strategy is on top.
report::ColorBar share_bar(const std::vector<Share>& shares) {
  report::ColorBar bar{.title = "Best strategy", .colors = {}, .ticks = {}};
  const auto count = static_cast<double>(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[shares.size() - 1 - i];
    bar.colors.push_back(color_of(share.strategy));
    bar.ticks.push_back({(static_cast<double>(i) + 0.5) / count,
                         fmt::format("{}\n{} {}, {:.1f} %", name_of(share.strategy), share.cells,
                                     share.cells == 1 ? "cell" : "cells", share.percent)});
  }
  return bar;
}

using Difference =
    std::function<std::optional<double>(std::size_t which, std::size_t row, std::size_t column)>;

double largest(const Grid& grid, std::size_t count, const Difference& difference) {
  double found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
      for (std::size_t column = 0; column < grid.token_counts.size(); ++column)
        found = std::max(found, difference(i, row, column).value_or(0));
    }
  }
  return found;
}

report::HeatmapCell percent_cell(const report::ColorScale& scale, double percent) {
  return {.color = scale.at(percent), .text = percent_text(percent)};
}

}  // namespace

bool are_tied(const Measurement& best, const Measurement* next) {
  return next != nullptr && is_tie(timing_of(*next), timing_of(best), kDefaultTie);
}

std::string tie_text() {
  return fmt::format("within {:g} %, or their intervals overlap", kDefaultTie * kPercent);
}

report::Heatmap time_figure(const Grid& grid) {
  report::Heatmap figure = empty_heatmap(grid, title_of("AllReduce Performance Heatmaps", grid));
  const report::ColorScale scale = time_scale(grid);
  for (const Strategy strategy : grid.strategies) {
    figure.panels.push_back(
        panel_of(grid, panel_title(grid, strategy), [&](std::size_t row, std::size_t column) {
          const Measurement* one = grid.timed(strategy, row, column);
          if (one == nullptr) return cell_without_time(grid.tried(strategy, row, column));
          return report::HeatmapCell{.color = scale.at(one->time_us)};
        }));
  }
  figure.bar =
      report::color_bar("Time (μs)", scale, report::logarithmic_ticks(scale.low, scale.high));
  add_legend_of_missing(figure);
  return figure;
}

report::Heatmap best_figure(const Grid& grid) {
  report::Heatmap figure = empty_heatmap(grid, title_of("Best AllReduce Strategy", grid));
  figure.panels.push_back(panel_of(
      grid, "", [&](std::size_t row, std::size_t column) { return best_cell(grid, row, column); }));
  figure.bar = share_bar(shares_of(grid));
  const auto& cells = figure.panels.front().cells;
  if (std::any_of(cells.begin(), cells.end(),
                  [](const auto& cell) { return cell.text == kTied; })) {
    figure.legend.push_back(
        {.swatch = {.color = report::kWhite, .text = kTied}, .text = "a tie: " + tie_text()});
  }
  add_legend_of_missing(figure);
  return figure;
}

report::Heatmap difference_figure(const Grid& grid) {
  report::Heatmap figure =
      empty_heatmap(grid, title_of("Strategy Performance Difference from Best Strategy", grid));
  const auto difference = [&](std::size_t which, std::size_t row, std::size_t column) {
    return grid.difference_percent(grid.strategies[which], row, column);
  };
  const double most = largest(grid, grid.strategies.size(), difference);
  const report::ColorScale scale = difference_scale(most);
  for (std::size_t i = 0; i < grid.strategies.size(); ++i) {
    figure.panels.push_back(panel_of(
        grid, panel_title(grid, grid.strategies[i]), [&](std::size_t row, std::size_t column) {
          const auto percent = difference(i, row, column);
          if (percent) return percent_cell(scale, *percent);
          return cell_without_time(grid.tried(grid.strategies[i], row, column));
        }));
  }
  figure.bar = difference_bar(scale, most);
  add_legend_of_missing(figure);
  return figure;
}

report::Heatmap regret_figure(const Grid& grid, const std::vector<Chooser>& choices) {
  report::Heatmap figure =
      empty_heatmap(grid, title_of("Time Lost Beside the Best Strategy", grid));
  for (const std::string& text : texts_of_arms(choices))
    figure.subtitle += "; " + text;
  const auto regret = [&](std::size_t which, std::size_t row, std::size_t column) {
    return regret_percent(grid, choices[which], row, column);
  };
  const double most = largest(grid, choices.size(), regret);
  const report::ColorScale scale = difference_scale(most);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    figure.panels.push_back(
        panel_of(grid, choices[i].name, [&](std::size_t row, std::size_t column) {
          const auto percent = regret(i, row, column);
          return percent ? percent_cell(scale, *percent) : report::HeatmapCell{};
        }));
  }
  figure.bar = difference_bar(scale, most);
  add_legend_of_missing(figure);
  return figure;
}

std::vector<BestStrategy> best_table(const Grid& grid) {
  std::vector<BestStrategy> table;
  for (std::size_t row = grid.hidden_sizes.size(); row-- > 0;) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column) {
      const Measurement* best = grid.best(row, column);
      if (best == nullptr) continue;
      table.push_back(
          {grid.token_counts[column], grid.hidden_sizes[row], best->strategy, best->time_us});
    }
  }
  return table;
}

std::vector<Share> shares_of(const Grid& grid) {
  const std::vector<BestStrategy> table = best_table(grid);
  std::vector<Share> shares;
  for (const Strategy strategy : grid.strategies) {
    if (strategy == Strategy::kAuto) continue;
    const auto cells = static_cast<std::size_t>(
        std::count_if(table.begin(), table.end(),
                      [&](const BestStrategy& row) { return row.best_strategy == strategy; }));
    const double percent =
        table.empty() ? 0 : 100.0 * static_cast<double>(cells) / static_cast<double>(table.size());
    shares.push_back({strategy, cells, percent});
  }
  return shares;
}

report::Color color_of(Strategy strategy) {
  return report::category_color(static_cast<std::size_t>(&spec_of(strategy) - kStrategies.data()));
}

std::string percent_text(double percent) {
  if (percent == 0) return "0";
  if (std::abs(percent) < 99.95) return fmt::format("{:.1f}", percent);
  return percent < 9999.5 ? fmt::format("{:.0f}", percent) : fmt::format("{:.0f}k", percent / 1000);
}

namespace {

constexpr const char* kFailed = "×";
constexpr double kMostPercent = 100;  // the scale ends here; slower cells are just as red
constexpr double kLeastPercent = 0.1;

// Returns about five ticks, in steps of 1, 2 or 5 times a power of ten.
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
