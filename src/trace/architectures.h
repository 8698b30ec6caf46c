// Peak rates of GPUs, for rooflines.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/options.h"

namespace assay::trace {

// The bundled GPU that a trace's device name means ("NVIDIA H200", "AMD Instinct MI300X"). None
// for other GPUs and for a part of one (MIG).
std::optional<GpuArchitecture> bundled_architecture(std::string_view gpu_name);

// A JSON object {"name", "mem_bw_gbps", "max_achievable_tflops": {"matrix_bf16": …}}: 1e9 bytes and
// 1e12 operations a second. Other members are ignored.
core::Result<GpuArchitecture> load_architecture(const std::filesystem::path& path);

// What a user names: a bundled GPU or a file.
core::Result<GpuArchitecture> find_architecture(const std::string& name_or_path);

}  // namespace assay::trace
