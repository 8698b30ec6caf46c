// The figures of a grid, before they are drawn.
#pragma once

#include <string>
#include <vector>

#include "allreduce/plot/choice.h"
#include "allreduce/plot/figures.h"
#include "allreduce/plot/grid.h"
#include "report/curves.h"
#include "report/heatmap.h"

namespace assay::allreduce {

report::Heatmap time_figure(const Grid& grid);
report::Heatmap best_figure(const Grid& grid);
report::Heatmap difference_figure(const Grid& grid);
report::CurveFigure latency_figure(const Grid& grid);
report::Heatmap regret_figure(const Grid& grid, const std::vector<DrawnChoice>& choices);
report::Heatmap choice_difference_figure(const Grid& grid,
                                         const DrawnChoice& first,
                                         const DrawnChoice& second);

std::vector<BestStrategy> best_table(const Grid& grid);

// How often each strategy is the fastest, AUTO left out.
struct Share {
  Strategy strategy = Strategy::kNccl;
  std::size_t cells = 0;
  double percent = 0;  // of all cells with a time
};

std::vector<Share> shares_of(const Grid& grid);

// The same colour for a strategy in every figure.
report::Color color_of(Strategy strategy);

// What the wires of an H200 allow at least, microseconds: NVLink 4 moves 450 GB/s in each
// direction, of which about 370 carry data.
inline constexpr int kLimitSm = 90;
inline constexpr double kLinkGbps = 450;
inline constexpr double kUsableLinkGbps = 370;
double oneshot_limit_us(int world_size, double size_bytes, double gbps);
double twoshot_limit_us(int world_size, double size_bytes, double gbps);

// 8192 is "8 KB"; a KB has 1024 bytes.
std::string size_text(double size_bytes);

// A difference in percent, as it stands in a cell: at most four digits.
std::string percent_text(double percent);

}  // namespace assay::allreduce
