// What `goal validate` and `simulate fit` have in common.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"
#include "goal/input.h"
#include "goal/validate.h"

namespace assay::cli {

// The simulator as the goal library calls it.
goal::Simulate simulator();

// The operations of recordings, each kind and size with the times that were measured. Of each, the
// first `skip` times are left out when there are more: they are slow because all is new.
core::Result<std::vector<goal::UnitModel>> measured_units(
    const std::vector<std::filesystem::path>& recordings,
    const goal::InputOptions& options,
    std::size_t skip);

}  // namespace assay::cli
