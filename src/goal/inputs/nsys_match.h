// Which kernel ran each plan: the times of an operation are those of its kernel.
#pragma once

#include "goal/inputs/nsys_process.h"
#include "model/job.h"

namespace assay::goal {

// Sets start_ns, end_ns and `matched` of the process's plans and `used` of its kernels. Three ways
// are tried, each on what the one before left over:
//  1. the runtime call that launched the kernel lies inside the plan's group on the same thread;
//  2. the plans of a stream and the kernels of a stream are the same sequence of functions;
//  3. the first kernel of a fitting function that starts after the call.
// Returns how many operations each way served.
model::KernelMatches match_kernels(NsysProcess& process);

}  // namespace assay::goal
