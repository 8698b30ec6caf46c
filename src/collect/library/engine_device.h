// The work of a caller of assay/measure.h, as a device that collect/worker/measure.h can time.
#pragma once

#include <assay/measure.h>

#include <memory>

#include "collect/kernels/device.h"

namespace assay::collect {

// The device keeps a reference to the request. Error: there is no driver.
core::Result<std::unique_ptr<Device>> make_engine_device(const assay_measure_request& request);

}  // namespace assay::collect
