#include "store/answers/surface.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "core/text.h"

namespace assay::store {
namespace {

// A size and an end of its bracket may differ by this factor.
constexpr double kMostApart = 64;

// The distance of two sizes as a logarithm. A size may be 0: that of a cache.
double apart(double a, double b) {
  return std::abs(std::log((1 + a) / (1 + b)));
}

}  // namespace

bool Estimate::is_exact() const {
  return !from_nearest &&
         std::all_of(met.begin(), met.end(), [](Met how) { return how == Met::kMeasured; });
}

struct Surface::Blend {
  double excess = 0;
  double least = 0;  // of the latencies of its corners, as `most`
  double most = 0;
  GridPoint low;
  GridPoint high;
  std::array<Met, kMostAxes> met = {};
  double width = 0;  // of the brackets, as apart() measures it

  [[nodiscard]] bool is_over_hole() const {
    return std::any_of(met.begin(), met.end(), [](Met how) { return how == Met::kOverHole; });
  }
};

struct Surface::Neighbour {
  Blend blend;
  std::uint32_t index = 0;
  bool is_next = true;  // there is no hole before it
};

Surface::Surface(std::vector<SurfaceAxis> axes, Grid grid, Roofline roofline)
    : axes_(std::move(axes)),
      grid_(std::move(grid)),
      roofline_(std::move(roofline)),
      order_(axes_.size()) {
  ASSAY_CHECK(axes_.size() == grid_.num_axes(), "a surface's axes are not its grid's");
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return grid_.values(a).size() < grid_.values(b).size();
  });
}

double Surface::excess(const Position& position, double latency) const {
  if (!roofline_) return latency;
  const auto sizes = grid_.sizes_of(position);
  return latency - roofline_(std::span(sizes.data(), axes_.size()));
}

std::optional<Surface::Blend> Surface::blend_at(const Asked& asked,
                                                std::size_t level,
                                                Position& position,
                                                std::int64_t index) const {
  const std::size_t axis = asked.order[level];
  const auto count = static_cast<std::int64_t>(grid_.values(axis).size());
  if (index < 0 || index >= count) return std::nullopt;
  position[axis] = static_cast<std::uint32_t>(index);
  return blend(asked, level + 1, position);
}

// Finds the point from index `from` on, in the direction of `step`, that makes the tightest
// brackets: a near point that shares few values of the inner axes may be worse than one further
// away.
std::optional<Surface::Neighbour> Surface::neighbour(
    const Asked& asked, std::size_t level, Position& position, std::int64_t from, int step) const {
  const std::size_t axis = asked.order[level];
  const auto& values = grid_.values(axis);
  const auto count = static_cast<std::int64_t>(values.size());
  std::optional<Neighbour> best;
  double least = std::log(kMostApart);
  for (std::int64_t index = from; index >= 0 && index < count; index += step) {
    const double away = apart(values[static_cast<std::size_t>(index)], asked.sizes[axis]);
    if (away > least) break;
    const auto inner = blend_at(asked, level, position, index);
    if (!inner || (best && away + inner->width >= least)) continue;
    least = away + inner->width;
    best = Neighbour{
        .blend = *inner, .index = static_cast<std::uint32_t>(index), .is_next = index == from};
  }
  return best;
}

std::optional<Surface::Blend> Surface::blend_between(const Asked& asked,
                                                     std::size_t level,
                                                     Position& position,
                                                     std::int64_t below,
                                                     std::int64_t above) const {
  const auto low = neighbour(asked, level, position, below, -1);
  if (!low) return std::nullopt;
  const auto high = neighbour(asked, level, position, above, 1);
  if (!high) return std::nullopt;
  const std::size_t axis = asked.order[level];
  const auto& values = grid_.values(axis);
  Along along;
  along.x = {0, values[low->index], values[high->index], 0};
  along.y = {0, low->blend.excess, high->blend.excess, 0};
  if (axes_[axis].curve == Curve::kCubic) {
    const std::int64_t before_low = std::int64_t{low->index} - 1;
    if (const auto before = blend_at(asked, level, position, before_low)) {
      along.has_before = true;
      along.x[0] = values[static_cast<std::size_t>(before_low)];
      along.y[0] = before->excess;
    }
    const std::int64_t after_high = std::int64_t{high->index} + 1;
    if (const auto after = blend_at(asked, level, position, after_high)) {
      along.has_after = true;
      along.x[3] = values[static_cast<std::size_t>(after_high)];
      along.y[3] = after->excess;
    }
  }
  Blend result{.excess = value_along(along, axes_[axis].curve, asked.sizes[axis]),
               .least = std::min(low->blend.least, high->blend.least),
               .most = std::max(low->blend.most, high->blend.most),
               .low = low->blend.low,
               .high = high->blend.high,
               .met = {},
               .width = apart(values[low->index], values[high->index]) +
                        std::max(low->blend.width, high->blend.width)};
  for (std::size_t i = 0; i < axes_.size(); ++i)
    result.met[i] = std::max(low->blend.met[i], high->blend.met[i]);
  const bool next = low->is_next && high->is_next && above - below == 1;
  result.met[axis] = next ? Met::kBetween : Met::kOverHole;
  return result;
}

// `sizes` must lie within the grid's ranges. std::nullopt where an axis has no bracket.
std::optional<Surface::Blend> Surface::blend(const Asked& asked,
                                             std::size_t level,
                                             Position& position) const {
  if (level == axes_.size()) {
    const double* latency = grid_.find(position);
    if (latency == nullptr) return std::nullopt;
    const GridPoint point{.position = position, .latency = *latency};
    return Blend{.excess = excess(position, *latency),
                 .least = *latency,
                 .most = *latency,
                 .low = point,
                 .high = point,
                 .met = {}};
  }
  const std::size_t axis = asked.order[level];
  const auto& values = grid_.values(axis);
  const double size = asked.sizes[axis];
  const std::int64_t index = std::lower_bound(values.begin(), values.end(), size) - values.begin();
  const bool measured = values[static_cast<std::size_t>(index)] == size;
  if (measured) {
    if (auto here = blend_at(asked, level, position, index)) return here;
  }
  return blend_between(asked, level, position, index - 1, measured ? index + 1 : index);
}

// Tries the orders of the axes, which make no difference where all corners of the bracket were
// measured.
std::optional<Surface::Blend> Surface::tightest(std::span<const double> sizes) const {
  Position position{};
  std::optional<Blend> best = blend({sizes, order_}, 0, position);
  if (best && !best->is_over_hole()) return best;
  Order order = order_;
  std::sort(order.begin(), order.end());
  do {
    const auto found = blend({sizes, order}, 0, position);
    if (found && (!best || found->width < best->width)) best = found;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

core::Status Surface::check_range(std::span<const double> sizes,
                                  Beyond beyond,
                                  Estimate& estimate) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto& values = grid_.values(axis);
    const double size = sizes[axis];
    if (size >= values.front() && size <= values.back()) continue;
    if (values.size() == 1 && roofline(sizes) <= 0) {
      return core::Error{
          fmt::format("{} was measured at {} only", axes_[axis].column, values.front())};
    }
    const bool above = size > values.back();
    const double factor = above ? size / values.back() : values.front() / std::max(size, 1e-9);
    estimate.met[axis] = above ? Met::kAbove : Met::kBelow;
    estimate.beyond = std::max(estimate.beyond, factor);
    if (factor <= kMostBeyond || beyond == Beyond::kExtrapolate) continue;
    return core::Error{fmt::format("{} was measured from {} to {}; {} is {:.3g} times {} that",
                                   axes_[axis].column, values.front(), values.back(), size, factor,
                                   above ? "beyond" : "below")};
  }
  return {};
}

void Surface::estimate_nearest(std::span<const double> sizes, Estimate& estimate) const {
  const Nearest nearest = nearest_plane(*this, sizes);
  estimate.from_nearest = true;
  estimate.latency = nearest.latency;
  estimate.low = nearest.first;
  estimate.high = nearest.second;
  estimate.beyond = std::max(estimate.beyond, nearest.factor);
}

void Surface::estimate_within(std::span<const double> sizes, Estimate& estimate) const {
  const auto found = tightest(sizes);
  if (!found) return estimate_nearest(sizes, estimate);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    estimate.met[axis] = std::max(estimate.met[axis], found->met[axis]);
  estimate.low = found->low;
  estimate.high = found->high;
  if (found->low.position == found->high.position) {
    estimate.latency = found->low.latency;
    return;
  }
  const double above = roofline(sizes);
  estimate.latency = std::max(std::clamp(above + found->excess, found->least, found->most), above);
}

// The factor by which the latency grows from the last measured value of `axis` to `size`: it
// continues in a straight line, or as the same power where it grows faster than the size.
double Surface::growth_past_end(std::span<const double> inside,
                                std::size_t axis,
                                double size,
                                double latency) const {
  const auto& values = grid_.values(axis);
  if (values.size() == 1) {
    std::vector<double> there(inside.begin(), inside.end());
    there[axis] = size;
    return std::max(1.0, roofline(there) / roofline(inside));
  }
  const double last = values.back();
  const double previous = values[values.size() - 2];
  std::vector<double> there(inside.begin(), inside.end());
  there[axis] = previous;
  Estimate before;
  estimate_within(there, before);
  const double grown = std::max(0.0, latency - before.latency);
  if (axes_[axis].curve == Curve::kLine || previous <= 0) {
    return 1 + grown / (last - previous) * (size - last) / latency;
  }
  const double power = std::log1p(grown / before.latency) / std::log(last / previous);
  return std::pow(size / last, std::min(power, 2.0));
}

core::Result<Estimate> Surface::at(std::span<const double> sizes, Beyond beyond) const {
  ASSAY_CHECK(sizes.size() == axes_.size(), "a query names other sizes than the surface has");
  if (grid_.points().empty()) return core::Error{"nothing was measured"};
  Estimate estimate;
  ASSAY_TRY(check_range(sizes, beyond, estimate));
  std::vector<double> inside(sizes.begin(), sizes.end());
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    inside[axis] = std::clamp(sizes[axis], grid_.values(axis).front(), grid_.values(axis).back());
  estimate_within(inside, estimate);
  if (estimate.beyond > kMostBeyond && beyond == Beyond::kRefuse) {
    return core::Error{fmt::format("the nearest measured point, {}, is {:.3g} times away",
                                   place(grid_.sizes_of(estimate.low.position)), estimate.beyond)};
  }
  double growth = 1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (estimate.met[axis] == Met::kAbove)
      growth *= growth_past_end(inside, axis, sizes[axis], estimate.latency);
  }
  estimate.roofline = roofline(sizes);
  estimate.latency *= growth;
  if (!estimate.is_exact()) estimate.latency = std::max(estimate.latency, estimate.roofline);
  estimate.uncertainty = uncertainty(estimate);
  return estimate;
}

// Moves `position` to the next point of its row, unless that is too far away.
bool Surface::find_end(Position& position, std::size_t axis, int step) const {
  const auto& values = grid_.values(axis);
  const double size = values[position[axis]];
  return find_along(grid_, position, axis, step, static_cast<int>(values.size())) &&
         apart(values[position[axis]], size) <= std::log(kMostApart);
}

std::optional<double> Surface::held_out(const Position& position, std::size_t axis) const {
  Position low = position;
  Position high = position;
  if (!find_end(low, axis, -1) || !find_end(high, axis, 1)) return std::nullopt;
  const auto& values = grid_.values(axis);
  Along along;
  along.x = {0, values[low[axis]], values[high[axis]], 0};
  along.y = {0, excess(low, *grid_.find(low)), excess(high, *grid_.find(high)), 0};
  if (axes_[axis].curve == Curve::kCubic) {
    Position before = low;
    Position after = high;
    along.has_before = find_along(grid_, before, axis, -1, 1);
    along.has_after = find_along(grid_, after, axis, 1, 1);
    if (along.has_before) along.x[0] = values[before[axis]];
    if (along.has_before) along.y[0] = excess(before, *grid_.find(before));
    if (along.has_after) along.x[3] = values[after[axis]];
    if (along.has_after) along.y[3] = excess(after, *grid_.find(after));
  }
  const double size = values[position[axis]];
  const auto sizes = grid_.sizes_of(position);
  const double roof = roofline(std::span(sizes.data(), axes_.size()));
  const double between = roof + value_along(along, axes_[axis].curve, size);
  const auto ends = std::minmax(*grid_.find(low), *grid_.find(high));
  return std::max(std::clamp(between, ends.first, ends.second), roof);
}

std::optional<double> Surface::uncertainty(const Estimate& estimate) const {
  if (estimate.is_exact()) return std::nullopt;
  double squares = 0;
  int count = 0;
  for (const GridPoint& corner : {estimate.low, estimate.high}) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (estimate.met[axis] == Met::kMeasured && !estimate.from_nearest) continue;
      const auto predicted = held_out(corner.position, axis);
      if (!predicted || corner.latency <= 0) continue;
      const double error = *predicted / corner.latency - 1;
      squares += error * error;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return std::sqrt(squares / count) * estimate.beyond;
}

std::string Surface::place(std::span<const double> sizes) const {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    parts.push_back(fmt::format("{}={}", axes_[axis].column, sizes[axis]));
  return core::join(parts, " ");
}

std::string Surface::method(const Estimate& estimate, std::span<const double> sizes) const {
  std::vector<std::string> lines;
  std::vector<std::string> cubics;
  std::vector<std::string> holes;
  std::vector<std::string> beyond;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const std::string& column = axes_[axis].column;
    const Met how = estimate.met[axis];
    const auto& values = grid_.values(axis);
    if (how == Met::kAbove) {
      beyond.push_back(fmt::format("extrapolated above {}={}", column, values.back()));
    } else if (how == Met::kBelow) {
      beyond.push_back(fmt::format("extrapolated below {}={}", column, values.front()));
    } else if (how != Met::kMeasured) {
      (axes_[axis].curve == Curve::kLine ? lines : cubics).push_back(column);
    }
    if (how == Met::kOverHole) holes.push_back(column);
  }
  std::vector<std::string> parts;
  if (estimate.from_nearest) {
    parts.push_back(fmt::format("nearest points (hole at {})", place(sizes)));
  } else {
    if (!lines.empty()) parts.push_back("linear in " + core::join(lines, " and "));
    if (!cubics.empty()) parts.push_back("cubic in " + core::join(cubics, " and "));
    if (!holes.empty()) parts.push_back("over a hole in " + core::join(holes, " and "));
  }
  parts.insert(parts.end(), beyond.begin(), beyond.end());
  if (parts.empty()) return "exact";
  if (estimate.beyond > 1) parts.back() += fmt::format(" (x{:.3g})", estimate.beyond);
  return core::join(parts, ", ");
}

}  // namespace assay::store
