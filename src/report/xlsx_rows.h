// Prints the rows of a worksheet as XML (ECMA-376 part 1, 18.3.1.4, 18.3.1.73). libxlsxwriter takes
// four times as long for a cell, of which a third is deflate at a level that it does not let us
// choose, so the rows of sheets with many cells are printed here and put among its own.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/xlsx_plan.h"

namespace assay::report {

// The places of cell formats in the workbook's list of them.
struct CellStyles {
  std::int32_t text = 0;
  std::array<std::int32_t, kMaxDecimals - kScientific + 1> numbers{};
};

// The rows that a worksheet lacks.
struct SheetRows {
  const SheetPlan* plan;
  std::vector<ColumnLayout> layout;
  std::uint32_t first_row;  // the place of the first one on the sheet, counted from 0
  CellStyles styles;
};

// Whether a sheet has so many cells that the library leaves its rows out. It keeps those of charts,
// whose values it copies, and of Excel tables, whose rows it makes as high as their text.
bool has_printed_rows(const SheetPlan& plan);

class RowPrinter {
 public:
  explicit RowPrinter(const SheetRows& rows);

  // Appends a row, counted within the plan.
  void print(std::size_t row, fmt::memory_buffer& xml);

  // Returns the range of all cells of the sheet: "A1:F2000".
  [[nodiscard]] std::string dimension() const;

 private:
  const SheetRows& rows_;
  model::RowReader reader_;
  std::vector<std::string> starts_;  // of the cells of each column: <c r="AB
  std::string text_end_;             // of a cell's start, after its row
  std::array<std::string, kMaxDecimals - kScientific + 1> number_ends_;
  std::string buffer_;
};

}  // namespace assay::report
