// How a family answers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "store/answers/calibration.h"
#include "store/answers/family.h"

namespace assay::store {
namespace {

constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoCurve = std::numeric_limits<std::uint32_t>::max();

// Curves that touch differ by this part of the variance all the same.
constexpr double kNugget = 1e-3;

// What is known of the least error of an answer, as a part of it.
constexpr double kLeastError = 0.01;

// How much less a curve tells of another for each reach that they are apart: e^(-2 reaches).
constexpr double kFading = 2;

// A curve's last rows tell how it goes on if they are at least so many doublings apart.
constexpr double kTrendOver = 1 - 1e-9;

// The weight of "as a straight line" beside that of a curve with the same sizes.
constexpr double kStraightWeight = 0.2;

// The mean of two answers, each by the inverse of its variance. How far they are apart tells how
// little is known of either.
WorkEstimate mean_of(const WorkEstimate& a, const WorkEstimate& b) {
  const double of_a = 1 / (a.sigma * a.sigma);
  const double of_b = 1 / (b.sigma * b.sigma);
  const double share = of_a / (of_a + of_b);
  const double apart = std::log(a.latency / b.latency);
  WorkEstimate mean = share >= 0.5 ? a : b;
  mean.least = std::min(a.least, b.least);
  mean.latency = std::max(a.latency * std::exp(-(1 - share) * apart), mean.least);
  mean.sigma = std::sqrt(1 / (of_a + of_b) + share * (1 - share) * apart * apart);
  mean.curves = std::max(a.curves, b.curves);
  return mean;
}

// Calls body(0) … body(kCount - 1), whose numbers are constants: the compiler lays out loops over
// triangles only so.
template <std::size_t kCount, class Body>
void for_each_below(const Body& body) {
  [&]<std::size_t... numbers>(std::index_sequence<numbers...>) {
    (body(std::integral_constant<std::size_t, numbers>()), ...);
  }
  (std::make_index_sequence<kCount>());
}

WorkEstimate with_spread(WorkEstimate part, const Spread& spread) {
  part.sigma = spread.one(part.sigma);
  return part;
}

}  // namespace

double WorkEstimate::uncertainty() const {
  return std::expm1(sigma);
}

double WorkEstimate::low_80() const {
  return std::max(latency * std::exp(-half_80), std::min(least, latency));
}

double WorkEstimate::high_80() const {
  return latency * std::exp(half_80);
}

// The sizes asked, as quantities.
struct Family::Point {
  std::span<const double> sizes;
  HiddenRows hidden;
  std::array<double, kMostWorkAxes> quantities = {};
  std::array<double, kMostWorkAxes> places = {};  // as places_; the first is unused
  double x = 0;
  double log = 0;  // of x, in doublings
  double known_roof = 0;
  double roof = 0;
};

// The rows of a curve beside a point.
struct Family::Bracket {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  enum class Kind : std::uint8_t { kOn, kBetween, kOutside } kind = Kind::kOutside;
};

// What a curve says of a size.
struct Family::Reading {
  double multiple;  // the logarithm of latency / base
  double away;      // of the point that was read, in doublings
  double trend;     // past the end: the change of the multiple if it went on as before
  std::uint32_t row;
};

struct Family::Near {
  double distance;
  std::uint32_t curve;
  std::uint32_t listed;  // its place in the shortlist
  Reading reading;
};

struct Family::NearCurves {
  std::array<Near, kNearCurves> all;
  std::size_t count = 0;
};

Family::Point Family::point_of(std::span<const double> sizes, HiddenRows hidden) const {
  Point point{.sizes = sizes, .hidden = hidden};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    point.quantities[axis] = quantity(axes_[axis], sizes);
  point.x = axes_.empty() ? 0 : filled_up(point.quantities[0], axes_[0].tile);
  point.log = doublings(point.x);
  for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
    const double quantity = point.quantities[axis];
    point.places[axis] = quantity == listed_.quantities[axis]
                             ? listed_.places[axis]
                             : doublings(quantity) * axes_[axis].per_reach;
  }
  point.known_roof = roofline_ ? roofline_(sizes) : 0;
  const bool is_full = point.x == point.quantities[0];
  point.roof = is_full && point.known_roof > 0 ? point.known_roof : roof_of(sizes);
  return point;
}

std::uint32_t Family::find_curve(std::span<const double> sizes) const {
  const auto before = [&](const Curve& curve, std::span<const double> asked) {
    const auto have = sizes_of(curve.begin);
    for (std::size_t i = 0; i < num_sizes_; ++i) {
      if (i != along_ && have[i] != asked[i]) return have[i] < asked[i];
    }
    return false;
  };
  const auto found = std::lower_bound(curves_.begin(), curves_.end(), sizes, before);
  if (found == curves_.end()) return kNoCurve;
  const auto have = sizes_of(found->begin);
  for (std::size_t i = 0; i < num_sizes_; ++i) {
    if (i != along_ && have[i] != sizes[i]) return kNoCurve;
  }
  return static_cast<std::uint32_t>(found - curves_.begin());
}

std::uint32_t Family::find_curve_like_last(std::span<const double> sizes) const {
  if (last_curve_ != kNoCurve) {
    const auto have = sizes_of(curves_[last_curve_].begin);
    bool is_it = true;
    for (std::size_t i = 0; is_it && i < num_sizes_; ++i)
      is_it = i == along_ || have[i] == sizes[i];
    if (is_it) return last_curve_;
  }
  last_curve_ = find_curve(sizes);
  last_hint_ = 0;
  return last_curve_;
}

std::uint32_t Family::find_curve_of(std::uint32_t row) const {
  const auto after =
      std::upper_bound(curves_.begin(), curves_.end(), row,
                       [](std::uint32_t asked, const Curve& curve) { return asked < curve.begin; });
  return static_cast<std::uint32_t>(after - curves_.begin()) - 1;
}

HiddenRows Family::curve_of(std::uint32_t row) const {
  const Curve& curve = curves_[find_curve_of(row)];
  return {.begin = curve.begin, .end = curve.end};
}

HiddenRows Family::upper_half_of(std::uint32_t row) const {
  const Curve& curve = curves_[find_curve_of(row)];
  return {.begin = (curve.begin + curve.end + 1) / 2, .end = curve.end};
}

bool Family::is_left(const Curve& curve, HiddenRows hidden) const {
  return hidden.begin > curve.begin || hidden.end < curve.end;
}

// The first row of a curve that is not below x; where there is none, its end. The hint is that of
// the question before, for questions that come in order.
std::uint32_t Family::first_not_below(const Curve& curve, double x, std::uint32_t& hint) const {
  const auto is_it = [&](std::uint32_t row) {
    return (row == curve.end || x_[row] >= x) && (row == curve.begin || x_[row - 1] < x);
  };
  if (hint >= curve.begin && hint <= curve.end && is_it(hint)) return hint;
  const auto first = std::lower_bound(x_.begin() + curve.begin, x_.begin() + curve.end, x);
  hint = static_cast<std::uint32_t>(first - x_.begin());
  return hint;
}

Family::Bracket Family::bracket(const Curve& curve, const Point& point) const {
  std::uint32_t hint = curve.end;
  return bracket(curve, point, hint);
}

// The curve has rows that are not left out.
Family::Bracket Family::bracket(const Curve& curve, const Point& point, std::uint32_t& hint) const {
  const HiddenRows& out = point.hidden;
  const auto next = [&](std::uint32_t row) { return out.has(row) ? out.end : row; };
  const std::uint32_t at = first_not_below(curve, point.x, hint);
  const std::uint32_t above = at < curve.end ? next(at) : at;
  if (above < curve.end && x_[above] == point.x) {
    // Of several sizes within one tile, that itself or the next larger one.
    std::uint32_t on = above;
    while (along_ < num_sizes_ && sizes_of(on)[along_] < point.sizes[along_]) {
      const std::uint32_t more = next(on + 1);
      if (more >= curve.end || x_[more] != point.x) break;
      on = more;
    }
    return {.low = on, .high = on, .kind = Bracket::Kind::kOn};
  }
  std::uint32_t below = at == curve.begin ? kNoRow : at - 1;
  if (below != kNoRow && out.has(below)) below = out.begin == curve.begin ? kNoRow : out.begin - 1;
  if (above >= curve.end) return {.low = below, .high = below};
  if (below == kNoRow) return {.low = above, .high = above};
  return {.low = below, .high = above, .kind = Bracket::Kind::kBetween};
}

// The nearest row that is at least so far from an end of a curve that both tell a trend: rows that
// are closer differ by what kernels do at single sizes. kNoRow if there is none.
std::uint32_t Family::row_before_end(const Curve& curve,
                                     std::uint32_t end,
                                     const Point& point) const {
  const auto first = logs_.begin();
  if (point.log > logs_[end]) {
    const auto after = std::upper_bound(first + curve.begin, first + end, logs_[end] - kTrendOver);
    if (after == first + curve.begin) return kNoRow;
    const auto row = static_cast<std::uint32_t>(after - first) - 1;
    if (!point.hidden.has(row)) return row;
    return point.hidden.begin > curve.begin ? point.hidden.begin - 1 : kNoRow;
  }
  const auto found = std::lower_bound(first + end, first + curve.end, logs_[end] + kTrendOver);
  auto row = static_cast<std::uint32_t>(found - first);
  if (point.hidden.has(row)) row = point.hidden.end;
  return row < curve.end ? row : kNoRow;
}

// What the multiple would change by past an end if it went on as before.
double Family::trend_past(const Curve& curve, std::uint32_t end, const Point& point) const {
  const std::uint32_t before = row_before_end(curve, end, point);
  if (before == kNoRow) return 0;
  return (multiple_of_row(end, point.hidden) - multiple_of_row(before, point.hidden)) /
         (logs_[end] - logs_[before]) * (point.log - logs_[end]);
}

// What the curve says at the point: between its rows the multiple runs in a straight line over the
// logarithm; past them it goes on by half of its trend, and less from doubling to doubling. The
// stretch becomes that between its rows.
Family::Reading Family::read(const Curve& curve, const Point& point, Stretch& stretch) const {
  const Bracket found = bracket(curve, point);
  if (found.kind == Bracket::Kind::kOn)
    return {.multiple = multiple_of_row(found.low, point.hidden),
            .away = 0,
            .trend = 0,
            .row = found.low};
  if (found.kind == Bracket::Kind::kOutside) {
    const double away = std::abs(logs_[found.low] - point.log);
    const double trend = trend_past(curve, found.low, point);
    return {.multiple = multiple_of_row(found.low, point.hidden) + trend / (2 + away),
            .away = away,
            .trend = trend,
            .row = found.low};
  }
  stretch = stretch_between(found.low, found.high, point.hidden);
  return read_between(stretch, point);
}

Family::Reading Family::read_between(const Stretch& stretch, const Point& point) {
  const double past_low = point.log - stretch.low_log;
  const double t = past_low / stretch.doublings;
  return {.multiple = stretch.multiple + t * stretch.change,
          .away = std::min(past_low, stretch.high_log - point.log) / 2,
          .trend = 0,
          .row = t < 0.5 ? stretch.low : stretch.high};
}

Family::Stretch Family::stretch_between(std::uint32_t low,
                                        std::uint32_t high,
                                        HiddenRows hidden) const {
  const double multiple = multiple_of_row(low, hidden);
  return {.above = x_[low],
          .below = x_[high],
          .low_log = logs_[low],
          .high_log = logs_[high],
          .doublings = logs_[high] - logs_[low],
          .multiple = multiple,
          .change = multiple_of_row(high, hidden) - multiple,
          .low = low,
          .high = high};
}

// The least and the most of the first quantity. Without rows that are left out, it is told apart
// where there are few curves: where there are many, others reach as far.
std::pair<double, double> Family::range_along(HiddenRows hidden) const {
  if (hidden.begin == hidden.end || curves_.size() > 2) return {axes_[0].least, axes_[0].most};
  std::pair<double, double> range{std::numeric_limits<double>::infinity(), 0};
  for (std::uint32_t row = 0; row < num_rows(); ++row) {
    if (hidden.has(row)) continue;
    const double value = quantity(axes_[0], sizes_of(row));
    range = {std::min(range.first, value), std::max(range.second, value)};
  }
  return range;
}

void Family::check_range(const Point& point, Beyond beyond, WorkEstimate& estimate) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const double value = point.quantities[axis];
    const auto [least, most] =
        axis == 0 ? range_along(point.hidden) : std::pair(axes_[axis].least, axes_[axis].most);
    if (value >= least && value <= most) continue;
    const bool above = value > most;
    const double factor = above ? value / most : least / std::max(value, 1e-9);
    if (factor <= estimate.beyond) continue;
    estimate.beyond = factor;
    estimate.beyond_axis = static_cast<std::uint8_t>(axis);
    estimate.is_above = above;
  }
  for (std::size_t axis = 0; point.known_roof <= 0 && axis < axes_.size(); ++axis) {
    // Without a roofline, nothing tells how one value scales.
    if (axes_[axis].least != axes_[axis].most || point.quantities[axis] == axes_[axis].most)
      continue;
    estimate.beyond_axis = static_cast<std::uint8_t>(axis);
    estimate.refused = Refused::kBeyond;
  }
  if (beyond == Beyond::kRefuse && estimate.beyond > kMostBeyond * (1 + 1e-9))
    estimate.refused = Refused::kBeyond;
}

// The roofline of the point, as far as these rows keep to theirs: data that lie in a cache are not
// read from memory.
double Family::least_of(const Point& point, std::initializer_list<std::uint32_t> rows) const {
  double share = 1;
  for (const std::uint32_t row : rows)
    share = std::min(share, latencies_[row] / roof_of_row(row));
  return point.known_roof * share;
}

double Family::least_beside(const Point& point, const NearCurves& near) const {
  double least = point.known_roof;
  for (std::size_t i = 0; i < near.count; ++i)
    least = std::min(least, least_of(point, {near.all[i].reading.row}));
  return least;
}

// Answers on one curve, if it has the point or brackets it.
bool Family::answer_on(std::uint32_t number, const Point& point, WorkEstimate& estimate) const {
  const Curve& curve = curves_[number];
  std::uint32_t unknown = curve.end;
  std::uint32_t& hint = number == last_curve_ ? last_hint_ : unknown;
  const Bracket found = bracket(curve, point, hint);
  if (found.kind == Bracket::Kind::kOutside) return false;
  estimate.low = found.low;
  estimate.high = found.high;
  estimate.least = least_of(point, {found.low, found.high});
  if (found.kind == Bracket::Kind::kBetween) {
    answer_between(curve, found, point, estimate);
    return true;
  }
  const auto have = sizes_of(found.low);
  const bool same = std::equal(have.begin(), have.end(), point.sizes.begin());
  estimate.latency = latencies_[found.low];
  estimate.how = same ? How::kMeasured : How::kSameWork;
  // What the tile leaves open.
  const bool same_size = along_ >= num_sizes_ || have[along_] == point.sizes[along_];
  if (!same) estimate.sigma = same_size ? kLeastError : usual_error_ / 2;
  return true;
}

void Family::answer_between(const Curve& curve,
                            const Bracket& found,
                            const Point& point,
                            WorkEstimate& estimate) const {
  const double low = even_latency(found.low, point.hidden);
  const double high = even_latency(found.high, point.hidden);
  const double t = (point.x - x_[found.low]) / (x_[found.high] - x_[found.low]);
  const double low_roof = roof_of_row(found.low);
  const double high_roof = roof_of_row(found.high);
  const double excess = low - low_roof + t * ((high - high_roof) - (low - low_roof));
  estimate.latency = std::clamp(point.roof + excess, std::min(low, high), std::max(low, high));
  estimate.how = How::kOwnCurve;
  const bool has_all = point.hidden.begin == point.hidden.end;
  const auto error = [&](std::uint32_t row) {
    const double known =
        has_all ? static_cast<double>(errors_[row]) : error_at(curve, row, point.hidden);
    return std::isnan(known) ? usual_error_ : known;
  };
  const double ends = (error(found.low) + error(found.high)) / 2;
  const double change =
      multiple_of_row(found.high, point.hidden) - multiple_of_row(found.low, point.hidden);
  estimate.sigma =
      std::sqrt(kLeastError * kLeastError + 0.25 * ends * ends + 0.06 * change * change);
}

// At least so much as the list's last distance: as many curves are no further. Every so many curves
// the least is taken, so that the compiler takes several at once.
double Family::bound_of_listed(std::span<const double> squares) {
  constexpr std::size_t kLanes = 4 * kListed;
  std::array<double, kLanes> least;
  least.fill(std::numeric_limits<double>::infinity());
  std::size_t curve = 0;
  for (; curve + kLanes <= squares.size(); curve += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      least[lane] = squares[curve + lane] < least[lane] ? squares[curve + lane] : least[lane];
  }
  const auto last = least.begin() + kListed - 1;
  std::nth_element(least.begin(), last, least.end());
  return *last;
}

// The curves that are nearest by their own quantities. Sizes of one weight are often asked one
// after the other, so that the last list is kept.
Family::Shortlist& Family::shortlist(const Point& point) const {
  const auto same = [&] {
    for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
      if (listed_.quantities[axis] != point.quantities[axis]) return false;
    }
    return listed_.count > 0;
  };
  if (same()) return listed_;
  listed_.quantities = point.quantities;
  listed_.places = point.places;
  listed_.count = 0;
  listed_.stretches.fill({});
  listed_.from = std::numeric_limits<double>::infinity();
  for (auto& covariances : listed_.covariances)
    covariances.fill(std::numeric_limits<double>::quiet_NaN());
  std::array<double, kListed> squares_of{};
  std::size_t& count = listed_.count;
  // One quantity after the other, so that the compiler takes several curves at once.
  std::fill(squares_.begin(), squares_.end(), 0.0);
  for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
    const double* places = places_[axis].data();
    const double place = point.places[axis];
    double* sums = squares_.data();
    for (std::size_t curve = 0; curve < curves_.size(); ++curve)
      sums[curve] += (places[curve] - place) * (places[curve] - place);
  }
  const double most = bound_of_listed(squares_);
  for (std::uint32_t curve = 0; curve < curves_.size(); ++curve) {
    const double squares = squares_[curve];
    if (squares > most || (count == kListed && squares >= squares_of[count - 1])) continue;
    if (count < kListed) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && squares_of[at - 1] > squares; --at) {
      squares_of[at] = squares_of[at - 1];
      listed_.curves[at] = listed_.curves[at - 1];
    }
    squares_of[at] = squares;
    listed_.curves[at] = curve;
  }
  for (std::size_t i = 0; i < count; ++i) {
    listed_.distances[i] = std::sqrt(squares_of[i]);
    listed_.to_point[i] = std::exp(-listed_.distances[i]);
    const Curve& curve = curves_[listed_.curves[i]];
    listed_.first_logs[i] = logs_[curve.begin];
    listed_.last_logs[i] = logs_[curve.end - 1];
  }
  return listed_;
}

double Family::learn_covariance(std::uint32_t a, std::uint32_t b) const {
  double squares = 0;
  for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
    const double away = places_[axis][listed_.curves[a]] - places_[axis][listed_.curves[b]];
    squares += away * away;
  }
  listed_.covariances[a][b] = std::exp(-std::sqrt(squares));
  return listed_.covariances[a][b];
}

// Takes hidden rows from the ends of a curve, as logarithms. False if none is left.
bool Family::trim(const Curve& curve, HiddenRows hidden, std::pair<double, double>& ends) const {
  if (!is_left(curve, hidden)) return false;
  if (hidden.has(curve.begin)) ends.first = logs_[hidden.end];
  if (hidden.has(curve.end - 1)) ends.second = logs_[hidden.begin - 1];
  return true;
}

// The nearest curves by their own quantities and by how far off their points lie.
void Family::find_near(const Point& point, NearCurves& near) const {
  Shortlist& list = shortlist(point);
  const bool has_all = point.hidden.begin == point.hidden.end;
  if (has_all && list.from <= point.log && point.log <= list.to) {
    near.count = list.num_nearest;
    for (std::size_t i = 0; i < near.count; ++i) {
      near.all[i].listed = list.nearest[i];
      near.all[i].distance = list.distances[list.nearest[i]];
    }
  } else {
    choose_near(point, near);
    if (has_all) remember_near(point, near);
  }
  Stretch unknown;
  for (std::size_t i = 0; i < near.count; ++i) {
    Near& at = near.all[i];
    at.curve = list.curves[at.listed];
    Stretch& last = list.stretches[at.listed];
    if (has_all && last.has(point.x)) {
      at.reading = read_between(last, point);
    } else {
      at.reading = read(curves_[at.curve], point, has_all ? last : unknown);
    }
  }
}

void Family::choose_near(const Point& point, NearCurves& near) const {
  const bool has_all = point.hidden.begin == point.hidden.end;
  std::array<double, kNearCurves> distances;
  std::array<std::uint32_t, kNearCurves> places;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < listed_.count; ++i) {
    const double own = listed_.distances[i];
    // They come by this distance, so that no later one is nearer.
    if (count == kNearCurves && own >= distances[count - 1]) break;
    std::pair<double, double> ends{listed_.first_logs[i], listed_.last_logs[i]};
    if (!has_all && !trim(curves_[listed_.curves[i]], point.hidden, ends)) continue;
    const double past =
        std::max({ends.first - point.log, point.log - ends.second, 0.0}) * axes_[0].per_reach;
    const double distance = past > 0 ? std::sqrt(own * own + past * past) : own;
    if (count == kNearCurves && distance >= distances[count - 1]) continue;
    if (count < kNearCurves) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && distances[at - 1] > distance; --at) {
      distances[at] = distances[at - 1];
      places[at] = places[at - 1];
    }
    distances[at] = distance;
    places[at] = i;
  }
  near.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    near.all[i].distance = distances[i];
    near.all[i].listed = places[i];
  }
}

// If the point lies between the ends of each, the same curves are the nearest as long as it does,
// and as long as those that it lies past get no nearer.
void Family::remember_near(const Point& point, const NearCurves& near) const {
  listed_.from = -std::numeric_limits<double>::infinity();
  listed_.to = std::numeric_limits<double>::infinity();
  listed_.num_nearest = near.count;
  std::array<bool, kListed> is_near = {};
  for (std::size_t i = 0; i < near.count; ++i) {
    const std::uint32_t listed = near.all[i].listed;
    listed_.nearest[i] = listed;
    is_near[listed] = true;
    listed_.from = std::max(listed_.from, listed_.first_logs[listed]);
    listed_.to = std::min(listed_.to, listed_.last_logs[listed]);
  }
  for (std::size_t i = 0; i < listed_.count; ++i) {
    if (is_near[i]) continue;
    if (point.log > listed_.last_logs[i]) listed_.from = std::max(listed_.from, point.log);
    if (point.log < listed_.first_logs[i]) listed_.to = std::min(listed_.to, point.log);
  }
  const bool is_between = listed_.from <= point.log && point.log <= listed_.to;
  if (!is_between) listed_.from = std::numeric_limits<double>::infinity();
}

// The row of a curve at exactly this x; kNoRow if there is none.
std::uint32_t Family::row_at(const Curve& curve, double x, HiddenRows hidden) const {
  const auto last = x_.begin() + curve.end;
  const auto found = std::lower_bound(x_.begin() + curve.begin, last, x);
  if (found == last || *found != x) return kNoRow;
  const auto row = static_cast<std::uint32_t>(found - x_.begin());
  return hidden.has(row) ? kNoRow : row;
}

// Moves an answer between two points of a curve by how far the same points of curves near by
// mislead there: kernels change from one to the next at the same sizes.
void Family::follow_shape(const Point& point, const NearCurves& near, WorkEstimate& answer) const {
  const double x_low = x_[answer.low];
  const double x_high = x_[answer.high];
  double weights = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < near.count; ++i) {
    const std::uint32_t here = near.all[i].reading.row;
    if (near.all[i].reading.away > 0 || x_[here] != point.x) continue;
    const Curve& curve = curves_[near.all[i].curve];
    const auto row = [&](double x) { return row_at(curve, x, point.hidden); };
    const std::uint32_t low = row(x_low);
    const std::uint32_t high = low == kNoRow ? kNoRow : row(x_high);
    if (high == kNoRow || latencies_[here] <= 0) continue;
    const double low_latency = even_latency(low, point.hidden);
    const double high_latency = even_latency(high, point.hidden);
    const double low_excess = low_latency - roof_of_row(low);
    const double high_excess = high_latency - roof_of_row(high);
    const double t = (point.x - x_low) / (x_high - x_low);
    const double straight = roof_of_row(here) + low_excess + t * (high_excess - low_excess);
    const double error =
        std::log(latencies_[here] / std::clamp(straight, std::min(low_latency, high_latency),
                                               std::max(low_latency, high_latency)));
    const double weight = std::exp(-kFading * near.all[i].distance);
    weights += weight;
    sum += weight * error;
    squares += weight * error * error;
  }
  if (weights <= 0) return;
  const double shift = sum / (weights + kStraightWeight);
  answer.latency = std::max(answer.latency * std::exp(shift), answer.least);
  const double spread = std::max(0.0, squares - 2 * shift * sum + shift * shift * weights);
  answer.sigma = std::sqrt((kStraightWeight * answer.sigma * answer.sigma + spread) /
                           (weights + kStraightWeight));
  answer.sigma = std::max(answer.sigma, kLeastError);
}

// Goes on past the end of a curve as those beside it do that reach from there to the point.
bool Family::answer_past(std::uint32_t number,
                         const Point& point,
                         const NearCurves& near,
                         WorkEstimate& estimate) const {
  const std::uint32_t end = bracket(curves_[number], point).low;
  Point at_end = point;
  at_end.x = x_[end];
  at_end.log = logs_[end];
  double weights = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < near.count; ++i) {
    const auto& [distance, curve, listed, reading] = near.all[i];
    if (curve == number) continue;
    const Bracket beside = bracket(curves_[curve], at_end);
    if (beside.kind == Bracket::Kind::kOutside) continue;
    if (bracket(curves_[curve], point).kind == Bracket::Kind::kOutside) continue;
    Stretch unknown;
    const double change = reading.multiple - read(curves_[curve], at_end, unknown).multiple;
    const double weight = std::exp(-kFading * distance);
    weights += weight;
    sum += weight * change;
    squares += weight * change * change;
  }
  if (weights <= 0) return false;
  const double change = sum / weights;
  const double past = std::abs(point.log - logs_[end]) * axes_[0].per_reach;
  const double spread = std::max(0.0, squares / weights - change * change);
  estimate.least = std::min(least_of(point, {end}), least_beside(point, near));
  estimate.latency = std::max(
      base_of(point.roof) * std::exp(multiple_of_row(end, point.hidden) + change), estimate.least);
  estimate.sigma = std::sqrt(kLeastError * kLeastError + spread + 0.06 * change * change +
                             0.01 * past * (1 + past) / (kStraightWeight + weights));
  estimate.how = How::kPastOwn;
  estimate.low = end;
  estimate.high = end;
  return true;
}

// Sums over near curves, each the product of two vectors in the metric of their covariances, by
// their factors L D L' (L has ones on its diagonal).
struct Family::Kriging {
  double one_one = 0;
  double one_multiple = 0;
  double one_point = 0;
  double point_multiple = 0;
  double point_point = 0;
};

Family::Kriging Family::krige(const NearCurves& near) const {
  // A row is of L D until it is whole, then of L.
  std::array<std::array<double, kNearCurves>, kNearCurves> factor;
  std::array<double, kNearCurves> ones;
  std::array<double, kNearCurves> multiples;
  std::array<double, kNearCurves> to_point;
  std::array<double, kNearCurves> scale;  // one over D
  Kriging sums;
  for_each_below<kNearCurves>([&](auto i) {
    if (i >= near.count) return;
    const auto& at = near.all[i];
    const double away = at.reading.away * axes_[0].per_reach;
    double diagonal = 1 + kNugget + 2 * away / (1 + away);
    double one = 1;
    double multiple = at.reading.multiple;
    double point = listed_.to_point[at.listed];
    auto& row = factor[i];
    for_each_below<i>([&](auto j) {
      double value = listed_covariance(at.listed, near.all[j].listed);
      for_each_below<j>([&](auto k) { value -= row[k] * factor[j][k]; });
      row[j] = value;
    });
    for_each_below<i>([&](auto j) {
      const double value = row[j] * scale[j];
      diagonal -= value * row[j];
      one -= value * ones[j];
      multiple -= value * multiples[j];
      point -= value * to_point[j];
      row[j] = value;
    });
    scale[i] = 1 / std::max(diagonal, 1e-9);
    ones[i] = one;
    multiples[i] = multiple;
    to_point[i] = point;
    sums.one_one += one * one * scale[i];
    sums.one_multiple += one * multiple * scale[i];
    sums.one_point += one * point * scale[i];
    sums.point_multiple += point * multiple * scale[i];
    sums.point_point += point * point * scale[i];
  });
  return sums;
}

// Kriging between the curves near by. The variance tells how certain that is.
bool Family::answer_across(const Point& point,
                           const NearCurves& curves,
                           WorkEstimate& estimate) const {
  const std::size_t count = curves.count;
  const auto& near = curves.all;
  if (count == 0) return false;
  const auto [one_one, one_multiple, one_point, point_multiple, point_point] = krige(curves);
  const double mean = one_multiple / one_one;
  const double multiple = mean + point_multiple - mean * one_point;
  const double variance =
      std::max(0.0, 1 - point_point) + (1 - one_point) * (1 - one_point) / one_one;

  double spread = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double away = near[i].reading.multiple - mean;
    spread += away * away;
  }
  spread = count > 1 ? std::sqrt(spread / static_cast<double>(count - 1)) : 0.3;
  estimate.least = least_beside(point, curves);
  estimate.latency = std::max(base_of(point.roof) * std::exp(multiple), estimate.least);
  const double past = estimate.beyond > 1 ? std::log2(estimate.beyond) : 0;
  estimate.sigma = std::sqrt(kLeastError * kLeastError + 0.25 * usual_error_ * usual_error_ +
                             variance * (spread * spread + 0.05 * 0.05) + 0.1 * 0.1 * past * past +
                             0.25 * near[0].reading.trend * near[0].reading.trend);
  estimate.how = How::kAcross;
  estimate.curves = static_cast<std::uint8_t>(count);
  estimate.low = near[0].reading.row;
  estimate.high = near[count > 1 ? 1 : 0].reading.row;
  return true;
}

// A curve with other columns whose quantities are those of the point, but the first. Of several,
// one with the point itself, else any that brackets it.
std::uint32_t Family::curve_of_same_work(const Point& point, std::uint32_t own) const {
  const Shortlist& list = listed_;
  std::uint32_t best = kNoCurve;
  for (std::size_t i = 0; i < list.count && list.distances[i] < 1e-9; ++i) {
    const std::uint32_t number = list.curves[i];
    if (number == own || !is_left(curves_[number], point.hidden)) continue;
    const Bracket found = bracket(curves_[number], point);
    if (found.kind == Bracket::Kind::kOn) return number;
    if (found.kind == Bracket::Kind::kBetween && best == kNoCurve) best = number;
  }
  return best;
}

Parts Family::parts(std::span<const double> sizes, Beyond beyond, HiddenRows hidden) const {
  ASSAY_CHECK(sizes.size() == num_sizes_, "a query names other sizes than the family has");
  Parts parts;
  if (num_rows() == 0) return parts;
  const Point point = point_of(sizes, hidden);
  WorkEstimate nothing;
  nothing.roofline = point.known_roof;
  check_range(point, beyond, nothing);
  parts.own = nothing;
  const std::uint32_t own = find_curve_like_last(sizes);
  const bool has_curve = own != kNoCurve && is_left(curves_[own], hidden);
  parts.has_own = has_curve && answer_on(own, point, parts.own);
  parts.is_measured = parts.has_own && parts.own.is_measured();
  if (parts.is_measured) return parts;
  // Sizes whose curve has measured rows are possible.
  if (own == kNoCurve && broken_limit(sizes) != nullptr) {
    nothing.refused = Refused::kImpossible;
    parts.own.refused = Refused::kImpossible;
  }
  NearCurves near;
  find_near(point, near);
  if (parts.has_own && near.count == 1) return parts;
  if (parts.has_own && parts.own.how == How::kOwnCurve) follow_shape(point, near, parts.own);
  if (has_curve && !parts.has_own) parts.has_own = answer_past(own, point, near, parts.own);
  parts.across = nothing;
  parts.has_across = answer_across(point, near, parts.across);
  if (const std::uint32_t other = curve_of_same_work(point, own); other != kNoCurve) {
    parts.same = nothing;
    parts.has_same = true;
    answer_on(other, point, parts.same);
    parts.same.how = How::kSameWork;
    parts.same.sigma = std::hypot(parts.same.sigma, same_work_error());
  }
  return parts;
}

WorkEstimate mean_of_parts(const Parts& parts, const Spreads& spreads, Way& way) {
  WorkEstimate answer;
  answer.refused = Refused::kUnknown;
  way = Way::kAcross;
  if (parts.has_across) answer = with_spread(parts.across, spreads.part(Way::kAcross));
  if (parts.has_own) {
    way = parts.own_way();
    const WorkEstimate own = with_spread(parts.own, spreads.part(way));
    const WorkEstimate across = answer;
    answer = parts.has_across ? mean_of(own, across) : own;
    answer.how = own.how == How::kOwnCurve && parts.has_across ? How::kBoth : own.how;
    answer.low = own.low;
    answer.high = own.high;
  }
  if (parts.has_same) {
    const WorkEstimate same = with_spread(parts.same, spreads.part(Way::kSame));
    const WorkEstimate other = answer;
    answer = other.refused == Refused::kUnknown ? same : mean_of(same, other);
    const bool is_telling = same.low == same.high || same.sigma <= 2 * other.sigma;
    answer.how = is_telling ? same.how : other.how;
    answer.low = is_telling ? same.low : other.low;
    answer.high = is_telling ? same.high : other.high;
    if (is_telling) way = Way::kSame;
  }
  return answer;
}

WorkEstimate answer_of_parts(const Parts& parts, const Spreads& spreads, Beyond beyond) {
  Way way = Way::kAcross;
  WorkEstimate answer = mean_of_parts(parts, spreads, way);
  const Halves halves = answer.is_beyond()
                            ? spreads.of_beyond(answer.beyond_axis, answer.is_above, answer.sigma)
                            : spreads.of_way(way, answer.sigma);
  answer.sigma = halves.one;
  answer.half_80 = halves.eighty;
  if (beyond == Beyond::kRefuse && answer.refused == Refused::kNo && answer.sigma > kMostSigma)
    answer.refused = Refused::kUncertain;
  return answer;
}

WorkEstimate Family::at(std::span<const double> sizes, Beyond beyond) const {
  const Parts found = parts(sizes, beyond, {});
  if (found.is_measured) return found.own;
  const Spreads& spreads = found.own.is_beyond() ? calibration_->all() : calibration_->near();
  return answer_of_parts(found, spreads, beyond);
}

}  // namespace assay::store
