// Which worksheets a book becomes: names, row ranges, Excel tables. Knows Excel's limits, not
// the library that writes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"

namespace assay::report {

constexpr std::size_t kMaxSheetRows = 1048576;  // with the header
constexpr std::size_t kMaxSheetColumns = 16384;
constexpr std::size_t kMaxSheetNameUnits = 31;

struct SheetPlan {
  const model::Table* table;
  std::string name;
  std::size_t first_row;   // of the table
  std::size_t row_count;   // without the header
  std::string table_name;  // of the Excel table; "" for a plain sheet
  model::Visibility visibility;
};

// Sheets in the order of the tables; at least one is visible if there are any. The book must
// outlive the plan. Errors: a name that Excel does not accept or that appears twice (Excel
// ignores case), too many columns.
core::Result<std::vector<SheetPlan>> plan_sheets(const model::Book& book);

}  // namespace assay::report
