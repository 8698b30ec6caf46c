#include "report/xlsx_dashboard.h"

#include <fmt/core.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

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
constexpr double kMostChartPixels = 1000;
constexpr double kMostTextCharacters = 150;
// The parts of a bar come in this order: computation, exposed communication, copies and idle time.
constexpr std::array kPartColors = {color_of(0x0072b2), color_of(0xe69f00), color_of(0x009e73),
                                    color_of(0xbbbbbb), color_of(0x56b4e9), color_of(0xcc79a7)};
constexpr Color kBarColor = color_of(0xc4c4c4);  // light enough for dark figures on it

constexpr Color kGrid = color_of(0xdddddd);
// Width of the title's bold 14-point characters, relative to plain text.
constexpr double kTitleScale = 1.5;

bool opens_with_text(const SheetPlan& plan) {
  return plan.table->style.opens_with_text && plan.first_row == 0;
}

bool has_chart(const SheetPlan& plan) {
  return plan.table->style.chart && plan.first_row == 0 && plan.row_count > 0;
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

lxw_chart* bar_chart(lxw_workbook* workbook, const model::Chart& description) {
  lxw_chart* chart = workbook_add_chart(workbook, LXW_CHART_BAR_STACKED);
  chart_title_set_name(chart, description.title.c_str());
  lxw_chart_font title{};
  title.size = 12;
  title.bold = LXW_TRUE;
  chart_title_set_name_font(chart, &title);
  // In a bar chart, the library's x axis is the axis of values.
  chart_axis_set_name(chart->x_axis, description.axis.c_str());
  lxw_chart_font plain{};
  plain.size = 10;
  plain.bold = LXW_EXPLICIT_FALSE;
  chart_axis_set_name_font(chart->x_axis, &plain);
  chart_axis_set_min(chart->x_axis, 0);
  // Excel stacks bars upwards from the first, but people read downwards.
  chart_axis_set_reverse(chart->y_axis);
  chart_axis_set_crossing_max(chart->y_axis);  // keeps the axis of values at the bottom
  lxw_chart_line grid{};
  grid.color = kGrid.number();
  chart_axis_major_gridlines_set_line(chart->x_axis, &grid);
  return chart;
}

void fill(lxw_chart_series* series, Color color) {
  lxw_chart_fill solid{};
  solid.color = color.number();
  chart_series_set_fill(series, &solid);
}

class ChartBuilder {
 public:
  ChartBuilder(lxw_workbook* workbook, const SheetPlan& plan)
      : workbook_(workbook), plan_(plan), place_(place_of_table(plan)) {}

  // Returns nullptr when the table lacks the chart's columns.
  lxw_chart* build() {
    const model::Chart& description = *plan_.table->style.chart;
    for (const std::string& name : description.columns) {
      const auto position = plan_.table->column(name);
      if (!position) return nullptr;
      columns_.push_back(static_cast<lxw_col_t>(*position));
    }
    if (columns_.empty()) return nullptr;
    lxw_chart* chart = bar_chart(workbook_, description);
    if (description.bars == model::Chart::Bars::kRows) {
      add_rows(chart);
    } else {
      add_parts(chart, description.rows);
    }
    return chart;
  }

 private:
  void add_rows(lxw_chart* chart) {
    lxw_chart_series* series = chart_add_series(chart, nullptr, nullptr);
    chart_series_set_categories(series, plan_.name.c_str(), place_.header_row + 1, 0,
                                place_.last_row, 0);
    chart_series_set_values(series, plan_.name.c_str(), place_.header_row + 1, columns_[0],
                            place_.last_row, columns_[0]);
    chart_series_set_labels(series);
    fill(series, kBarColor);
    chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
  }

  void add_parts(lxw_chart* chart, const std::vector<std::size_t>& rows) {
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
  }

  lxw_workbook* workbook_;
  const SheetPlan& plan_;
  TablePlace place_;
  std::vector<lxw_col_t> columns_;
};

// Returns the column for a conditional format's formula: "$H".
std::string column_letters(std::size_t column) {
  std::string letters;
  for (std::size_t rest = column + 1; rest > 0; rest = (rest - 1) / 26)
    letters.insert(letters.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return "$" + letters;
}

}  // namespace

TablePlace place_of_table(const SheetPlan& plan) {
  auto row = static_cast<std::uint32_t>(text_row_count(plan));
  if (has_chart(plan)) row += kChartRows + 1;
  return {.header_row = row, .last_row = row + static_cast<std::uint32_t>(plan.row_count)};
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
  if (!has_chart(plan)) return {};
  lxw_chart* chart = ChartBuilder(formats.workbook(), plan).build();
  if (chart == nullptr) return {};
  constexpr double kUnscaledWidth = 480;  // the library's default, in pixels
  constexpr double kUnscaledHeight = 288;
  lxw_chart_options options{};
  options.x_offset = 4;
  options.y_offset = 4;
  options.x_scale =
      std::clamp(span.characters * kCharacterPixels, kUnscaledWidth, kMostChartPixels) /
      kUnscaledWidth;
  options.y_scale = (kChartRows * kRowPixels - 4) / kUnscaledHeight;
  const lxw_error code = worksheet_insert_chart_opt(
      sheet, static_cast<lxw_row_t>(text_row_count(plan)), 0, chart, &options);
  if (code == LXW_NO_ERROR) return {};
  return core::Error{
      fmt::format("worksheet '{}': cannot make a chart: {}", plan.name, lxw_strerror(code))};
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
    for (const model::Verdict verdict : {model::Verdict::kBetter, model::Verdict::kWorse,
                                         model::Verdict::kSame, model::Verdict::kUnclear}) {
      std::string formula = fmt::format("={}{}=\"{}\"", column_letters(*verdicts),
                                        place.header_row + 2, model::verdict_word(verdict));
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
