// What commands need that have workers measure.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"

namespace assay::cli {

inline constexpr const char* kWorkerVariable = "ASSAY_WORKER";

// NVIDIA GPUs as this shell sees them.
core::Result<int> count_gpus();

// The program that `named` or else the environment names; empty: neither does.
core::Result<std::filesystem::path> named_worker(const std::filesystem::path& named);

// How this process was called, for the record.
std::string own_command_line();

}  // namespace assay::cli
