// The header of a column where its unit has no place of its own: on a terminal and in CSV.
#pragma once

#include <string>

#include "model/table.h"

namespace assay::report {

// Returns the name, and the unit in parentheses behind it, unless the name tells the unit itself:
// "TTFT (ms)", "start_us", "load_percent".
std::string column_header(const model::Column& column);

}  // namespace assay::report
