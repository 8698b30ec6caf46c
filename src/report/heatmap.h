// Grids of coloured cells, one panel beside the other, with one colour bar and one legend for all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/colors.h"
#include "report/gnuplot.h"

namespace assay::report {

struct HeatmapCell {
  std::optional<Color> color;  // hatched without
  std::string text = {};
};

struct HeatmapPanel {
  std::string title;
  std::vector<HeatmapCell> cells;  // row after row, from the top
};

// Segments of equal height from the bottom to the top, and texts beside them.
struct ColorBar {
  struct Tick {
    double position = 0;  // 0 at the bottom, 1 at the top
    std::string text;     // one line or several
  };

  std::string title;
  std::vector<Color> colors;
  std::vector<Tick> ticks;
};

// The bar of a scale whose ticks are at these values.
ColorBar color_bar(std::string title, const ColorScale& scale, const std::vector<double>& ticks);

// 1, 2 and 5 times powers of ten between low and high, where that is many 1 and 3 times; where it
// is fewer than two, the ends.
std::vector<double> logarithmic_ticks(double low, double high);

struct LegendEntry {
  HeatmapCell swatch;
  std::string text;
};

struct Heatmap {
  std::string title;
  std::string subtitle;
  std::string x_title;
  std::string y_title;
  std::vector<std::string> columns;  // what stands under each; categories, not a scale
  std::vector<std::string> rows;     // what stands beside each
  std::vector<HeatmapPanel> panels;  // at least one
  ColorBar bar;
  std::vector<LegendEntry> legend;
};

// As wide as a page or less, where the cells' texts can be read at that width; otherwise wider.
// Panels stand side by side; more than three, or with texts that would get too small, in rows.
Drawing drawing_of(const Heatmap& heatmap);

}  // namespace assay::report
