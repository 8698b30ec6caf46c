// Operators and plans as tables.
#pragma once

#include <string>
#include <vector>

#include "collect/operator.h"
#include "collect/plan.h"
#include "model/table.h"

namespace assay::collect {

// "dtype" of --dtype: the axis's option, or its column with '-' for '_'.
std::string option_name(const Axis& axis);

// Operators with their cases on each grid, then their axes.
model::Book operators_book(const std::vector<const Operator*>& operators);

// Counts by operator, then every case.
model::Book plan_book(const Plan& plan);

}  // namespace assay::collect
