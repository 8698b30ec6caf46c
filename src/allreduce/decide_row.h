// The choices of one row: the rule that decision.h states.
#pragma once

#include "allreduce/decision.h"

namespace assay::allreduce {

// `row.choices` have their cells and the timings of what may be chosen; the rest is filled in.
void decide_row(DecidedRow& row, const DecisionOptions& options);

}  // namespace assay::allreduce
