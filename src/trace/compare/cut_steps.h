// The steps within which the trace of a rank ends, although its file is whole: the profiler kept a
// part of their work.
#pragma once

#include <vector>

#include "trace/compare/step_states.h"

namespace assay::trace {

// Marks the last step of a rank as not whole where all of these show that its trace ends within it:
// - it has fewer GPU events than each step of the rank before it;
// - it is shorter than each of these, by more than kCutPercent;
// - it is shorter than on each other rank that has all of the step, by more than kCutPercent
//   beyond what a step before it differs from theirs.
// Other ranks have all of a step when they have a later one, or as many events as in one before.
// Numbers of events alone tell nothing: they vary, also from rank to rank.
//
// Where every rank may be cut, no other tells how long the step was. It may also be a step of
// another kind. So all of them are marked only where on each rank the last step has fewer than half
// the events of each of three steps or more before it, which have equally many within kCutPercent,
// and is shorter as above.
void mark_cut_steps(std::vector<RankStep>& steps);

// A smaller part of a step that is missing makes no difference that matters.
inline constexpr double kCutPercent = 5;

}  // namespace assay::trace
