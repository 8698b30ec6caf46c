// Writes what a worksheet shows besides its table: the title, notes and chart above it, and the
// colours of verdicts. Uses libxlsxwriter, as xlsx_sheet does.
#pragma once

#include <cstdint>
#include <vector>

#include "report/xlsx_plan.h"
#include "report/xlsx_sheet.h"

namespace assay::report {

// The place of the table on its sheet, counted from 0.
struct TablePlace {
  std::uint32_t header_row = 0;
  std::uint32_t last_row = 0;
};

// Returns the place of a table below the rows that write_opening() writes.
TablePlace place_of_table(const SheetPlan& plan);

// Sets what is printed, how: A4, landscape, one page wide.
void set_printing(lxw_worksheet* sheet,
                  const SheetPlan& plan,
                  const std::vector<ColumnLayout>& layout);

// Writes the title, the notes and the charts, where the style asks for them.
core::Status write_opening(lxw_worksheet* sheet,
                           const SheetPlan& plan,
                           const std::vector<ColumnLayout>& layout,
                           const CellFormats& formats);

// Colours verdicts by conditional formats, so that colours follow the words when the user sorts the
// table.
void color_verdicts(lxw_worksheet* sheet, const SheetPlan& plan, const CellFormats& formats);

}  // namespace assay::report
