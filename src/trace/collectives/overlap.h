// How much of a rank's communication hides behind computation.
#pragma once

#include "trace/analysis.h"

namespace assay::trace::collectives {

// Share of the counted communication time during which counted computation runs too, in percent;
// NaN without communication.
double overlap_percent(const RankAnalysis& rank);

}  // namespace assay::trace::collectives
