// Tells what the operators that assay measures cost, for the rooflines of their tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/database/modelled_power.h"
#include "store/judging/roofline.h"

namespace assay::cli {

// The operators whose rows the table holds.
std::vector<store::CostedOperator> costed_operators(const std::string& table);

// Returns the work that rows do in their time, as shares of the peaks of the device in their column
// "device"; unknown for devices and types without.
std::vector<std::optional<store::RowLoad>> row_loads(const std::string& table,
                                                     const store::Frame& rows);

}  // namespace assay::cli
