#include "report/heatmap.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "report/canvas.h"
#include "report/heatmap_layout.h"

namespace assay::report {
namespace {

constexpr double kSeam = 0.5;  // white margin on each side of a cell

void add_swatch(Canvas& canvas, const Box& box, const HeatmapCell& cell, double text_size) {
  const Box inside{box.x + kSeam, box.y + kSeam, box.width - 2 * kSeam, box.height - 2 * kSeam};
  if (cell.color) {
    canvas.add(inside, *cell.color);
  } else {
    canvas.add_hatched(inside);
  }
  if (cell.text.empty()) return;
  canvas.add(Text{.x = box.x + box.width / 2,
                  .y = box.y + box.height / 2,
                  .text = cell.text,
                  .size = text_size,
                  .align = Align::kCenter,
                  .color = cell.color ? readable_on(*cell.color) : kBlack});
}

void add_panel(Canvas& canvas,
               const Heatmap& map,
               const HeatmapLayout& layout,
               const HeatmapPanel& panel,
               const Box& box) {
  ASSAY_CHECK(panel.cells.size() == map.rows.size() * map.columns.size(), "a cell a place");
  canvas.add(Text{.x = box.x + box.width / 2,
                  .y = box.y - 11,
                  .text = panel.title,
                  .size = kPanelTitleSize,
                  .align = Align::kCenter,
                  .weight = Weight::kBold});
  for (std::size_t i = 0; i < panel.cells.size(); ++i) {
    const std::size_t row_index = i / map.columns.size();
    const auto column = static_cast<double>(i % map.columns.size());
    const auto row = static_cast<double>(row_index);
    add_swatch(canvas,
               {box.x + column * layout.cell_width, box.y + row * layout.cell_height,
                layout.cell_width, layout.cell_height},
               panel.cells[i], layout.cell_text_size);
  }
  canvas.add_outline(box);
}

void add_row_ticks(Canvas& canvas,
                   const Heatmap& map,
                   const HeatmapLayout& layout,
                   const Box& box) {
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    canvas.add(Text{.x = box.x - 6,
                    .y = box.y + (static_cast<double>(i) + 0.5) * layout.cell_height,
                    .text = map.rows[i],
                    .size = kTickSize,
                    .align = Align::kRight});
  }
}

void add_column_ticks(Canvas& canvas,
                      const Heatmap& map,
                      const HeatmapLayout& layout,
                      const Box& box) {
  const auto step = static_cast<std::size_t>(std::ceil((kTickSize + 3) / layout.cell_width));
  for (std::size_t i = 0; i < map.columns.size(); i += step) {
    canvas.add(Text{.x = box.x + (static_cast<double>(i) + 0.5) * layout.cell_width + 3,
                    .y = box.y + box.height + 9,
                    .text = map.columns[i],
                    .size = kTickSize,
                    .align = Align::kRight,
                    .degrees = 45});
  }
}

void add_panels(Canvas& canvas, const Heatmap& map, const HeatmapLayout& layout) {
  for (std::size_t i = 0; i < map.panels.size(); ++i) {
    const std::size_t panel_row = i / layout.panels_in_a_row;
    const auto across = static_cast<double>(i % layout.panels_in_a_row);
    const auto down = static_cast<double>(panel_row);
    const Box box{layout.left + across * (layout.panel_width(map) + kPanelGap),
                  kHeadHeight + down * layout.block_height(map) + kPanelTitleHeight,
                  layout.panel_width(map), layout.panel_height(map)};
    add_panel(canvas, map, layout, map.panels[i], box);
    add_column_ticks(canvas, map, layout, box);
    if (i % layout.panels_in_a_row == 0) add_row_ticks(canvas, map, layout, box);
  }
}

void add_titles(Canvas& canvas, const Heatmap& map, const HeatmapLayout& layout) {
  canvas.add(Text{.x = layout.width / 2,
                  .y = 20,
                  .text = map.title,
                  .size = kTitleSize,
                  .align = Align::kCenter,
                  .weight = Weight::kBold});
  canvas.add(Text{.x = layout.width / 2,
                  .y = 41,
                  .text = map.subtitle,
                  .size = kTextSize,
                  .align = Align::kCenter,
                  .color = color_of(0x444444)});
  const double blocks = static_cast<double>(layout.panel_rows) * layout.block_height(map);
  const auto across = static_cast<double>(layout.panels_in_a_row);
  canvas.add(
      Text{.x = layout.left + (across * (layout.panel_width(map) + kPanelGap) - kPanelGap) / 2,
           .y = kHeadHeight + blocks + kAxisTitleHeight / 2,
           .text = map.x_title,
           .size = kTextSize,
           .align = Align::kCenter});
  for (std::size_t row = 0; row < layout.panel_rows; ++row) {
    canvas.add(Text{.x = kMargin,
                    .y = kHeadHeight + static_cast<double>(row) * layout.block_height(map) +
                         kPanelTitleHeight + layout.panel_height(map) / 2,
                    .text = map.y_title,
                    .size = kTextSize,
                    .align = Align::kCenter,
                    .degrees = 90});
  }
}

void add_bar(Canvas& canvas, const Heatmap& map, const HeatmapLayout& layout) {
  const auto across = static_cast<double>(layout.panels_in_a_row);
  const double x = layout.left + across * (layout.panel_width(map) + kPanelGap) - kPanelGap + 20;
  const double top = kHeadHeight + kPanelTitleHeight;
  const double step = layout.bar_height / static_cast<double>(map.bar.colors.size());
  double bottom = top + layout.bar_height;
  canvas.add(Text{.x = x, .y = top - 17, .text = map.bar.title});
  for (const ColorBar::Tick& tick : map.bar.ticks) {
    const double lines = line_count(tick.text);
    // y is the place of the first line when a text has several.
    canvas.add(Text{.x = x + kBarWidth + 6,
                    .y = bottom - tick.position * layout.bar_height - (lines - 1) * kTickSize * 0.6,
                    .text = tick.text,
                    .size = kTickSize});
  }
  canvas.add_outline({x, top, kBarWidth, layout.bar_height});
  for (const Color& color : map.bar.colors) {
    bottom -= step;
    canvas.add({x, bottom, kBarWidth, step + kSeam}, color);  // leaves no seam between steps
  }
}

void add_legend(Canvas& canvas, const Heatmap& map, const HeatmapLayout& layout) {
  double x = kMargin;
  double y = layout.height - layout.legend_height;
  for (const LegendEntry& entry : map.legend) {
    const double width = legend_entry_width(entry);
    if (x > kMargin && x + width > layout.width) {
      x = kMargin;
      y += kLegendLine;
    }
    const Box box{x, y, kSwatch, kSwatch};
    add_swatch(canvas, box, entry.swatch, kTickSize);
    canvas.add_outline(box);
    canvas.add(Text{.x = x + kSwatch + 8, .y = y + kSwatch / 2, .text = entry.text});
    x += width;
  }
}

std::string tick_text(double value) {
  return fmt::format("{:.4g}", value);
}

std::vector<double> ticks_between(double low, double high, const std::vector<double>& steps) {
  std::vector<double> ticks;
  const auto first = static_cast<int>(std::floor(std::log10(low)));
  const auto last = static_cast<int>(std::ceil(std::log10(high)));
  for (int power = first; power <= last; ++power) {
    for (const double step : steps) {
      const double value = step * std::pow(10.0, power);
      if (value >= low && value <= high) ticks.push_back(value);
    }
  }
  return ticks;
}

}  // namespace

std::vector<double> logarithmic_ticks(double low, double high) {
  constexpr std::size_t kMany = 7;
  std::vector<double> ticks = ticks_between(low, high, {1, 2, 5});
  if (ticks.size() > kMany) ticks = ticks_between(low, high, {1, 3});
  if (ticks.size() < 2) return {low, high};
  return ticks;
}

ColorBar color_bar(std::string title, const ColorScale& scale, const std::vector<double>& ticks) {
  constexpr int kSegments = 96;
  ColorBar bar{.title = std::move(title), .colors = {}, .ticks = {}};
  for (int i = 0; i < kSegments; ++i)
    bar.colors.push_back(scale.at_position((i + 0.5) / kSegments));
  for (const double tick : ticks)
    bar.ticks.push_back({scale.position(tick), tick_text(tick)});
  return bar;
}

Drawing drawing_of(const Heatmap& heatmap) {
  ASSAY_CHECK(!heatmap.panels.empty(), "a panel to draw");
  const HeatmapLayout layout = lay_out(heatmap);
  Canvas canvas(layout.width, layout.height);
  add_titles(canvas, heatmap, layout);
  add_panels(canvas, heatmap, layout);
  add_bar(canvas, heatmap, layout);
  add_legend(canvas, heatmap, layout);
  return canvas.drawing();
}

}  // namespace assay::report
