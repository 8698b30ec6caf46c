// The words by which a comparison judges a figure. Tables hold them as text, so that every format
// shows the same words; writers choose the colour of a row by them.
#pragma once

#include <string>

#include "model/table.h"

namespace assay::model {

enum class Verdict {
  kBetter,
  kWorse,
  kLonger,     // for a figure without a better direction
  kShorter,    // for a figure without a better direction
  kSame,       // the whole confidence interval lies within the tolerance
  kUnclear,    // the interval contains zero and exceeds the tolerance: more repeats are needed
  kDifferent,  // beyond noise in one run a side, which says nothing of the noise between runs
  kUnknown,    // fewer than two values on a side, so there is no interval
  kOnlyBaseline,
  kOnlyTest,
  kOtherRanks,  // a side lacks ranks that the other has, for which it waited
};

// Differences below this percentage of the baseline do not matter unless the user asks for less.
inline constexpr double kTolerancePercent = 1;

// Returns "Better", "Same" or "Only in baseline".
const char* verdict_word(Verdict verdict);

// The word for kSame where a side was run once, so that the noise between its runs is not known.
inline constexpr const char* kSameInTheseRuns = "Same in these runs";

// Returns the verdict in a cell of a column of verdicts, kUnclear for a contradicted_text(), and
// kUnknown for all other texts ("Unknown: 1 step").
Verdict verdict_of(const Cell& cell);

// Slow steps that come back in its runs belong to a setting, whatever their cause.
enum class SlowSteps {
  kNone,        // all steps say what the steady ones do, or are not certain
  kOfTest,      // by all steps the test is slower for certain: stay with the baseline
  kOfBaseline,  // by all steps the test is faster for certain: the steady steps do not decide
};

// Returns whose slow steps contradict the verdict on the steady steps. `all` is the verdict on the
// mean of all profiled steps.
SlowSteps slow_steps(Verdict steady, Verdict all);

// Returns "Unclear: steady steps Better, all steps Worse", the verdict where slow steps contradict
// that on the steady ones.
std::string contradicted_text(const std::string& steady, const std::string& all);

}  // namespace assay::model
