// The attribution of a comparison, from the runs' traces.
#pragma once

#include <optional>
#include <string>

#include "trace/attribution/attribution.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Returns how the clocks of both sides differ under load; std::nullopt where a run did not record
// it.
std::optional<attribution::ClockChange> clock_change(const Sides& sides);

// Tells clocks and power under load, and what held the clocks down: the evidence of two causes.
// "" where the runs recorded none of it.
std::string conditions_in_words(const Sides& sides);

// Returns std::nullopt where not every run was read from its traces; an error where the sides
// cannot be set side by side.
std::optional<core::Result<attribution::Attribution>> attribution_of(const Sides& sides);

}  // namespace assay::trace
