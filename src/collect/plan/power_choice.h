// Which cases of a plan have their energy measured, where it is not every case: it takes half a
// second, and power changes slowly along a size.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/plan/plan.h"

namespace assay::collect {

// Sets PlannedCase::measure_power: of cases that differ only in their first inner size (an
// operator's first axis of whole numbers with Nesting::kInner), for every Nth from the smallest on,
// and for the largest; for all cases of other operators (modules).
void choose_power(std::vector<PlannedCase>& cases, std::int64_t every);

}  // namespace assay::collect
