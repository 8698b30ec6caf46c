#include "report/xlsx_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>

#include "core/text.h"

namespace assay::report {
namespace {

constexpr std::size_t kMaxTableHeaderUnits = 255;

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_control(char c) {
  return std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

bool is_forbidden_in_sheet_name(char c) {
  return std::string_view("[]:*?/\\").find(c) != std::string_view::npos || is_control(c);
}

core::Status check_sheet_name(const std::string& name) {
  if (name.empty()) return core::Error{"a table without a name cannot be a worksheet"};
  if (core::valid_utf8(name) != name || name.front() == '\'' || name.back() == '\'' ||
      std::any_of(name.begin(), name.end(), is_forbidden_in_sheet_name)) {
    return core::Error{fmt::format(
        "worksheet name '{}': [ ] : * ? / \\, control characters and quotes at its ends are not "
        "allowed; rename the table",
        name)};
  }
  if (core::utf16_length(name) > kMaxSheetNameUnits) {
    return core::Error{
        fmt::format("worksheet name '{}' is longer than {} characters", name, kMaxSheetNameUnits)};
  }
  return {};
}

std::string continuation_name(const std::string& name, std::size_t part) {
  const std::string suffix = fmt::format(" ({})", part);
  return std::string(core::first_utf16_units(name, kMaxSheetNameUnits - suffix.size())) + suffix;
}

// Excel offers to repair a workbook whose table has an empty, repeated, broken or too long header.
bool can_be_excel_table(const model::Table& table) {
  if (table.row_count() == 0) return false;
  std::set<std::string> seen;
  return std::all_of(table.columns.begin(), table.columns.end(), [&](const model::Column& column) {
    const std::string& name = column.name;
    return !name.empty() && std::none_of(name.begin(), name.end(), is_control) &&
           seen.insert(core::lower_case(name)).second &&
           core::utf16_length(core::valid_utf8(name)) <= kMaxTableHeaderUnits;
  });
}

// Returns whether a name looks like a cell, which a table's name must not: "A1", "XFD7", "R1C1",
// "R" and "C".
bool looks_like_a_cell(const std::string& name) {
  const auto letters_end = std::find_if_not(name.begin(), name.end(), is_letter);
  const auto letters = letters_end - name.begin();
  if (letters <= 3 && std::all_of(letters_end, name.end(), core::is_digit)) return true;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return core::is_digit(c) || c == 'r' || c == 'R' || c == 'c' || c == 'C';
  });
}

// Returns a table name of ASCII letters, digits, "_" and "."; Excel would allow more.
std::string excel_table_name(const std::string& sheet_name) {
  std::string name = sheet_name;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return !is_letter(c) && !core::is_digit(c) && c != '_'; }, '_');
  if ((!is_letter(name[0]) && name[0] != '_') || looks_like_a_cell(name)) name = "T_" + name;
  return name;
}

class Planner {
 public:
  core::Status add(const model::Table& table) {
    ASSAY_TRY(check_sheet_name(table.name));
    if (table.columns.size() > kMaxSheetColumns) {
      return core::Error{fmt::format("table '{}' has {} columns; a worksheet holds {}", table.name,
                                     table.columns.size(), kMaxSheetColumns)};
    }
    constexpr std::size_t kRowsPerSheet = kMaxSheetRows - 1;
    std::size_t first_row = 0;
    for (std::size_t part = 1; part == 1 || first_row < table.row_count(); ++part) {
      const std::size_t rows = std::min(kRowsPerSheet, table.row_count() - first_row);
      const std::string name = part == 1 ? table.name : continuation_name(table.name, part);
      if (!names_.insert(core::lower_case(name)).second) {
        return core::Error{fmt::format("two worksheets would be named '{}'", name)};
      }
      sheets_.push_back(
          {&table, name, first_row, rows, table_name(table, name), table.style.visibility});
      first_row += rows;
    }
    return {};
  }

  std::vector<SheetPlan> take() {
    const auto visible = [](const SheetPlan& sheet) {
      return sheet.visibility == model::Visibility::kVisible;
    };
    if (!sheets_.empty() && std::none_of(sheets_.begin(), sheets_.end(), visible)) {
      sheets_.front().visibility = model::Visibility::kVisible;
    }
    return std::move(sheets_);
  }

 private:
  std::string table_name(const model::Table& table, const std::string& sheet_name) {
    if (!table.style.excel_table || !can_be_excel_table(table)) return "";
    const std::string wanted = excel_table_name(sheet_name);
    std::string name = wanted;
    for (int suffix = 2; !table_names_.insert(core::lower_case(name)).second; ++suffix) {
      name = fmt::format("{}_{}", wanted, suffix);
    }
    return name;
  }

  std::vector<SheetPlan> sheets_;
  std::set<std::string> names_;
  std::set<std::string> table_names_;
};

constexpr double kMinWidth = 8;
constexpr double kMaxWidth = 80;
// Bold text is wider than plain text, and a table's filter button covers three characters.
constexpr double kBoldFactor = 1.1;
constexpr double kFilterButtonWidth = 3;
constexpr double kPadding = 2;           // includes the indent of numbers
constexpr double kScientificWidth = 10;  // "-1.23E+100"
constexpr double kLargestPlain = 1e12;

// Collects, in one pass over a column, what its layout depends on.
class ColumnScan {
 public:
  void operator()(std::monostate) {}

  void operator()(bool) { text_width_ = std::max<std::size_t>(text_width_, 5); }

  void operator()(std::int64_t value) {
    const auto number = static_cast<double>(value);
    note_range(number);
    largest_integer_ = std::max(largest_integer_, std::fabs(number));
  }

  void operator()(double value) {
    if (!std::isfinite(value)) return;
    note_range(value);
    largest_double_ = std::max(largest_double_, std::fabs(value));
    whole_ = whole_ && std::trunc(value) == value;
  }

  void operator()(const std::string& value) {
    // Four bytes hold at least one character, so text beyond the maximum width need not be counted.
    constexpr std::size_t kEnoughBytes = static_cast<std::size_t>(kMaxWidth) * 4;
    const std::string_view start = std::string_view(value).substr(0, kEnoughBytes);
    text_width_ = std::max(text_width_, core::character_count(start.substr(0, start.find('\n'))));
  }

  [[nodiscard]] ColumnLayout layout(double header_width) const {
    ColumnLayout column;
    const bool numbers = has_numbers_ && text_width_ == 0;
    column.content = numbers ? ColumnContent::kNumbers : ColumnContent::kOther;
    column.decimals = whole_ ? 0 : decimals();
    column.smallest_shown = whole_ ? 0 : 9.5 * std::pow(10, -column.decimals);
    column.least = least_;
    column.greatest = greatest_;
    const double content = std::max(static_cast<double>(text_width_), number_width(column));
    column.width = std::clamp(std::max(header_width, content + kPadding), kMinWidth, kMaxWidth);
    return column;
  }

 private:
  void note_range(double value) {
    least_ = has_numbers_ ? std::min(least_, value) : value;
    greatest_ = has_numbers_ ? std::max(greatest_, value) : value;
    has_numbers_ = true;
  }

  // A largest figure of 1 or more gets three decimals, a smaller one three significant digits.
  [[nodiscard]] int decimals() const {
    if (largest_double_ >= 1 || largest_double_ == 0) return 3;
    const int leading_zeros = static_cast<int>(std::floor(-std::log10(largest_double_)));
    return std::min(3 + leading_zeros, kMaxDecimals);
  }

  static double integer_digits(double magnitude) {
    return magnitude < 10 ? 1 : std::floor(std::log10(magnitude)) + 1;
  }

  [[nodiscard]] double number_width(const ColumnLayout& column) const {
    if (!has_numbers_) return 0;
    const double sign = least_ < 0 ? 1 : 0;
    const double plain = std::min(largest_double_, kLargestPlain);
    const double point = column.decimals > 0 ? column.decimals + 1 : 0;
    const bool scientific = largest_double_ >= kLargestPlain || !whole_;
    return sign + std::max({integer_digits(largest_integer_), integer_digits(plain) + point,
                            scientific ? kScientificWidth : 0});
  }

  bool has_numbers_ = false;
  bool whole_ = true;
  double least_ = 0;
  double greatest_ = 0;
  double largest_double_ = 0;
  double largest_integer_ = 0;
  std::size_t text_width_ = 0;
};

double header_width(const SheetPlan& sheet, const model::Column& column) {
  return static_cast<double>(core::character_count(column.name)) * kBoldFactor + kPadding +
         (sheet.table_name.empty() ? 0 : kFilterButtonWidth);
}

}  // namespace

core::Result<std::vector<SheetPlan>> plan_sheets(const model::Book& book) {
  Planner planner;
  for (const model::Table& table : book.tables)
    ASSAY_TRY(planner.add(table));
  return planner.take();
}

std::string column_letters(std::size_t column) {
  std::string letters;
  for (std::size_t rest = column + 1; rest > 0; rest = (rest - 1) / 26)
    letters.insert(letters.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return letters;
}

std::vector<ColumnLayout> lay_out(const SheetPlan& sheet) {
  const model::Table& table = *sheet.table;
  std::vector<ColumnScan> scans(table.columns.size());
  model::RowReader rows(table);
  for (std::size_t row = sheet.first_row; row < sheet.first_row + sheet.row_count; ++row) {
    const std::span<const model::Cell> cells = rows.row(row);
    for (std::size_t c = 0; c < scans.size(); ++c) {
      std::visit(scans[c], cells[c]);
    }
  }
  std::vector<ColumnLayout> columns;
  columns.reserve(scans.size());
  for (std::size_t c = 0; c < scans.size(); ++c) {
    columns.push_back(scans[c].layout(header_width(sheet, table.columns[c])));
  }
  return columns;
}

int shown_decimals(const ColumnLayout& column, double value) {
  const double magnitude = std::fabs(value);
  const bool too_small = magnitude > 0 && magnitude < column.smallest_shown;
  return too_small || magnitude >= kLargestPlain ? kScientific : column.decimals;
}

}  // namespace assay::report
