// What is in a schedule, as tables.
#pragma once

#include <string_view>

#include "model/schedule.h"
#include "model/table.h"

namespace assay::goal {

// Tables "schedule" (a row a figure), "operations" (a row a kind) and "message_sizes" (a row a
// power of two). `name` goes into the title.
model::Book schedule_statistics(const model::Schedule& schedule, std::string_view name);

}  // namespace assay::goal
