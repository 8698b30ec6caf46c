// Computes the places of the parts of a heat map.
#pragma once

#include <cstddef>
#include <string_view>

#include "report/heatmap.h"

namespace assay::report {

inline constexpr double kMargin = 16;
inline constexpr double kTitleSize = 15;
inline constexpr double kPanelTitleSize = 12;
inline constexpr double kTextSize = 11;
inline constexpr double kTickSize = 10;
inline constexpr double kHeadHeight = 62;  // height of title and subtitle
inline constexpr double kPanelTitleHeight = 24;
inline constexpr double kAxisTitleHeight = 24;
inline constexpr double kPanelGap = 18;
inline constexpr double kBarWidth = 16;
inline constexpr double kLegendLine = 22;
inline constexpr double kSwatch = 14;

struct HeatmapLayout {
  std::size_t panels_in_a_row = 1;
  std::size_t panel_rows = 1;
  double cell_width = 0;
  double cell_height = 0;
  double cell_text_size = kTextSize;
  double left = 0;         // left edge of the first panel's cells
  double tick_height = 0;  // height of the texts under each panel
  double right = 0;        // width of the colour bar's part
  double body_height = 0;
  double bar_height = 0;
  double legend_height = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double panel_width(const Heatmap& map) const {
    return cell_width * static_cast<double>(map.columns.size());
  }

  [[nodiscard]] double panel_height(const Heatmap& map) const {
    return cell_height * static_cast<double>(map.rows.size());
  }

  [[nodiscard]] double block_height(const Heatmap& map) const {
    return kPanelTitleHeight + panel_height(map) + tick_height;
  }
};

HeatmapLayout lay_out(const Heatmap& heatmap);

double line_count(std::string_view text);
double legend_entry_width(const LegendEntry& entry);

}  // namespace assay::report
