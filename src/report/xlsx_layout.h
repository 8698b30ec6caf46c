// How wide a column is and how its figures show, from what it holds. The formats change what
// is shown, never the value.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "report/xlsx_plan.h"

namespace assay::report {

enum class ColumnContent { kNumbers, kOther };

struct ColumnLayout {
  ColumnContent content = ColumnContent::kOther;  // kNumbers: nothing but numbers and blanks
  double width = 0;                               // in characters of the default font
  int decimals = 0;                               // of the column's doubles
  double smallest_shown = 0;  // smaller magnitudes would show fewer than two digits
  double least = 0;           // of the finite numbers, for colour scales; 0 without any
  double greatest = 0;
};

std::vector<ColumnLayout> lay_out(const SheetPlan& sheet);

constexpr int kMaxDecimals = 9;
constexpr int kScientific = -1;

// Decimals with which a double shows in its column, or kScientific where that would hide its
// digits.
int shown_decimals(const ColumnLayout& column, double value);

}  // namespace assay::report
