// One run of the command: started, watched, ended, judged.
#pragma once

#include <functional>

#include "core/result.h"
#include "sweep/sweep.h"

namespace assay::sweep {

// The variable by which a sweep's processes are known; its value is the plan's id.
inline constexpr const char* kMark = "ASSAY_SWEEP_ID";

// Runs in `folder`, which is there and empty. `on_tick` hears the seconds since the start, a few
// times a second. Fails when the command cannot be started, and when interrupted.
core::Result<RunRecord> run_once(const Plan& plan,
                                 const PlannedRun& run,
                                 const std::filesystem::path& folder,
                                 const SweepOptions& options,
                                 Observer& observer,
                                 const std::function<void(double)>& on_tick);

}  // namespace assay::sweep
