// Ranks that did not run at the same time, so that nothing leads from one to another.
#pragma once

#include "core/result.h"
#include "trace/path/execution.h"

namespace assay::trace::path {

// Fails where some ranks began only long after all others had ended, although on one clock: they
// are of another run, or no collective links clocks that are apart.
core::Status check_overlap(const Execution& execution);

}  // namespace assay::trace::path
