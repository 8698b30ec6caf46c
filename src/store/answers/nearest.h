// What a place without a bracket is taken for: a plane through the nearest measured points.
#pragma once

#include <span>

#include "store/answers/surface.h"

namespace assay::store {

struct Nearest {
  double latency = 0;
  GridPoint first;  // the nearest two
  GridPoint second;
  double factor = 1;  // how many times away the nearest is along its furthest axis
};

// Logarithms of time (of time over the roofline, where that is known) are fitted by a plane over
// logarithms of sizes, points weighed by the inverse square of their distance. Passes over all
// points of the surface. The surface has points.
Nearest nearest_plane(const Surface& surface, std::span<const double> sizes);

}  // namespace assay::store
