// Starts, watches, ends and judges one run of the command.
#pragma once

#include <functional>

#include "core/result.h"
#include "sweep/sweep.h"

namespace assay::sweep {

// Runs in files.folder, which must exist and be empty. Calls `on_tick` with the seconds since the
// start a few times a second. Fails if the command cannot be started or the program is interrupted.
core::Result<RunRecord> run_once(const Plan& plan,
                                 const PlannedRun& run,
                                 const RunFiles& files,
                                 const SweepOptions& options,
                                 Observer& observer,
                                 const std::function<void(double)>& on_tick);

}  // namespace assay::sweep
