// Finds launches that wait for each other in a circle, so that a schedule of them cannot end. The
// plan of streams (timeline.h) has given up the order among streams by then wherever that was one.
#pragma once

#include "goal/resolve.h"
#include "goal/timeline.h"
#include "model/warnings.h"

namespace assay::goal {

// Runs the launches without times, in the order of the plan: each begins when those that it follows
// have ended, and ends when all with which it exchanges have begun. Counts in `warnings` those that
// never end: with eager messages, whose sends wait for nobody, or else with messages that wait for
// their receives.
void warn_of_circles(const Resolved& resolved, const StreamPlan& plan, model::Warnings& warnings);

}  // namespace assay::goal
