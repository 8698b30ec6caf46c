// Finds the peak rates of a GPU for rooflines.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/options.h"

namespace assay::trace {

// Returns the published peaks of the GPU that a trace's device name means ("NVIDIA H200", "AMD
// Instinct MI300X"). std::nullopt: the GPU is unknown, or only a part of one (MIG).
std::optional<GpuArchitecture> bundled_architecture(std::string_view gpu_name);

// Reads a JSON object {"name", "mem_bw_gbps", "max_achievable_tflops": {"matrix_bf16": …}} with 1e9
// bytes and 1e12 operations per second. Other members are ignored.
core::Result<GpuArchitecture> load_architecture(const std::filesystem::path& path);

// Finds what a user names: a GPU with published peaks, or a file.
core::Result<GpuArchitecture> find_architecture(const std::string& name_or_path);

}  // namespace assay::trace
