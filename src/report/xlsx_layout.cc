#include "report/xlsx_layout.h"

#include <algorithm>
#include <cmath>

#include "report/characters.h"

namespace assay::report {
namespace {

constexpr double kMinWidth = 8;
constexpr double kMaxWidth = 80;
// Bold is wider than plain text, and a table's filter button covers three characters.
constexpr double kBoldFactor = 1.1;
constexpr double kFilterButtonWidth = 3;
constexpr double kPadding = 2;           // with the indent of numbers
constexpr double kScientificWidth = 10;  // "-1.23E+100"
constexpr double kLargestPlain = 1e12;

// What one pass over a column gathers.
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
    // Four bytes hold at least one character: no need to count what is past the maximum.
    constexpr std::size_t kEnoughBytes = static_cast<std::size_t>(kMaxWidth) * 4;
    const std::string_view start = std::string_view(value).substr(0, kEnoughBytes);
    text_width_ = std::max(text_width_, character_count(start.substr(0, start.find('\n'))));
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

  // Three decimals for figures from 1 on; figures below 1 get three significant digits.
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
  return static_cast<double>(character_count(column.name)) * kBoldFactor + kPadding +
         (sheet.table_name.empty() ? 0 : kFilterButtonWidth);
}

}  // namespace

std::vector<ColumnLayout> lay_out(const SheetPlan& sheet) {
  const model::Table& table = *sheet.table;
  std::vector<ColumnScan> scans(table.columns.size());
  for (std::size_t row = sheet.first_row; row < sheet.first_row + sheet.row_count; ++row) {
    for (std::size_t c = 0; c < scans.size(); ++c) {
      std::visit(scans[c], table.at(row, c));
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
