// Describes recordings and schedules to people, as tables.
#pragma once

#include <string_view>

#include "model/job.h"
#include "model/schedule.h"
#include "model/table.h"

namespace assay::goal {

// Returns the tables "gpus", "communicators", "operations" (by function, algorithm and protocol),
// "kernels" (what ties them to operations; none without kernels) and "warnings". Look at these
// first when a schedule is not as expected.
model::Book summarize_job(const model::Job& job);

// Returns the tables "schedule" (one row per figure), "operations" (one row per kind) and
// "message_sizes" (one row per power of two). `name` goes into the title; calculations are counted
// in units of `time_unit_ns`.
model::Book schedule_statistics(const model::Schedule& schedule,
                                std::string_view name,
                                double time_unit_ns = 1);

}  // namespace assay::goal
