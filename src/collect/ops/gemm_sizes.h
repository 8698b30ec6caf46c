// Sizes that products and what surrounds them are swept over.
#pragma once

#include <vector>

#include "collect/plan/operator.h"

namespace assay::collect {

std::vector<model::PerfValue> gemm_tokens(Grid grid);
std::vector<model::PerfValue> gemm_widths(Grid grid);

}  // namespace assay::collect
