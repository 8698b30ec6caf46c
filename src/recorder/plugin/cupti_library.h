// CUPTI, found and opened while the program runs.
#pragma once

#include <string>

#include "recorder/plugin/cupti_abi.h"

namespace assay::recorder::cupti {

// `wanted` is a file, or "" for: the one that the process has loaded, the one that belongs to its
// CUDA runtime, the one that the system knows. False with a reason. It stays loaded.
bool open(const std::string& wanted, Functions& functions, std::string& reason);

}  // namespace assay::recorder::cupti
