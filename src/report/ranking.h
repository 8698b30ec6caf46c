// Things ranked by one figure: a dot with its interval for each, against a reference at zero.
#pragma once

#include <string>
#include <vector>

#include "model/verdict.h"
#include "report/gnuplot.h"

namespace assay::report {

struct RankedItem {
  std::string name;
  double value = 0;  // NaN: no dot
  double low = 0;    // the interval; NaN for none
  double high = 0;
  model::Verdict verdict = model::Verdict::kUnknown;  // colours the dot and the last text
  std::vector<std::string> texts = {};                // right of the dots, one for each heading
};

struct RankingFigure {
  std::string title;     // says what is seen
  std::string subtitle;  // says how it was measured
  std::string axis;      // of the values, with the unit
  double tolerance = 0;  // drawn as a band around zero
  std::vector<std::string> headings;
  std::vector<RankedItem> items;  // from the top; at least one
};

Drawing drawing_of(const RankingFigure& figure);

}  // namespace assay::report
