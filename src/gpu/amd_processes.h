// Which processes compute on AMD GPUs: the kernel's list of ROCm processes (KFD).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gpu/devices.h"

namespace assay::gpu {

// By PCI address ("0000:c1:00.0").
using ProcessesByAddress = std::map<std::string, std::vector<Process>>;

ProcessesByAddress amd_processes(const std::filesystem::path& root);

}  // namespace assay::gpu
