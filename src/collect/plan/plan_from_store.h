// Plans that come from what a store holds: a refinement adds points where interpolation in its
// tables is worst, a rerun measures some of its points again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/plan/plan.h"
#include "core/result.h"
#include "store/database/store.h"
#include "store/judging/table_check.h"

namespace assay::collect {

// The value halfway between two values of a size, such as 96 for 64 and 128: their geometric mean,
// rounded to a multiple of the largest power of two that divides both and leaves a value between
// them. std::nullopt: there is no whole number between them.
std::optional<std::int64_t> middle_of(std::int64_t low, std::int64_t high);

// A refinement predicts every point from its neighbours along a size without the point itself
// (store/judging/table_check.h). Where the prediction is further off than the limit, the middles
// between the point and both neighbours become cases, unless no sweep takes such a case or one of
// the store's runs had it.
struct RefineRequest {
  std::int64_t run = 0;  // the collection to refine; later runs are left out
  double limit = store::kHeldOutLimit;
  // Operators, filters, order and limit, which keeps the points with the largest errors. The grid
  // and the overrides have no meaning here.
  PlanOptions options = {};
};

struct Refinement {
  Plan plan;                // empty if there is nothing to measure
  std::int64_t tested = 0;  // predictions of rows that this program's operators have
  std::int64_t beyond = 0;  // those with an error beyond the limit
};

// Why a refinement, made with this limit, has no case.
std::string why_nothing_to_refine(const Refinement& refinement, double limit);

// Uses the rows of the run's device and framework.
core::Result<Refinement> plan_refinement(const store::Store& store, const RefineRequest& request);

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
