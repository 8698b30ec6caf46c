// The parts that the heat maps of a grid have in common.
#pragma once

#include <functional>
#include <string>

#include "allreduce/plot/grid.h"
#include "report/heatmap.h"

namespace assay::allreduce {

// Returns a heat map with titles and axes but no panel.
report::Heatmap empty_heatmap(const Grid& grid, std::string title);

// Returns a panel whose cells come from a function of row and column.
report::HeatmapPanel panel_of(
    const Grid& grid,
    std::string title,
    const std::function<report::HeatmapCell(std::size_t, std::size_t)>& cell);

// Returns whether the fastest two are a tie by the rule and the default of `codegen` and `explain`;
// `next` may be nullptr.
bool are_tied(const Measurement& best, const Measurement* next);
// Says when two are: "within 2 %, or their intervals overlap".
std::string tie_text();

// Returns a hatched cell, with a cross if the strategy was tried and failed. `tried` may be
// nullptr.
report::HeatmapCell cell_without_time(const Measurement* tried);

// Adds legend entries for hatched cells and crosses, if the figure has any.
void add_legend_of_missing(report::Heatmap& figure);

// Returns a scale from white (no slower than the best) to red, which ends at `largest_percent` or
// at 100 %, whichever is less.
report::ColorScale difference_scale(double largest_percent);
report::ColorBar difference_bar(const report::ColorScale& scale, double largest_percent);

}  // namespace assay::allreduce
