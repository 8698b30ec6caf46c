// The least time of a state space's operators (mamba2_perf), where no table has them: the bytes
// that they must move, over a bandwidth. What they compute, and the inputs that groups of heads
// share, come on top, so that it is a lower bound.
#pragma once

#include "store/answers/work_index.h"

namespace assay::plan {

// In ms; a launch takes `launch_ms` at least.
store::RooflineBinder state_space_bound(double bytes_per_s, double launch_ms);

}  // namespace assay::plan
