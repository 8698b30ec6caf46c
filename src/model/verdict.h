// The words by which a comparison judges a figure. Tables hold them as text, so that every format
// shows the same; writers take the colour of a row from them.
#pragma once

#include "model/table.h"

namespace assay::model {

enum class Verdict {
  kBetter,
  kWorse,
  kLonger,   // a figure without a good direction
  kShorter,  // the same
  kSame,     // the whole confidence interval lies within the tolerance
  kUnclear,  // the interval holds zero and is wider than the tolerance: more repeats are needed
  kUnknown,  // fewer than two values on a side: no interval
  kOnlyBaseline,
  kOnlyTest,
};

// A difference of so much of the baseline is of no interest unless the user asks for less.
inline constexpr double kTolerancePercent = 1;

// "Better", "Same", "Only in baseline".
const char* verdict_word(Verdict verdict);

// The verdict in a cell of a column of verdicts; kUnknown for all other texts ("Unknown: 1 step").
Verdict verdict_of(const Cell& cell);

}  // namespace assay::model
