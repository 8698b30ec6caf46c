// Which cases of a plan have their energy measured, where it is not every case: it takes a second,
// and power changes slowly along a size.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "collect/plan/plan.h"

namespace assay::collect {

// Returns the ids of the cases whose energy is measured: of those that differ only in their first
// inner size (an operator's first axis of whole numbers with Nesting::kInner), every Nth from the
// smallest on, and the largest. Cases of other operators (modules) are all of them.
std::set<std::string> cases_with_power(const std::vector<PlannedCase>& cases, std::int64_t every);

}  // namespace assay::collect
