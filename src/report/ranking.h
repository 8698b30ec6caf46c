// Ranks things by one figure: a dot with its interval for each, against a reference at zero.
#pragma once

#include <string>
#include <vector>

#include "model/verdict.h"
#include "report/gnuplot.h"

namespace assay::report {

struct RankedItem {
  std::string name;
  double value = 0;  // NaN draws no dot
  double low = 0;    // the interval; NaN if there is none
  double high = 0;
  model::Verdict verdict = model::Verdict::kUnknown;  // colours the dot and the last text
  std::vector<std::string> texts = {};                // to the right of the dots, one per heading
};

struct RankingFigure {
  std::string title;     // describes what the figure shows
  std::string subtitle;  // describes how it was measured
  std::string axis;      // label of the axis of values, with the unit
  double tolerance = 0;  // drawn as a band around zero
  std::vector<std::string> headings;
  std::vector<RankedItem> items;  // from top to bottom; at least one
};

Drawing drawing_of(const RankingFigure& figure);

}  // namespace assay::report
