// What InferenceX's recipes and changelog tell of its results, and its table does not.
//
// Results name the engine's image and the moment at which the change that called for them was
// merged, but not the recipe that ran. The recipes of a day are public: where only one that drafts
// tokens can have made a result, it drafted them.
#pragma once

#include <cstdint>
#include <string>

#include "plan/validate/measured.h"

namespace assay::plan {

// Tokens that the deployment drafted of each request in a step; 0 where no recipe says so.
// `measured_on`: the day, as "2026-01-14".
std::int64_t drafted_by_recipe(const MeasuredDeployment& measured, const std::string& measured_on);

}  // namespace assay::plan
