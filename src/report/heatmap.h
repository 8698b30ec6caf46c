// Draws grids of coloured cells as panels side by side, with one colour bar and one legend for all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/colors.h"
#include "report/gnuplot.h"

namespace assay::report {

struct HeatmapCell {
  std::optional<Color> color;  // the cell is hatched without a colour
  std::string text = {};
};

struct HeatmapPanel {
  std::string title;
  std::vector<HeatmapCell> cells;  // row by row, from the top
};

// Segments of equal height from bottom to top, with texts beside them.
struct ColorBar {
  struct Tick {
    double position = 0;  // 0 at the bottom, 1 at the top
    std::string text;     // one or several lines
  };

  std::string title;
  std::vector<Color> colors;
  std::vector<Tick> ticks;
};

// Returns the colour bar of a scale, with ticks at these values.
ColorBar color_bar(std::string title, const ColorScale& scale, const std::vector<double>& ticks);

// Returns 1, 2 and 5 times the powers of ten between low and high; only 1 and 3 times where that is
// too many, and the ends where it is fewer than two.
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
  std::vector<std::string> columns;  // text under each column; categories, not a scale
  std::vector<std::string> rows;     // text beside each row
  std::vector<HeatmapPanel> panels;  // at least one
  ColorBar bar;
  std::vector<LegendEntry> legend;
};

// Returns a drawing no wider than a page if the texts in the cells are readable at that width,
// otherwise wider. Panels are side by side; if there are more than three, or their texts would
// become too small, they are arranged in rows.
Drawing drawing_of(const Heatmap& heatmap);

}  // namespace assay::report
