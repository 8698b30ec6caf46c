#include "store/answers/curve.h"

namespace assay::store {
namespace {

double slope(const Along& along, std::size_t from) {
  return (along.y[from + 1] - along.y[from]) / (along.x[from + 1] - along.x[from]);
}

// Weighted harmonic mean of the slopes to both sides of point `at`; 0 at a turn.
double slope_at(const Along& along, std::size_t at) {
  const double before = slope(along, at - 1);
  const double after = slope(along, at);
  if (before * after <= 0) return 0;
  const double width_before = along.x[at] - along.x[at - 1];
  const double width_after = along.x[at + 1] - along.x[at];
  const double weight_before = 2 * width_after + width_before;
  const double weight_after = width_after + 2 * width_before;
  return (weight_before + weight_after) / (weight_before / before + weight_after / after);
}

}  // namespace

double value_along(const Along& along, Curve curve, double x) {
  const double width = along.x[2] - along.x[1];
  const double t = (x - along.x[1]) / width;
  if (curve == Curve::kLine) return along.y[1] + t * (along.y[2] - along.y[1]);
  const double middle = slope(along, 1);
  const double at_low = along.has_before ? slope_at(along, 1) : middle;
  const double at_high = along.has_after ? slope_at(along, 2) : middle;
  const double u = 1 - t;
  return (1 + 2 * t) * u * u * along.y[1] + t * u * u * width * at_low +
         t * t * (3 - 2 * t) * along.y[2] - t * t * u * width * at_high;
}

}  // namespace assay::store
