// Times works that are done when their launch returns, by the clock of the processor.
#pragma once

#include <cstdint>
#include <memory>

#include "collect/kernels/device.h"

namespace assay::collect {

std::unique_ptr<Stopwatch> make_clock_stopwatch(Work& work, std::int64_t launches_per_sample);

}  // namespace assay::collect
