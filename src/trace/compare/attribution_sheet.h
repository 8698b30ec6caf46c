// The attribution of a comparison, from the runs' traces.
#pragma once

#include <optional>

#include "trace/attribution/attribution.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Returns std::nullopt where not every run was read from its traces; an error where the sides
// cannot be set side by side.
std::optional<core::Result<attribution::Attribution>> attribution_of(const Sides& sides);

}  // namespace assay::trace
