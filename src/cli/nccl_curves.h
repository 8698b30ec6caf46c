// The shipped systems hold curves of NCCL, which the reports of traces draw.
#pragma once

#include <string>
#include <vector>

#include "trace/compare/bandwidth.h"

namespace assay::cli {

// Returns the measured curves of the first shipped system whose device has this name: "NVIDIA
// H200". None where no system has, or where it cannot be read.
std::vector<trace::NcclCurve> nccl_curves(const std::string& gpu_name);

}  // namespace assay::cli
