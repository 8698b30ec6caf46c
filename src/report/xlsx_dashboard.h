// What a worksheet shows besides its table: title, notes and a chart above it, and the colours of
// verdicts. By libxlsxwriter, as xlsx_sheet.
#pragma once

#include <cstdint>
#include <vector>

#include "report/xlsx_plan.h"
#include "report/xlsx_sheet.h"

namespace assay::report {

// Where the table stands on its sheet, counted from 0.
struct TablePlace {
  std::uint32_t header_row = 0;
  std::uint32_t last_row = 0;
};

// The place of a table below what write_opening() writes.
TablePlace place_of_table(const SheetPlan& plan);

// Title, notes and chart, where the style asks for them.
core::Status write_opening(lxw_worksheet* sheet,
                           const SheetPlan& plan,
                           const std::vector<ColumnLayout>& layout,
                           const CellFormats& formats);

// Conditional formats: they follow the words when the user sorts the table.
void color_verdicts(lxw_worksheet* sheet, const SheetPlan& plan, const CellFormats& formats);

}  // namespace assay::report
