// What a recording holds, as tables for a person: the first thing to look at when a schedule is
// not what was expected.
#pragma once

#include "model/job.h"
#include "model/table.h"

namespace assay::goal {

// Tables "gpus", "communicators", "operations" (by function, algorithm and protocol), "kernels"
// (what the times rest on) and "warnings".
model::Book describe(const model::Job& job);

}  // namespace assay::goal
