// NVML's clocks event reasons (called throttle reasons before driver 535) in words.
#pragma once

#include <vector>

#include "gpu/devices.h"

namespace assay::gpu {

std::vector<ClockReason> clock_reasons(unsigned long long bits);

}  // namespace assay::gpu
