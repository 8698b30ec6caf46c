// What the heat maps of a grid have in common.
#pragma once

#include <functional>
#include <string>

#include "allreduce/plot/grid.h"
#include "report/heatmap.h"

namespace assay::allreduce {

// Titles and axes; no panel yet.
report::Heatmap empty_heatmap(const Grid& grid, std::string title);

// A panel whose cells come from a function of row and column.
report::HeatmapPanel panel_of(
    const Grid& grid,
    std::string title,
    const std::function<report::HeatmapCell(std::size_t, std::size_t)>& cell);

// A hatched cell; with a cross where the strategy was tried and failed.
report::HeatmapCell cell_without_time(const Measurement* tried);

// Explains hatched cells and crosses, if the figure has any.
void add_legend_of_missing(report::Heatmap& figure);

// A scale from white, no slower than the best, to red; at most to 100 %.
report::ColorScale difference_scale(double largest_percent);
report::ColorBar difference_bar(const report::ColorScale& scale, double largest_percent);

}  // namespace assay::allreduce
