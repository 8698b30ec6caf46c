// Values of an operator's axis as the command line gives them.
#pragma once

#include <string>

#include "collect/plan/operator.h"
#include "core/result.h"

namespace assay::cli {

// "1,2,4096" or "fp8,bf16" for one of its axes. Error, with the option's name: not a value that
// collect::check_override lets the axis have.
core::Result<collect::AxisOverride> axis_override(const collect::Operator& of,
                                                  const collect::Axis& axis,
                                                  const std::string& list);

}  // namespace assay::cli
