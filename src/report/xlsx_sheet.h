// Writes one worksheet with libxlsxwriter, which is used only in xlsx.cc, xlsx_sheet.cc and
// xlsx_dashboard.cc.
#pragma once

#include <array>
#include <optional>

#include "core/result.h"
#include "model/verdict.h"
#include "report/xlsx_plan.h"
#include "report/xlsx_rows.h"

struct lxw_format;
struct lxw_workbook;
struct lxw_worksheet;

namespace assay::report {

// The cell formats of a workbook, which owns them.
class CellFormats {
 public:
  explicit CellFormats(lxw_workbook* workbook);

  [[nodiscard]] lxw_workbook* workbook() const { return workbook_; }

  [[nodiscard]] lxw_format* title() const { return title_; }

  // Returns a format for conditional formats; only kBetter, kWorse, kSame and kUnclear have one.
  [[nodiscard]] lxw_format* verdict(model::Verdict verdict) const;

  [[nodiscard]] lxw_format* header() const { return header_; }

  [[nodiscard]] lxw_format* number_header() const { return number_header_; }

  [[nodiscard]] lxw_format* text() const { return text_; }

  // Returns a format that breaks text into lines, for the short tables that people read.
  [[nodiscard]] lxw_format* wrapped_text() const { return wrapped_text_; }

  // Returns the format for `decimals` as shown_decimals() gives it.
  [[nodiscard]] lxw_format* number(int decimals) const {
    return numbers_[static_cast<std::size_t>(decimals - kScientific)];
  }

  // Returns the places of formats in the workbook, which then has them.
  [[nodiscard]] CellStyles styles() const;

 private:
  lxw_workbook* workbook_;
  lxw_format* title_;
  lxw_format* better_;
  lxw_format* worse_;
  lxw_format* same_;
  lxw_format* unclear_;
  lxw_format* header_;
  lxw_format* number_header_;
  lxw_format* text_;
  lxw_format* wrapped_text_;
  std::array<lxw_format*, kMaxDecimals - kScientific + 1> numbers_{};
};

// Writes the header, rows, notes, colour scales and Excel table of a new worksheet. Returns the
// rows where there are so many cells that they are left out.
core::Result<std::optional<SheetRows>> write_sheet(lxw_worksheet* sheet,
                                                   const SheetPlan& plan,
                                                   const CellFormats& formats);

}  // namespace assay::report
