// The figures of a grid, before they are drawn.
#pragma once

#include <string>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/plot/figures.h"
#include "allreduce/plot/grid.h"
#include "report/curves.h"
#include "report/heatmap.h"

namespace assay::allreduce {

report::Heatmap time_figure(const Grid& grid);
report::Heatmap best_figure(const Grid& grid);
report::Heatmap difference_figure(const Grid& grid);
report::CurveFigure latency_figure(const Grid& grid);
report::Heatmap regret_figure(const Grid& grid, const std::vector<Chooser>& choices);
report::Heatmap choice_difference_figure(const Grid& grid,
                                         const Chooser& first,
                                         const Chooser& second);

std::vector<BestStrategy> best_table(const Grid& grid);

// How often a strategy is the fastest; AUTO is not counted.
struct Share {
  Strategy strategy = Strategy::kNccl;
  std::size_t cells = 0;
  double percent = 0;  // of all cells with a time
};

std::vector<Share> shares_of(const Grid& grid);

// A strategy has the same colour in every figure.
report::Color color_of(Strategy strategy);

// Returns "8 KiB" for 8192.
std::string size_text(double size_bytes);

// Formats a difference in percent for a cell, with at most four digits.
std::string percent_text(double percent);

}  // namespace assay::allreduce
