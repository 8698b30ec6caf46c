// The parts that `goal validate` and `simulate fit` share.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"
#include "goal/input.h"
#include "goal/validate.h"

namespace assay::cli {

// Returns `assay simulate` as a function for the goal library.
goal::Simulate simulator();

// Returns goal::measured_units and prints its warnings.
core::Result<std::vector<goal::UnitModel>> measured_units(
    const std::vector<std::filesystem::path>& recordings,
    const goal::InputOptions& options,
    std::size_t skip);

}  // namespace assay::cli
