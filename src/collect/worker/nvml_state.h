// Clocks, temperature, energy and slowdowns of the NVIDIA GPU that a worker measures on.
#pragma once

#include <memory>
#include <string>

#include "collect/worker/conditions.h"

namespace assay::collect {

// `gpu` is what cudaDeviceGetPCIBusId tells, or an UUID. Errors: no driver, no such GPU. The
// reader's read() fails when the GPU is lost, and takes well below 1 ms.
core::Result<std::unique_ptr<StateReader>> nvml_state_reader(
    const std::string& gpu, const std::string& nvml_library = "libnvidia-ml.so.1");

}  // namespace assay::collect
