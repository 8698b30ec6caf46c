// Why hardware or memory rules a kernel out, before anything is tried. What a library refuses, the
// device says itself.
#pragma once

#include <optional>
#include <string>

#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// Nothing: it may run.
std::optional<std::string> limit_of(const KernelSpec& spec, const DeviceFacts& facts);

}  // namespace assay::collect
