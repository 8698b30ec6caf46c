#include "report/xlsx_rows.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include "model/table.h"
#include "report/xlsx_text.h"

namespace assay::report {
namespace {

// Below this, the rows of a sheet take the library less than a millisecond.
constexpr std::size_t kManyCells = 500;

void append(std::string_view text, fmt::memory_buffer& xml) {
  xml.append(text.data(), text.data() + text.size());
}

void append_escaped(std::string_view text, fmt::memory_buffer& xml) {
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of("&<>"), text.size());
    append(text.substr(0, plain), xml);
    text.remove_prefix(plain);
    if (text.empty()) return;
    append(text[0] == '&' ? "&amp;" : text[0] == '<' ? "&lt;" : "&gt;", xml);
    text.remove_prefix(1);
  }
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

// Appends one cell, as a visitor for std::visit.
struct CellPrinter {
  fmt::memory_buffer& xml;
  const ColumnLayout& column;
  const std::string& start;
  std::string_view row;
  const std::string& text_end;
  const std::array<std::string, kMaxDecimals - kScientific + 1>& number_ends;
  std::string& buffer;

  void open(std::string_view end) const {
    append(start, xml);
    append(row, xml);
    append(end, xml);
  }

  template <class Number>
  void number(Number value, int decimals) const {
    open(number_ends[static_cast<std::size_t>(decimals - kScientific)]);
    fmt::format_to(fmt::appender(xml), "{}", value);
    append("</v></c>", xml);
  }

  void operator()(std::monostate) const {}

  void operator()(bool value) const {
    open(value ? "\" t=\"b\"><v>1</v></c>" : "\" t=\"b\"><v>0</v></c>");
  }

  void operator()(std::int64_t value) const { number(value, 0); }

  void operator()(double value) const {
    if (std::isnan(value)) return;
    if (std::isinf(value)) {  // a worksheet cannot hold infinity
      open("\" t=\"inlineStr\"><is><t>");
      append(value > 0 ? "inf</t></is></c>" : "-inf</t></is></c>", xml);
      return;
    }
    number(value, shown_decimals(column, value));
  }

  void operator()(const std::string& value) const {
    if (value.empty()) return;
    const std::string& shown = worksheet_text(value, buffer);
    open(text_end);
    append(is_blank(shown.front()) || is_blank(shown.back()) ? "<is><t xml:space=\"preserve\">"
                                                             : "<is><t>",
           xml);
    append_escaped(shown, xml);
    append("</t></is></c>", xml);
  }
};

}  // namespace

bool has_printed_rows(const SheetPlan& plan) {
  const model::Style& style = plan.table->style;
  const bool has_chart = style.chart.has_value() || style.second_chart.has_value();
  return plan.table_name.empty() && !has_chart &&
         plan.row_count * plan.table->columns.size() >= kManyCells;
}

RowPrinter::RowPrinter(const SheetRows& rows) : rows_(rows), reader_(*rows.plan->table) {
  for (std::size_t c = 0; c < rows.layout.size(); ++c)
    starts_.push_back("<c r=\"" + column_letters(c));
  text_end_ = fmt::format("\" s=\"{}\" t=\"inlineStr\">", rows.styles.text);
  for (std::size_t i = 0; i < number_ends_.size(); ++i)
    number_ends_[i] = fmt::format("\" s=\"{}\"><v>", rows.styles.numbers[i]);
}

void RowPrinter::print(std::size_t row, fmt::memory_buffer& xml) {
  const std::span<const model::Cell> cells = reader_.row(rows_.plan->first_row + row);
  const fmt::format_int number(rows_.first_row + 1 + row);
  const std::string_view digits(number.data(), number.size());
  append("<row r=\"", xml);
  append(digits, xml);
  append("\">", xml);
  for (std::size_t c = 0; c < starts_.size(); ++c) {
    const CellPrinter printer{xml,       rows_.layout[c], starts_[c], digits,
                              text_end_, number_ends_,    buffer_};
    std::visit(printer, cells[c]);
  }
  append("</row>", xml);
}

std::string RowPrinter::dimension() const {
  return fmt::format("A1:{}{}", column_letters(starts_.size() - 1),
                     rows_.first_row + rows_.plan->row_count);
}

}  // namespace assay::report
