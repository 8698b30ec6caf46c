// Values of an operator's axis as the command line gives them.
#pragma once

#include <string>
#include <vector>

#include "collect/operator.h"
#include "core/result.h"

namespace assay::cli {

// "1,2,4096" or "fp8,bf16". Error, with the option's name: not a value that the axis can have.
core::Result<std::vector<model::PerfValue>> axis_values(const collect::Axis& axis,
                                                        const std::string& list);

}  // namespace assay::cli
