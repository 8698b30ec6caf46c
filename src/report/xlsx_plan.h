// Plans the worksheets of a book (names, row ranges, Excel tables), the widths of their columns and
// the formats of their figures. This knows Excel's limits, but not the library that writes. Formats
// change what is shown, never the value.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"

namespace assay::report {

constexpr std::size_t kMaxSheetRows = 1048576;  // including the header
constexpr std::size_t kMaxSheetColumns = 16384;
constexpr std::size_t kMaxSheetNameUnits = 31;

struct SheetPlan {
  const model::Table* table;
  std::string name;
  std::size_t first_row;   // the first row of the table that it shows
  std::size_t row_count;   // not counting the header
  std::string table_name;  // the name of the Excel table; "" for a plain sheet
  model::Visibility visibility;
};

// Plans sheets in the order of the tables; at least one is visible if there are any. The book must
// outlive the plan. Fails for a name that Excel does not accept or that appears twice (Excel
// ignores case), and for too many columns.
core::Result<std::vector<SheetPlan>> plan_sheets(const model::Book& book);

// Returns the name of a column, counted from 0, in references to cells: "A", "AB".
std::string column_letters(std::size_t column);

enum class ColumnContent { kNumbers, kOther };

struct ColumnLayout {
  ColumnContent content = ColumnContent::kOther;  // kNumbers: only numbers and blanks
  double width = 0;                               // in characters of the default font
  int decimals = 0;                               // for doubles in the column
  double smallest_shown = 0;  // smaller magnitudes would show fewer than two digits
  double least = 0;           // smallest finite number, for colour scales; 0 if none
  double greatest = 0;
};

std::vector<ColumnLayout> lay_out(const SheetPlan& sheet);

constexpr int kMaxDecimals = 9;
constexpr int kScientific = -1;

// Returns the number of decimals with which a double is shown in its column, or kScientific where
// they would hide its digits.
int shown_decimals(const ColumnLayout& column, double value);

}  // namespace assay::report
