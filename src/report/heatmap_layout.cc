#include "report/heatmap_layout.h"

#include <algorithm>
#include <cmath>

namespace assay::report {
namespace {

constexpr double kLargestCell = 64;
constexpr double kSmallestCell = 9;
constexpr double kSmallestText = 8;  // the smallest size that is readable on a printed page
constexpr double kTextShare = 0.92;  // share of a cell's width
constexpr double kBoldWidth = 1.1;   // width relative to plain text
constexpr std::size_t kMostInARow = 3;
constexpr double kSlant = 0.72;  // share of a text's length, when it is turned by 45 degrees

double widest(const std::vector<std::string>& texts) {
  double width = 0;
  for (const std::string& text : texts)
    width = std::max(width, text_width(text));
  return width;
}

double widest_cell_text(const Heatmap& map) {
  double width = 0;
  for (const HeatmapPanel& panel : map.panels) {
    for (const HeatmapCell& cell : panel.cells)
      width = std::max(width, text_width(cell.text));
  }
  return width;
}

double bar_room(const ColorBar& bar) {
  double width = text_width(bar.title) * kTextSize;
  for (const ColorBar::Tick& tick : bar.ticks)
    width = std::max(width, kBarWidth + 8 + text_width(tick.text) * kTickSize);
  return width + 24;
}

double least_bar_height(const ColorBar& bar) {
  double height = 0;
  for (const ColorBar::Tick& tick : bar.ticks)
    height += line_count(tick.text) * 14 + 3;
  return height;
}

double cell_width_for(const Heatmap& map, const HeatmapLayout& layout, std::size_t in_a_row) {
  const auto panels = static_cast<double>(in_a_row);
  const double free = kPageWidth - layout.left - layout.right - kMargin - kPanelGap * (panels - 1);
  return std::min(kLargestCell, free / panels / static_cast<double>(map.columns.size()));
}

void arrange_panels(const Heatmap& map, HeatmapLayout& layout) {
  const std::size_t count = map.panels.size();
  const double text = widest_cell_text(map);
  double least = std::max(kSmallestCell, text * kSmallestText / kTextShare);
  for (const HeatmapPanel& panel : map.panels) {
    least = std::max(least, text_width(panel.title) * kPanelTitleSize * kBoldWidth /
                                static_cast<double>(map.columns.size()));
  }
  std::size_t in_a_row = count > kMostInARow ? (count + 1) / 2 : count;
  in_a_row = std::min(in_a_row, kMostInARow);
  while (in_a_row > 1 && cell_width_for(map, layout, in_a_row) < least)
    --in_a_row;
  layout.panels_in_a_row = in_a_row;
  layout.panel_rows = (count + in_a_row - 1) / in_a_row;
  layout.cell_width = std::max(least, cell_width_for(map, layout, in_a_row));
  layout.cell_height = std::clamp(layout.cell_width * 0.85, 17.0, 34.0);
  layout.cell_text_size = std::min(kTextSize, layout.cell_height * 0.6);
  if (text > 0) {
    layout.cell_text_size = std::min(layout.cell_text_size, layout.cell_width * kTextShare / text);
  }
}

double legend_height(const Heatmap& map, double width) {
  if (map.legend.empty()) return 0;
  double lines = 1;
  double x = kMargin;
  for (const LegendEntry& entry : map.legend) {
    const double next = legend_entry_width(entry);
    if (x > kMargin && x + next > width) {
      ++lines;
      x = kMargin;
    }
    x += next;
  }
  return lines * kLegendLine + 10;
}

}  // namespace

double line_count(std::string_view text) {
  return 1 + static_cast<double>(std::count(text.begin(), text.end(), '\n'));
}

double legend_entry_width(const LegendEntry& entry) {
  return kSwatch + 8 + text_width(entry.text) * kTextSize + 22;
}

HeatmapLayout lay_out(const Heatmap& map) {
  HeatmapLayout layout;
  layout.left = kMargin + 22 + widest(map.rows) * kTickSize + 8;
  layout.tick_height = 12 + widest(map.columns) * kTickSize * kSlant;
  layout.right = bar_room(map.bar);
  arrange_panels(map, layout);
  const auto across = static_cast<double>(layout.panels_in_a_row);
  const double needed = layout.left + across * layout.panel_width(map) + (across - 1) * kPanelGap +
                        layout.right + kMargin;
  const double titles = std::max(text_width(map.title) * kTitleSize * kBoldWidth,
                                 text_width(map.subtitle) * kTextSize) +
                        2 * kMargin;
  layout.width = std::ceil(std::max(needed, titles));
  layout.bar_height = std::max(least_bar_height(map.bar), layout.panel_height(map));
  layout.body_height = std::max(static_cast<double>(layout.panel_rows) * layout.block_height(map),
                                kPanelTitleHeight + layout.bar_height + kTickSize);
  layout.legend_height = legend_height(map, layout.width);
  layout.height =
      std::ceil(kHeadHeight + layout.body_height + kAxisTitleHeight + layout.legend_height + 8);
  return layout;
}

}  // namespace assay::report
