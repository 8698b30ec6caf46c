// A collection as commands run it: with progress on a terminal, and time to stop at Ctrl-C.
#pragma once

#include "cli/summary_output.h"
#include "collect/plan/plan.h"
#include "collect/run/collection.h"
#include "core/result.h"

namespace assay::cli {

core::Result<collect::CollectResult> collect_with_progress(const collect::CollectOptions& options,
                                                           const collect::Plan& plan,
                                                           const Presentation& presentation);

}  // namespace assay::cli
