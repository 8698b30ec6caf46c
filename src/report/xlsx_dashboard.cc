#include "report/xlsx_dashboard.h"

#include <fmt/core.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/text.h"
#include "model/verdict.h"
#include "report/colors.h"
#include "report/xlsx_text.h"

namespace assay::report {
namespace {

constexpr double kTextLinePoints = 15;  // Excel's default row height
constexpr double kRowPixels = 20;       // Excel's default row height
constexpr double kCharacterPixels = 7;  // width of a character of the default font
constexpr std::uint32_t kChartRows = 15;
constexpr std::size_t kMostBars = 60;
constexpr double kMostChartPixels = 1000;
constexpr std::uint8_t kPaperA4 = 9;

constexpr std::array<std::pair<model::Verdict, const char*>, 5> kColored = {{
    {model::Verdict::kBetter, "Better"},
    {model::Verdict::kWorse, "Worse"},
    {model::Verdict::kSame, "Same"},
    {model::Verdict::kSame, model::kSameInTheseRuns},
    {model::Verdict::kUnclear, "Unclear"},
}};
constexpr double kMostTextCharacters = 150;
// The parts of a bar come in this order: computation, exposed communication, copies and idle time.
constexpr std::array kPartColors = {color_of(0x0072b2), color_of(0xe69f00), color_of(0x009e73),
                                    color_of(0xbbbbbb), color_of(0x56b4e9), color_of(0xcc79a7)};
constexpr Color kBarColor = color_of(0xc4c4c4);  // light enough for dark figures on it

constexpr Color kIntervalColor = color_of(0x0072b2);
constexpr Color kGrid = color_of(0xdddddd);
// Width of the title's bold 14-point characters, relative to plain text.
constexpr double kTitleScale = 1.5;

bool opens_with_text(const SheetPlan& plan) {
  return plan.table->style.opens_with_text && plan.first_row == 0;
}

std::vector<const model::Chart*> charts_of(const SheetPlan& plan) {
  std::vector<const model::Chart*> charts;
  if (plan.first_row != 0 || plan.row_count == 0) return charts;
  const model::Style& style = plan.table->style;
  for (const auto* chart : {&style.chart, &style.second_chart})
    if (*chart) charts.push_back(&**chart);
  return charts;
}

// The rows that a chart covers: where each row of the table is a bar, room for its name.
std::uint32_t rows_of(const model::Chart& chart, const SheetPlan& plan) {
  using Bars = model::Chart::Bars;
  constexpr std::uint32_t kLegendRows = 6;  // that of many series has several lines
  if (chart.bars == Bars::kScatter) return kChartRows + kLegendRows;
  if (chart.bars != Bars::kRows && chart.bars != Bars::kStacked) return kChartRows;
  constexpr std::uint32_t kBesideBars = 7;  // title, axis and legend
  const auto bars = static_cast<std::uint32_t>(std::min<std::size_t>(plan.row_count, kMostBars));
  return std::max(kChartRows, bars + kBesideBars);
}

std::uint32_t rows_of_charts(const SheetPlan& plan) {
  std::uint32_t rows = 0;
  for (const model::Chart* chart : charts_of(plan))
    rows += rows_of(*chart, plan) + 1;
  return rows;
}

// Programs that read a sheet expect its header in the first row.
std::uint32_t rows_of_charts_above(const SheetPlan& plan) {
  return opens_with_text(plan) ? rows_of_charts(plan) : 0;
}

std::size_t text_row_count(const SheetPlan& plan) {
  return opens_with_text(plan) ? 1 + plan.table->notes.size() : 0;
}

// The columns that a text above the table may cover.
struct Span {
  lxw_col_t last_column = 0;
  double characters = 0;
};

Span text_span(const std::vector<ColumnLayout>& layout) {
  Span span;
  for (std::size_t c = 0; c < layout.size(); ++c) {
    if (c > 0 && span.characters + layout[c].width > kMostTextCharacters) break;
    span.characters += layout[c].width;
    span.last_column = static_cast<lxw_col_t>(c);
  }
  return span;
}

double height_of(const std::string& text, double characters) {
  constexpr double kUsable = 0.9;  // share of a line, since words end before its edge
  const double length = static_cast<double>(core::character_count(text));
  return kTextLinePoints * std::max(1.0, std::ceil(length / (kUsable * characters)));
}

void set_title(lxw_chart* chart, const std::string& text) {
  chart_title_set_name(chart, text.c_str());
  lxw_chart_font title{};
  title.size = 12;
  title.bold = LXW_TRUE;
  chart_title_set_name_font(chart, &title);
}

void set_axis(lxw_chart_axis* axis, const std::string& text) {
  chart_axis_set_name(axis, text.c_str());
  lxw_chart_font plain{};
  plain.size = 10;
  plain.bold = LXW_EXPLICIT_FALSE;
  chart_axis_set_name_font(axis, &plain);
  lxw_chart_line grid{};
  grid.color = kGrid.number();
  chart_axis_major_gridlines_set_visible(axis, LXW_TRUE);
  chart_axis_major_gridlines_set_line(axis, &grid);
}

lxw_chart* bar_chart(lxw_workbook* workbook, const model::Chart& description) {
  lxw_chart* chart = workbook_add_chart(workbook, LXW_CHART_BAR_STACKED);
  set_title(chart, description.title);
  // In a bar chart, the library's x axis is the axis of values.
  set_axis(chart->x_axis, description.axis);
  chart_axis_set_min(chart->x_axis, 0);
  // Excel stacks bars upwards from the first, but people read downwards.
  chart_axis_set_reverse(chart->y_axis);
  chart_axis_set_crossing_max(chart->y_axis);  // keeps the axis of values at the bottom
  return chart;
}

void fill(lxw_chart_series* series, Color color) {
  lxw_chart_fill solid{};
  solid.color = color.number();
  chart_series_set_fill(series, &solid);
}

lxw_chart* scatter_chart(lxw_workbook* workbook, const model::Chart& description) {
  lxw_chart* chart = workbook_add_chart(workbook, LXW_CHART_SCATTER);
  set_title(chart, description.title);
  set_axis(chart->x_axis, description.x_axis);
  set_axis(chart->y_axis, description.axis);
  chart_axis_set_log_base(chart->x_axis, 10);
  chart_axis_set_log_base(chart->y_axis, 10);
  return chart;
}

lxw_chart* interval_chart(lxw_workbook* workbook, const model::Chart& description) {
  lxw_chart* chart = workbook_add_chart(workbook, LXW_CHART_LINE);
  set_title(chart, description.title);
  set_axis(chart->y_axis, description.axis);
  chart_axis_set_label_position(chart->x_axis, LXW_CHART_AXIS_LABEL_POSITION_LOW);
  lxw_chart_line line{};
  line.color = kIntervalColor.number();
  line.width = 2;
  chart_set_high_low_lines(chart, &line);
  return chart;
}

void mark(lxw_chart_series* series, std::uint8_t type, std::uint8_t size, Color color) {
  lxw_chart_line none{};
  none.none = LXW_TRUE;
  chart_series_set_line(series, &none);
  chart_series_set_marker_type(series, type);
  chart_series_set_marker_size(series, size);
  lxw_chart_fill solid{};
  solid.color = color.number();
  chart_series_set_marker_fill(series, &solid);
  lxw_chart_line edge{};
  edge.color = color.number();
  chart_series_set_marker_line(series, &edge);
}

class ChartBuilder {
 public:
  ChartBuilder(lxw_workbook* workbook, const SheetPlan& plan, const model::Chart& description)
      : workbook_(workbook), plan_(plan), description_(description), place_(place_of_table(plan)) {}

  // Returns nullptr when the table lacks the chart's columns.
  lxw_chart* build() {
    for (const std::string& name : description_.columns) {
      const auto position = plan_.table->column(name);
      if (!position) return nullptr;
      columns_.push_back(static_cast<lxw_col_t>(*position));
    }
    if (columns_.empty()) return nullptr;
    switch (description_.bars) {
      case model::Chart::Bars::kRows:
        return rows();
      case model::Chart::Bars::kColumns:
        return parts(description_.rows);
      case model::Chart::Bars::kStacked:
        return stacked();
      case model::Chart::Bars::kIntervals:
        return intervals();
      case model::Chart::Bars::kScatter:
        return scatter();
    }
    return nullptr;
  }

 private:
  // A series of one column's values, named by its header, over the names in the first column.
  lxw_chart_series* add_column(lxw_chart* chart, lxw_col_t column, lxw_col_t categories = 0) {
    lxw_chart_series* series = chart_add_series(chart, nullptr, nullptr);
    chart_series_set_name_range(series, plan_.name.c_str(), place_.header_row, column);
    chart_series_set_categories(series, plan_.name.c_str(), place_.header_row + 1, categories,
                                place_.last_row, categories);
    chart_series_set_values(series, plan_.name.c_str(), place_.header_row + 1, column,
                            place_.last_row, column);
    return series;
  }

  lxw_chart* rows() {
    lxw_chart* chart = bar_chart(workbook_, description_);
    lxw_chart_series* series = add_column(chart, columns_[0]);
    chart_series_set_labels(series);
    fill(series, kBarColor);
    chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
    return chart;
  }

  lxw_chart* parts(const std::vector<std::size_t>& rows) {
    lxw_chart* chart = bar_chart(workbook_, description_);
    const auto [first, last] = std::minmax_element(columns_.begin(), columns_.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<lxw_row_t>(place_.header_row + 1 + rows[i]);
      lxw_chart_series* series = chart_add_series(chart, nullptr, nullptr);
      chart_series_set_name_range(series, plan_.name.c_str(), row, 0);
      chart_series_set_categories(series, plan_.name.c_str(), place_.header_row, *first,
                                  place_.header_row, *last);
      chart_series_set_values(series, plan_.name.c_str(), row, *first, row, *last);
      fill(series, kPartColors.at(i % kPartColors.size()));
    }
    chart_legend_set_position(chart, LXW_CHART_LEGEND_BOTTOM);
    return chart;
  }

  lxw_chart* stacked() {
    lxw_chart* chart = bar_chart(workbook_, description_);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      fill(add_column(chart, columns_[i]), kPartColors.at(i % kPartColors.size()));
    chart_legend_set_position(chart, LXW_CHART_LEGEND_BOTTOM);
    return chart;
  }

  lxw_chart* intervals() {
    if (columns_.size() != 3) return nullptr;
    lxw_chart* chart = interval_chart(workbook_, description_);
    mark(add_column(chart, columns_[1]), LXW_CHART_MARKER_LONG_DASH, 7, kIntervalColor);
    mark(add_column(chart, columns_[0]), LXW_CHART_MARKER_CIRCLE, 9, kIntervalColor);
    mark(add_column(chart, columns_[2]), LXW_CHART_MARKER_LONG_DASH, 7, kIntervalColor);
    chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
    return chart;
  }

  lxw_chart* scatter() {
    lxw_chart* chart = scatter_chart(workbook_, description_);
    // Dots that lie on each other, and those past the colours, are told apart by their shapes.
    constexpr std::array<std::uint8_t, 4> kShapes = {
        LXW_CHART_MARKER_CIRCLE, LXW_CHART_MARKER_SQUARE, LXW_CHART_MARKER_DIAMOND,
        LXW_CHART_MARKER_TRIANGLE};
    for (std::size_t i = 1; i < columns_.size(); ++i)
      mark(add_column(chart, columns_[i], columns_[0]), kShapes.at((i - 1) % kShapes.size()), 7,
           kPartColors.at((i - 1) % kPartColors.size()));
    chart_legend_set_position(
        chart, columns_.size() > 2 ? LXW_CHART_LEGEND_BOTTOM : LXW_CHART_LEGEND_NONE);
    return chart;
  }

  lxw_workbook* workbook_;
  const SheetPlan& plan_;
  const model::Chart& description_;
  TablePlace place_;
  std::vector<lxw_col_t> columns_;
};

core::Status insert_chart(lxw_worksheet* sheet,
                          const SheetPlan& plan,
                          const model::Chart& description,
                          std::uint32_t row,
                          double characters,
                          const CellFormats& formats) {
  lxw_chart* chart = ChartBuilder(formats.workbook(), plan, description).build();
  if (chart == nullptr) return {};
  constexpr double kUnscaledWidth = 480;  // the library's default, in pixels
  constexpr double kUnscaledHeight = 288;
  lxw_chart_options options{};
  options.x_offset = 4;
  options.y_offset = 4;
  options.x_scale =
      std::clamp(characters * kCharacterPixels, kUnscaledWidth, kMostChartPixels) / kUnscaledWidth;
  options.y_scale = (rows_of(description, plan) * kRowPixels - 4) / kUnscaledHeight;
  const lxw_error code =
      worksheet_insert_chart_opt(sheet, static_cast<lxw_row_t>(row), 0, chart, &options);
  if (code == LXW_NO_ERROR) return {};
  return core::Error{
      fmt::format("worksheet '{}': cannot make a chart: {}", plan.name, lxw_strerror(code))};
}

}  // namespace

TablePlace place_of_table(const SheetPlan& plan) {
  auto row = static_cast<std::uint32_t>(text_row_count(plan));
  row += rows_of_charts_above(plan);
  return {.header_row = row, .last_row = row + static_cast<std::uint32_t>(plan.row_count)};
}

void set_printing(lxw_worksheet* sheet,
                  const SheetPlan& plan,
                  const std::vector<ColumnLayout>& layout) {
  if (layout.empty()) return;
  // Of a wide table its first columns are printed, up to the verdict if it is near, because all of
  // them on one page would be too small to read.
  constexpr double kReadableCharacters = 230;
  constexpr double kMostCharacters = 330;
  const auto verdict = plan.table->column(plan.table->style.verdict_column);
  std::size_t last = 0;
  double characters = layout[0].width;
  for (std::size_t c = 1; c < layout.size(); ++c) {
    characters += layout[c].width;
    const bool reaches_verdict = verdict && c <= *verdict && characters <= kMostCharacters;
    if (characters > kReadableCharacters && !reaches_verdict) break;
    last = c;
  }
  const TablePlace place = place_of_table(plan);
  const std::uint32_t below = opens_with_text(plan) ? 0 : rows_of_charts(plan);
  // A print area would have a hidden sheet printed.
  if (plan.visibility == model::Visibility::kVisible) {
    worksheet_print_area(sheet, 0, 0, place.last_row + (below > 0 ? below + 1 : 0),
                         static_cast<lxw_col_t>(last));
  }
  worksheet_set_landscape(sheet);
  worksheet_set_paper(sheet, kPaperA4);
  // What opens with text and charts is read at a glance, on one page.
  constexpr std::size_t kRowsOfOnePage = 40;
  const bool one_page = opens_with_text(plan) && plan.row_count <= kRowsOfOnePage;
  worksheet_fit_to_pages(sheet, 1, one_page ? 1 : 0);
  worksheet_repeat_rows(sheet, place.header_row, place.header_row);
}

core::Status write_opening(lxw_worksheet* sheet,
                           const SheetPlan& plan,
                           const std::vector<ColumnLayout>& layout,
                           const CellFormats& formats) {
  const Span span = text_span(layout);
  std::string buffer;
  const auto write = [&](lxw_row_t row, const std::string& text, lxw_format* format, double scale) {
    const std::string& shown = worksheet_text(text, buffer);
    if (span.last_column == 0) {
      worksheet_write_string(sheet, row, 0, shown.c_str(), format);
    } else {
      worksheet_merge_range(sheet, row, 0, row, span.last_column, shown.c_str(), format);
    }
    const double height = std::max(1.0, scale) * height_of(text, span.characters / scale);
    worksheet_set_row(sheet, row, height, nullptr);
  };
  if (opens_with_text(plan)) {
    write(0, plan.table->title, formats.title(), kTitleScale);
    for (std::size_t i = 0; i < plan.table->notes.size(); ++i)
      write(static_cast<lxw_row_t>(i + 1), plan.table->notes[i], formats.wrapped_text(), 1);
  }
  std::uint32_t row = static_cast<std::uint32_t>(text_row_count(plan));
  if (!opens_with_text(plan)) row = place_of_table(plan).last_row + 2;
  for (const model::Chart* description : charts_of(plan)) {
    ASSAY_TRY(insert_chart(sheet, plan, *description, row, span.characters, formats));
    row += rows_of(*description, plan) + 1;
  }
  return {};
}

void color_verdicts(lxw_worksheet* sheet, const SheetPlan& plan, const CellFormats& formats) {
  const model::Table& table = *plan.table;
  const auto verdicts = table.column(table.style.verdict_column);
  if (table.style.verdict_column.empty() || !verdicts || plan.row_count == 0) return;
  const TablePlace place = place_of_table(plan);
  std::vector<std::string> names = table.style.judged_columns;
  names.push_back(table.style.verdict_column);
  for (const std::string& name : names) {
    const auto position = table.column(name);
    if (!position) continue;
    for (const auto& [verdict, word] : kColored) {
      std::string formula =
          fmt::format("=${}{}=\"{}\"", column_letters(*verdicts), place.header_row + 2, word);
      lxw_conditional_format rule{};
      rule.type = LXW_CONDITIONAL_TYPE_FORMULA;
      rule.value_string = formula.data();
      rule.format = formats.verdict(verdict);
      const auto column = static_cast<lxw_col_t>(*position);
      worksheet_conditional_format_range(sheet, place.header_row + 1, column, place.last_row,
                                         column, &rule);
    }
  }
}

}  // namespace assay::report
