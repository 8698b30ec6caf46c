// An output never takes the place of an input.
#pragma once

#include <filesystem>
#include <span>

#include "core/result.h"

namespace assay::cli {

// Fails when the output is one of the inputs, under whatever name.
core::Status refuse_to_replace(std::span<const std::filesystem::path> inputs,
                               const std::filesystem::path& output);

}  // namespace assay::cli
