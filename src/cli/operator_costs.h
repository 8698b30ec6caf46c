// Tells what the operators that assay measures cost, for the rooflines of their tables.
#pragma once

#include <string>
#include <vector>

#include "store/judging/roofline.h"

namespace assay::cli {

// The operators whose rows the table holds.
std::vector<store::CostedOperator> costed_operators(const std::string& table);

}  // namespace assay::cli
