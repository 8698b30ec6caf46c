// Start times that cannot be of the same profile as the others.
#pragma once

#include "model/trace.h"

namespace assay::trace {

// Leaves out, with a warning, events that start more than a day from the median: a single one
// would stretch a total to years.
void drop_stray_times(model::Trace& trace);

}  // namespace assay::trace
