// Finds the costs and links under which the simulated times of recorded operations come closest to
// the measured ones.
#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "goal/validate.h"

namespace assay::goal {

struct Fitted {
  LineCosts costs;
  Links links;
  double error_before = 0;  // weighted mean of |log(simulated / measured)|
  double error = 0;
  std::size_t simulations = 0;
};

// Pattern search over the logarithms of those parameters that the units depend on; the others stay
// as they begin. Deterministic.
core::Result<Fitted> fit(const std::vector<UnitModel>& units,
                         const LineCosts& costs,
                         const Links& links,
                         const Simulate& simulate,
                         unsigned threads);

}  // namespace assay::goal
