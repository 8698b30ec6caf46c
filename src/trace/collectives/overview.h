// The collective report in a few lines.
#pragma once

#include "model/table.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

// One row for each kind and size of collective, slowest total first; the note names the straggler.
model::Table overview(const Study& study);

}  // namespace assay::trace::collectives
