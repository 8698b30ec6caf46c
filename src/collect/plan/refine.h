// Which points to measure besides those of a store: where its tables' interpolation is worst.
//
// Every point is predicted from its neighbours along a size without itself
// (store/judging/table_check.h). Where that is further off than the limit, the middles between the
// point and both neighbours are cases, as long as a sweep takes such a case and none of the store's
// runs had it.
#pragma once

#include <cstdint>
#include <optional>

#include "collect/plan/plan.h"
#include "core/result.h"
#include "store/database/store.h"
#include "store/judging/table_check.h"

namespace assay::collect {

// Between two values of a size: their geometric mean as a whole number, and a multiple of as large
// a power of two as both are and the space between them leaves: 96 of 64 and 128. Nothing: there is
// no whole number between them.
std::optional<std::int64_t> middle_of(std::int64_t low, std::int64_t high);

struct RefineRequest {
  std::int64_t run = 0;  // the collection to refine; later runs are left out
  double limit = store::kHeldOutLimit;
  // Operators, filters, order and limit; that takes the points with the largest errors. The grid
  // and the overrides have no meaning here.
  PlanOptions options = {};
};

struct Refinement {
  Plan plan;                // empty: nothing to measure
  std::int64_t tested = 0;  // predictions of rows that this program's operators have
  std::int64_t beyond = 0;  // of these, with an error beyond the limit
};

// Goes by the rows of the run's device and framework.
core::Result<Refinement> plan_refinement(const store::Store& store, const RefineRequest& request);

}  // namespace assay::collect
