// Which cases of a plan have their energy measured, where it is not every case: it takes half a
// second, and power changes slowly along a size.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/plan/plan.h"

namespace assay::collect {

// Sets PlannedCase::measure_power, of cases that differ only in their sizes (an operator's axes of
// tokens and requests outside of its groups), for those whose ranks among the values of each size
// sum to a multiple of N, so that along each size it is every Nth, and for the largest; for all
// cases of operators without sizes (collectives, modules).
// Precondition: every > 0.
void choose_power(std::vector<PlannedCase>& cases, std::int64_t every);

}  // namespace assay::collect
