// A value between measured ones along one size.
#pragma once

#include <array>
#include <cstddef>

#include "store/files/columns.h"

namespace assay::store {

// The bracket (1 and 2) and, where they exist, the points outside of it (0 and 3).
struct Along {
  std::array<double, 4> x = {};
  std::array<double, 4> y = {};
  bool has_before = false;
  bool has_after = false;
};

// At `x` within the bracket. kCubic: F. N. Fritsch, J. Butland, "A method for constructing local
// monotone piecewise cubic interpolants", 1984; with no point outside, a straight line.
double value_along(const Along& along, Curve curve, double x);

}  // namespace assay::store
