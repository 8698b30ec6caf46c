// The facts about a machine that are kept beside results. Their names do not depend on what was
// found (there is one fact for all GPUs), so that runs can be compared.
#pragma once

#include <filesystem>

#include "gpu/devices.h"
#include "model/facts.h"

namespace assay::gpu {

// Driver, GPUs and their settings; none without GPUs. `machine` must have been read with
// DeviceReader::Detail::kAll.
model::Facts machine_facts(const Machine& machine);

// Host, kernel and CPU governor. `root` is the folder that has /proc and /sys.
model::Facts host_facts(const std::filesystem::path& root);

}  // namespace assay::gpu
