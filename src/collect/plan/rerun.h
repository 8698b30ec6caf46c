// Which cases of a collection are measured again, to see whether its times repeat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/plan/plan.h"
#include "core/result.h"
#include "store/database/store.h"

namespace assay::collect {

// Draws `count` of the measured cases at random, as many of each operator as of any other while it
// has them, and keeps their order. The same seed draws the same cases.
std::vector<store::StoredCase> draw_measured(std::vector<store::StoredCase> cases,
                                             std::int64_t count,
                                             std::uint64_t seed);

struct RerunPlan {
  Plan plan;
  std::vector<std::string> unknown;  // drawn ids that no operator of this program has
};

// Plans to measure `count` cases of the run again. Error: the run measured nothing.
core::Result<RerunPlan> plan_rerun(const store::Store& store,
                                   std::int64_t run,
                                   std::int64_t count,
                                   std::uint64_t seed);

}  // namespace assay::collect
