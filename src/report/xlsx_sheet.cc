#include "report/xlsx_sheet.h"

#include <fmt/core.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/text.h"
#include "model/table.h"
#include "report/xlsx_dashboard.h"
#include "report/xlsx_text.h"

namespace assay::report {
namespace {

constexpr double kLinePoints = 15;      // Excel's default row height
constexpr std::size_t kMostLines = 20;  // limit of a row's height; Excel's own limit is 27 lines

constexpr lxw_color_t kRed = 0xF8696B;
constexpr lxw_color_t kWhite = 0xFFFFFF;
constexpr lxw_color_t kGreen = 0x63BE7B;

constexpr lxw_color_t kBetterFill = 0xB3D9EF;  // a light shade of 0x0072B2
constexpr lxw_color_t kWorseFill = 0xF8CDB0;   // a light shade of 0xD55E00
constexpr lxw_color_t kSameFill = 0xE3E3E3;
constexpr lxw_color_t kOutline = 0x808080;

constexpr std::uint16_t kNoteWidthPixels = 320;

// Returns a height that fits the note in lines of about 45 characters.
std::uint16_t note_height_pixels(const std::string& note) {
  constexpr std::size_t kCharactersPerLine = 45;
  constexpr std::size_t kLinePixels = 18;
  constexpr std::size_t kMaxPixels = 600;
  std::size_t lines = 1;
  for (std::size_t start = 0; start < note.size(); ++lines) {
    const std::size_t end = std::min(note.find('\n', start), note.size());
    lines += (end - start) / kCharactersPerLine;
    start = end + 1;
  }
  return static_cast<std::uint16_t>(std::min(lines * kLinePixels, kMaxPixels));
}

lxw_format* header_format(lxw_workbook* workbook) {
  lxw_format* format = workbook_add_format(workbook);
  format_set_bold(format);
  format_set_bottom(format, LXW_BORDER_THIN);
  return format;
}

// An indent separates the text from numbers in the column before it.
lxw_format* text_format_of(lxw_workbook* workbook) {
  lxw_format* format = workbook_add_format(workbook);
  format_set_indent(format, 1);
  format_set_align(format, LXW_ALIGN_VERTICAL_CENTER);
  return format;
}

lxw_format* title_format(lxw_workbook* workbook) {
  lxw_format* format = workbook_add_format(workbook);
  format_set_bold(format);
  format_set_font_size(format, 14);
  format_set_text_wrap(format);
  format_set_indent(format, 1);
  format_set_align(format, LXW_ALIGN_VERTICAL_CENTER);
  return format;
}

// Light fills under black text, with the hues that colors.h uses for good and bad.
lxw_format* filled_format(lxw_workbook* workbook, lxw_color_t fill) {
  lxw_format* format = workbook_add_format(workbook);
  format_set_bg_color(format, fill);
  return format;
}

// Outlined rather than filled, because an unclear change settles nothing.
lxw_format* unclear_format(lxw_workbook* workbook) {
  lxw_format* format = workbook_add_format(workbook);
  format_set_border(format, LXW_BORDER_DASHED);
  format_set_border_color(format, kOutline);
  return format;
}

std::string number_pattern(int decimals) {
  if (decimals == kScientific) return "0.00E+00";
  if (decimals == 0) return "0";
  return "0." + std::string(static_cast<std::size_t>(decimals), '0');
}

// Writes one cell, as a visitor for std::visit. The library's error codes for single cells concern
// rows and text lengths that the plan has already limited.
struct CellWriter {
  lxw_worksheet* sheet;
  const CellFormats& formats;
  const ColumnLayout& column;
  lxw_format* text;
  std::string& buffer;
  lxw_row_t row;
  lxw_col_t position;

  void operator()(std::monostate) const {}

  void operator()(bool value) const {
    worksheet_write_boolean(sheet, row, position, value ? 1 : 0, nullptr);
  }

  void operator()(std::int64_t value) const {
    worksheet_write_number(sheet, row, position, static_cast<double>(value), formats.number(0));
  }

  void operator()(double value) const {
    if (std::isnan(value)) return;
    if (std::isinf(value)) {  // a worksheet cannot hold infinity
      worksheet_write_string(sheet, row, position, value > 0 ? "inf" : "-inf", nullptr);
      return;
    }
    worksheet_write_number(sheet, row, position, value,
                           formats.number(shown_decimals(column, value)));
  }

  void operator()(const std::string& value) const {
    if (value.empty()) return;
    worksheet_write_string(sheet, row, position, worksheet_text(value, buffer).c_str(), text);
  }
};

// Red below zero and green above it. Where all values of a column lie on one side of zero, the
// scale's other end is set to a number that no cell reaches.
lxw_conditional_format color_scale(const ColumnLayout& range) {
  lxw_conditional_format scale{};
  scale.type = LXW_CONDITIONAL_3_COLOR_SCALE;
  scale.min_rule_type = LXW_CONDITIONAL_RULE_TYPE_MINIMUM;
  if (range.least >= 0) {
    scale.min_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER;
    scale.min_value = -1;
  }
  scale.min_color = kRed;
  scale.mid_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER;
  scale.mid_value = 0;
  scale.mid_color = kWhite;
  scale.max_rule_type = LXW_CONDITIONAL_RULE_TYPE_MAXIMUM;
  if (range.greatest <= 0) {
    scale.max_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER;
    scale.max_value = 1;
  }
  scale.max_color = kGreen;
  return scale;
}

class SheetWriter {
 public:
  SheetWriter(lxw_worksheet* sheet, const SheetPlan& plan, const CellFormats& formats)
      : sheet_(sheet),
        plan_(plan),
        table_(*plan.table),
        formats_(formats),
        layout_(lay_out(plan)),
        place_(place_of_table(plan)) {}

  core::Result<std::optional<SheetRows>> write() {
    // Below a chart, a frozen header would leave no room for rows.
    if (place_.header_row == 0) worksheet_freeze_panes(sheet_, 1, 0);
    set_printing(sheet_, plan_, layout_);
    for (std::size_t c = 0; c < layout_.size(); ++c) {
      worksheet_set_column(sheet_, column(c), column(c), layout_[c].width, nullptr);
    }
    ASSAY_TRY(write_opening(sheet_, plan_, layout_, formats_));
    if (plan_.table_name.empty()) {
      write_header();
    } else {
      ASSAY_TRY(add_excel_table());
    }
    ASSAY_TRY(write_header_notes());
    const bool leave_out = has_printed_rows(plan_);
    if (!leave_out) write_rows();
    for (const std::string& name : table_.style.color_scales)
      add_color_scale(name);
    color_verdicts(sheet_, plan_, formats_);
    if (!leave_out) return std::optional<SheetRows>();
    return std::optional(SheetRows{&plan_, layout_, sheet_row(0), formats_.styles()});
  }

 private:
  static lxw_col_t column(std::size_t position) { return static_cast<lxw_col_t>(position); }

  [[nodiscard]] lxw_row_t sheet_row(std::size_t row) const {
    return static_cast<lxw_row_t>(place_.header_row + 1 + row);
  }

  [[nodiscard]] core::Error failure(const char* what, lxw_error code) const {
    return core::Error{fmt::format("worksheet '{}': {}: {}", plan_.name, what, lxw_strerror(code))};
  }

  void write_header() {
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      const bool numeric = layout_[c].content == ColumnContent::kNumbers;
      worksheet_write_string(sheet_, place_.header_row, column(c),
                             worksheet_text(table_.columns[c].name, buffer_).c_str(),
                             numeric ? formats_.number_header() : formats_.header());
    }
  }

  // Returns the meaning of a header, shown when the pointer rests on it. The first header's note
  // also describes the sheet, so that row 1 stays the header row.
  [[nodiscard]] std::string header_note(std::size_t position) const {
    const model::Column& column = table_.columns[position];
    std::vector<std::string> lines;
    if (position == 0 && !table_.style.opens_with_text) {
      if (!table_.title.empty()) lines.push_back(table_.title);
      lines.insert(lines.end(), table_.notes.begin(), table_.notes.end());
    }
    if (!column.description.empty()) lines.push_back(column.description);
    if (!column.unit.empty()) lines.push_back("Unit: " + column.unit);
    return core::join(lines, "\n");
  }

  core::Status write_header_notes() {
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      const std::string note = header_note(c);
      if (note.empty()) continue;
      lxw_comment_options options{};
      options.width = kNoteWidthPixels;
      options.height = note_height_pixels(note);
      const lxw_error code = worksheet_write_comment_opt(
          sheet_, place_.header_row, column(c), worksheet_text(note, buffer_).c_str(), &options);
      if (code != LXW_NO_ERROR) return failure("cannot write a note", code);
    }
    return {};
  }

  // Writes the header row as well.
  core::Status add_excel_table() {
    std::vector<std::string> headers;
    for (const model::Column& c : table_.columns)
      headers.push_back(worksheet_text(c.name, buffer_));
    std::vector<lxw_table_column> columns(headers.size());
    std::vector<lxw_table_column*> pointers;
    for (std::size_t c = 0; c < headers.size(); ++c) {
      columns[c].header = headers[c].data();
      const bool numeric = layout_[c].content == ColumnContent::kNumbers;
      columns[c].header_format = numeric ? formats_.number_header() : formats_.header();
      pointers.push_back(&columns[c]);
    }
    pointers.push_back(nullptr);
    std::string name = plan_.table_name;
    lxw_table_options options{};
    options.name = name.data();
    options.style_type = LXW_TABLE_STYLE_TYPE_MEDIUM;
    options.style_type_number = 2;
    options.columns = pointers.data();
    const lxw_error code = worksheet_add_table(sheet_, place_.header_row, 0, place_.last_row,
                                               column(headers.size() - 1), &options);
    return code == LXW_NO_ERROR ? core::Status() : failure("cannot make a table", code);
  }

  // Returns the number of lines that the row's wrapped texts need, because not every spreadsheet
  // program fits the height by itself.
  [[nodiscard]] std::size_t lines_in_row(std::span<const model::Cell> cells) const {
    constexpr double kUsable = 0.9;  // share of a line, since words end before its edge
    std::size_t lines = 1;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto* text = std::get_if<std::string>(&cells[c]);
      if (text == nullptr) continue;
      const double length = static_cast<double>(core::character_count(core::valid_utf8(*text)));
      if (length < layout_[c].width) continue;
      const double fitting = kUsable * layout_[c].width;
      lines = std::max(lines, static_cast<std::size_t>(std::ceil(length / fitting)));
    }
    return std::min(lines, kMostLines);
  }

  void fit_height(std::size_t row, std::span<const model::Cell> cells) {
    const std::size_t lines = lines_in_row(cells);
    if (lines == 1) return;
    worksheet_set_row(sheet_, sheet_row(row), kLinePoints * static_cast<double>(lines), nullptr);
  }

  void write_rows() {
    const bool wrapped = !plan_.table_name.empty();
    lxw_format* const text_format = wrapped ? formats_.wrapped_text() : formats_.text();
    model::RowReader rows(table_);
    for (std::size_t r = 0; r < plan_.row_count; ++r) {
      const std::span<const model::Cell> cells = rows.row(plan_.first_row + r);
      if (wrapped) fit_height(r, cells);
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const CellWriter writer{sheet_,  formats_,     layout_[c], text_format,
                                buffer_, sheet_row(r), column(c)};
        std::visit(writer, cells[c]);
      }
    }
  }

  void add_color_scale(const std::string& name) {
    const auto position = table_.column(name);
    if (!position || plan_.row_count == 0) return;
    lxw_conditional_format scale = color_scale(layout_[*position]);
    worksheet_conditional_format_range(sheet_, sheet_row(0), column(*position), place_.last_row,
                                       column(*position), &scale);
  }

  lxw_worksheet* sheet_;
  const SheetPlan& plan_;
  const model::Table& table_;
  const CellFormats& formats_;
  std::vector<ColumnLayout> layout_;
  TablePlace place_;
  std::string buffer_;
};

}  // namespace

CellFormats::CellFormats(lxw_workbook* workbook)
    : workbook_(workbook),
      title_(title_format(workbook)),
      better_(filled_format(workbook, kBetterFill)),
      worse_(filled_format(workbook, kWorseFill)),
      same_(filled_format(workbook, kSameFill)),
      unclear_(unclear_format(workbook)),
      header_(header_format(workbook)),
      number_header_(header_format(workbook)),
      text_(text_format_of(workbook)),
      wrapped_text_(text_format_of(workbook)) {
  format_set_indent(header_, 1);
  format_set_text_wrap(wrapped_text_);
  format_set_align(number_header_, LXW_ALIGN_RIGHT);
  int decimals = kScientific;
  for (lxw_format*& format : numbers_) {
    format = workbook_add_format(workbook);
    format_set_num_format(format, number_pattern(decimals++).c_str());
    format_set_align(format, LXW_ALIGN_VERTICAL_CENTER);
  }
}

CellStyles CellFormats::styles() const {
  CellStyles styles;
  styles.text = lxw_format_get_xf_index(text_);
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    styles.numbers[i] = lxw_format_get_xf_index(numbers_[i]);
  return styles;
}

lxw_format* CellFormats::verdict(model::Verdict verdict) const {
  switch (verdict) {
    case model::Verdict::kBetter:
      return better_;
    case model::Verdict::kWorse:
      return worse_;
    case model::Verdict::kSame:
      return same_;
    case model::Verdict::kUnclear:
      return unclear_;
    default:
      return nullptr;
  }
}

core::Result<std::optional<SheetRows>> write_sheet(lxw_worksheet* sheet,
                                                   const SheetPlan& plan,
                                                   const CellFormats& formats) {
  return SheetWriter(sheet, plan, formats).write();
}

}  // namespace assay::report
