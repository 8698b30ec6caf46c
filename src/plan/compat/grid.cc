#include "plan/compat/grid.h"

#include <algorithm>
#include <cmath>

namespace assay::plan::compat {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kNearest = 4;

bool is_usable(double ms) {
  return std::isfinite(ms) && ms > 0;
}

double log_of(double value) {
  return std::log2(std::max(value, 1e-12));
}

// The weight of a row at this distance falls to 0 at the first row that is not taken.
double weight_of(double distance, double radius) {
  if (std::isinf(radius)) return 1 / (distance * distance + 1e-12);
  const double taper = std::max(radius - distance, 0.0) / (radius * distance + 1e-12);
  return taper * taper;
}

}  // namespace

Grid::Grid(std::size_t axes, std::size_t sqrt_axis) : axes_(axes), sqrt_axis_(sqrt_axis) {}

void Grid::add(const Place& place, double ms) {
  Place logs = {};
  for (std::size_t axis = 0; axis < axes_; ++axis)
    logs[axis] = log_of(place[axis]);
  points_.push_back({.place = place, .logs = logs, .ms = ms});
}

void Grid::finish() {
  std::stable_sort(points_.begin(), points_.end(),
                   [](const Point& a, const Point& b) { return a.place < b.place; });
  const auto last = std::unique(points_.begin(), points_.end(),
                                [](const Point& a, const Point& b) { return a.place == b.place; });
  points_.erase(last, points_.end());
}

double Grid::low(std::size_t axis) const {
  const auto least = std::min_element(
      points_.begin(), points_.end(),
      [&](const Point& a, const Point& b) { return a.place[axis] < b.place[axis]; });
  return least == points_.end() ? kNothing : least->place[axis];
}

double Grid::high(std::size_t axis) const {
  const auto most = std::max_element(
      points_.begin(), points_.end(),
      [&](const Point& a, const Point& b) { return a.place[axis] < b.place[axis]; });
  return most == points_.end() ? kNothing : most->place[axis];
}

Grid::Range Grid::equal(Range range, std::size_t axis, double value) const {
  const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(range.begin);
  const auto end = points_.begin() + static_cast<std::ptrdiff_t>(range.end);
  const auto first = std::lower_bound(begin, end, value, [&](const Point& point, double bound) {
    return point.place[axis] < bound;
  });
  const auto last = std::upper_bound(first, end, value, [&](double bound, const Point& point) {
    return bound < point.place[axis];
  });
  return {static_cast<std::size_t>(first - points_.begin()),
          static_cast<std::size_t>(last - points_.begin())};
}

double Grid::blend(std::size_t axis, double low, double high, double share) const {
  if (axis != sqrt_axis_) return low + (high - low) * share;
  const double low_root = std::sqrt(std::max(low, 0.0));
  const double root = low_root + (std::sqrt(std::max(high, 0.0)) - low_root) * share;
  return root * root;
}

std::optional<double> Grid::within(Range range,
                                   std::size_t axis,
                                   const Place& place,
                                   const LeastMs& least_ms) const {
  if (axis == axes_) return points_[range.begin].ms;
  const double value = place[axis];
  const Range same = equal(range, axis, value);
  if (same.begin != same.end) return within(same, axis + 1, place, least_ms);
  if (same.begin == range.begin || same.begin == range.end) return std::nullopt;
  const double below = points_[same.begin - 1].place[axis];
  const double above = points_[same.begin].place[axis];
  const auto low = within(equal(range, axis, below), axis + 1, place, least_ms);
  const auto high = within(equal(range, axis, above), axis + 1, place, least_ms);
  if (low && high) return blend(axis, *low, *high, (value - below) / (above - below));
  if (!low && !high) return std::nullopt;
  // Where the rows on one side end too early, the other side's share of its roofline holds.
  Place known = place;
  known[axis] = low ? below : above;
  const double asked_least = least_ms(place);
  const double known_least = least_ms(known);
  const double ms = low ? *low : *high;
  return is_usable(asked_least) && is_usable(known_least) ? ms * (asked_least / known_least) : ms;
}

double Grid::beyond_one_axis(const Place& place, const LeastMs& least_ms) const {
  const Point& nearest = place[0] > points_.back().place[0] ? points_.back() : points_.front();
  const double known_least = least_ms(nearest.place);
  const double asked_least = least_ms(place);
  if (!is_usable(nearest.ms) || !is_usable(known_least) || !is_usable(asked_least)) return kNothing;
  return asked_least / (known_least / nearest.ms);
}

double Grid::beyond(const Place& place, const LeastMs& least_ms) const {
  Place logs = {};
  for (std::size_t axis = 0; axis < axes_; ++axis)
    logs[axis] = log_of(place[axis]);

  struct Neighbour {
    double distance = std::numeric_limits<double>::infinity();
    const Point* point = nullptr;
  };

  // The first that is not taken tells where weights end. Of equally near ones the earlier counts.
  std::array<Neighbour, kNearest + 1> nearest = {};
  for (const Point& point : points_) {
    if (!is_usable(point.ms)) continue;
    double sum = 0;
    for (std::size_t axis = 0; axis < axes_; ++axis)
      sum += (point.logs[axis] - logs[axis]) * (point.logs[axis] - logs[axis]);
    const double distance = std::sqrt(sum);
    if (distance >= nearest.back().distance) continue;
    const auto after =
        std::upper_bound(nearest.begin(), nearest.end(), distance,
                         [](double bound, const Neighbour& one) { return bound < one.distance; });
    std::move_backward(after, nearest.end() - 1, nearest.end());
    *after = {.distance = distance, .point = &point};
  }
  const double radius = nearest.back().distance;
  double weights = 0;
  double reached = 0;
  double plain = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kNearest && nearest[i].point != nullptr; ++i) {
    const double share = least_ms(nearest[i].point->place) / nearest[i].point->ms;
    const double weight = weight_of(nearest[i].distance, radius);
    weights += weight;
    reached += weight * share;
    plain += share;
    ++count;
  }
  const double asked_least = least_ms(place);
  if (count == 0 || !is_usable(asked_least)) return kNothing;
  const double share = weights > 0 ? reached / weights : plain / static_cast<double>(count);
  return asked_least / share;
}

double Grid::at(const Place& place, const LeastMs& least_ms) const {
  if (points_.empty()) return kNothing;
  if (const auto ms = within({0, points_.size()}, 0, place, least_ms)) return *ms;
  return axes_ == 1 ? beyond_one_axis(place, least_ms) : beyond(place, least_ms);
}

}  // namespace assay::plan::compat
