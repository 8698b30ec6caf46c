// Which worksheets a book becomes (names, row ranges, Excel tables), and how wide their columns are
// and how their figures show. This knows Excel's limits, not the library that writes. Formats
// change what is shown, never the value.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"

namespace assay::report {

constexpr std::size_t kMaxSheetRows = 1048576;  // the header included
constexpr std::size_t kMaxSheetColumns = 16384;
constexpr std::size_t kMaxSheetNameUnits = 31;

struct SheetPlan {
  const model::Table* table;
  std::string name;
  std::size_t first_row;   // the first row of the table that it shows
  std::size_t row_count;   // without the header
  std::string table_name;  // the name of the Excel table; "" for a plain sheet
  model::Visibility visibility;
};

// Plans sheets in the order of the tables; at least one is visible if there are any. The book must
// outlive the plan. Errors: a name that Excel does not accept or that appears twice (Excel
// ignores case), too many columns.
core::Result<std::vector<SheetPlan>> plan_sheets(const model::Book& book);

enum class ColumnContent { kNumbers, kOther };

struct ColumnLayout {
  ColumnContent content = ColumnContent::kOther;  // kNumbers: nothing but numbers and blanks
  double width = 0;                               // in characters of the default font
  int decimals = 0;                               // for the doubles of the column
  double smallest_shown = 0;  // smaller magnitudes would show fewer than two digits
  double least = 0;           // among the finite numbers, for colour scales; 0 without any
  double greatest = 0;
};

std::vector<ColumnLayout> lay_out(const SheetPlan& sheet);

constexpr int kMaxDecimals = 9;
constexpr int kScientific = -1;

// The decimals with which a double shows in its column, or kScientific where they would hide its
// digits.
int shown_decimals(const ColumnLayout& column, double value);

}  // namespace assay::report
