// Operators and plans as tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/plan/operator.h"
#include "collect/plan/plan.h"
#include "model/table.h"

namespace assay::collect {

// "dtype" of --dtype: the axis's option, or its column with '-' for '_'.
std::string option_name(const Axis& axis);

// Operators with their cases on each grid; kShort leaves out their tables, to fit on a terminal.
enum class Columns : std::uint8_t { kAll, kShort };
model::Table operators_table(const std::vector<const Operator*>& operators, Columns columns);

// Axes of all of them.
model::Table axes_table(const std::vector<const Operator*>& operators);

// Of each a table of its axes, with its cases on each grid, for people.
model::Book axes_book(const std::vector<const Operator*>& operators);

// Counts by operator, then every case.
model::Book plan_book(const Plan& plan);

}  // namespace assay::collect
