#include "store/answers/family.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "core/text.h"

namespace assay::store {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoCurve = std::numeric_limits<std::uint32_t>::max();

// The ends of a bracket may be this many times apart; more is read across curves as well.
constexpr double kWidestBracket = 16;

// Curves that touch differ by this part of the variance all the same.
constexpr double kNugget = 1e-3;

// What is known of the least and the usual error of an answer, as parts of it.
constexpr double kLeastError = 0.01;

}  // namespace

double WorkEstimate::low_80() const {
  return std::max(latency * std::exp(-kSigmasOf80 * sigma), roofline);
}

double WorkEstimate::high_80() const {
  return latency * std::exp(kSigmasOf80 * sigma);
}

// The sizes asked, as quantities.
struct Family::Point {
  std::span<const double> sizes;
  std::array<double, kMostWorkAxes> quantities = {};
  std::array<double, kMostWorkAxes> places = {};  // as places_; the first is unused
  double x = 0;
  double log = 0;  // of x, in doublings
  double roof = 0;
};

// The rows of a curve beside a point.
struct Family::Bracket {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  enum class Kind : std::uint8_t { kOn, kBetween, kWide, kOutside } kind = Kind::kOutside;
};

// What a curve says of a size.
struct Family::Reading {
  double multiple = 0;  // the logarithm of latency / base
  double away = 0;      // of the point that was read, in doublings
  std::uint32_t row = 0;
};

struct Family::NearCurves {
  struct Near {
    double distance = std::numeric_limits<double>::infinity();
    std::uint32_t curve = 0;
    std::uint32_t listed = 0;  // its place in the shortlist
    Reading reading = {};
  };

  std::array<Near, kNearCurves> all;
  std::size_t count = 0;
};

Family::Family(const WorkRows& rows, std::size_t family, Roofline roofline)
    : rows_(&rows), family_(family), roofline_(std::move(roofline)), num_sizes_(rows.sizes.size()) {
  const std::size_t begin = rows.begins[family];
  const std::size_t count = rows.begins[family + 1] - begin;
  values_ = rows.values.subspan(begin * num_sizes_, count * num_sizes_);
  latencies_ = rows.latencies.subspan(begin, count);
  roofs_.assign(count, kNothing);
  multiples_.assign(count, kNothing);
  add_axes();
  add_curves();
  add_errors();
  floor_ = std::numeric_limits<double>::infinity();
  for (const double latency : latencies_)
    floor_ = std::min(floor_, latency > 0 ? latency : floor_);
  if (!std::isfinite(floor_)) floor_ = 0;
}

void Family::add_axes() {
  const auto column = [&](const std::string& name) {
    const auto found = std::find(rows_->sizes.begin(), rows_->sizes.end(), name);
    return static_cast<std::uint32_t>(found - rows_->sizes.begin());
  };
  for (const WorkAxis& declared : rows_->work.axes) {
    Axis axis{.times = {}, .over = {}, .plus = declared.plus, .tile = declared.tile};
    axis.per_reach = 1 / declared.reach;
    for (const std::string& name : declared.times)
      axis.times.push_back(column(name));
    for (const std::string& name : declared.over)
      axis.over.push_back(column(name));
    for (std::uint32_t row = 0; row < num_rows(); ++row) {
      const double value = quantity(axis, sizes_of(row));
      axis.least = std::min(axis.least, value);
      axis.most = std::max(axis.most, value);
    }
    axes_.push_back(std::move(axis));
  }
  along_ = axes_.empty() ? num_sizes_ : axes_.front().times.front();
}

double Family::quantity(const Axis& axis, std::span<const double> sizes) const {
  double value = sizes[axis.times.front()] + axis.plus;
  for (std::size_t i = 1; i < axis.times.size(); ++i)
    value *= sizes[axis.times[i]];
  for (const std::uint32_t column : axis.over)
    value /= sizes[column];
  return value;
}

namespace {

// The mean of two answers, each by the inverse of its variance. How far they are apart tells how
// little is known of either.
WorkEstimate mean_of(const WorkEstimate& a, const WorkEstimate& b) {
  const double of_a = 1 / (a.sigma * a.sigma);
  const double of_b = 1 / (b.sigma * b.sigma);
  const double share = of_a / (of_a + of_b);
  const double apart = std::log(a.latency / b.latency);
  WorkEstimate mean = share >= 0.5 ? a : b;
  mean.latency = std::max(a.latency * std::exp(-(1 - share) * apart), std::max(a.roofline, 0.0));
  mean.sigma = std::sqrt(1 / (of_a + of_b) + share * (1 - share) * apart * apart);
  mean.curves = std::max(a.curves, b.curves);
  return mean;
}

double filled_up(double value, double tile) {
  return value > tile && tile > 1 ? std::ceil(value / tile) * tile : value;
}

// The logarithm of a quantity, which should not be 0 but may be in a damaged table.
double doublings(double quantity) {
  return std::log2(std::max(quantity, 1e-9));
}

}  // namespace

void Family::add_curves() {
  x_.resize(num_rows());
  logs_.resize(num_rows());
  places_.resize(axes_.size());
  for (std::uint32_t row = 0; row < num_rows(); ++row) {
    const auto sizes = sizes_of(row);
    x_[row] = axes_.empty() ? 0 : filled_up(quantity(axes_[0], sizes), axes_[0].tile);
    logs_[row] = doublings(x_[row]);
    bool is_new = row == 0;
    for (std::size_t i = 0; !is_new && i < num_sizes_; ++i)
      is_new = i != along_ && sizes[i] != sizes_of(row - 1)[i];
    if (!is_new) {
      curves_.back().end = row + 1;
      continue;
    }
    curves_.push_back({.begin = row, .end = row + 1});
    for (std::size_t axis = 1; axis < axes_.size(); ++axis)
      places_[axis].push_back(doublings(quantity(axes_[axis], sizes)) * axes_[axis].per_reach);
  }
}

// Predicts each row from its neighbours on its curve. Where the roofline is straight between them,
// it makes no difference.
void Family::add_errors() {
  errors_.assign(num_rows(), std::numeric_limits<float>::quiet_NaN());
  double squares = 0;
  int count = 0;
  for (const Curve& curve : curves_) {
    for (std::uint32_t row = curve.begin + 1; row + 1 < curve.end; ++row) {
      const double low = x_[row - 1];
      const double high = x_[row + 1];
      if (!(high > low) || latencies_[row] <= 0) continue;
      const double t = (x_[row] - low) / (high - low);
      const double between = latencies_[row - 1] + t * (latencies_[row + 1] - latencies_[row - 1]);
      if (between <= 0) continue;
      const double error = std::log(between / latencies_[row]);
      errors_[row] = static_cast<float>(std::abs(error));
      squares += std::min(error * error, 0.25);
      ++count;
    }
  }
  if (count > 3) usual_error_ = std::sqrt(squares / count);
  rate_ = std::numeric_limits<double>::infinity();
  for (std::uint32_t row = 0; row < num_rows(); ++row) {
    double work = 1;
    for (const Axis& axis : axes_)
      work *= std::max(quantity(axis, sizes_of(row)), 1e-9);
    if (latencies_[row] > 0) rate_ = std::min(rate_, latencies_[row] / work);
  }
}

double Family::roof_of(std::span<const double> sizes) const {
  const double known = roofline_ ? roofline_(sizes) : 0;
  if (known > 0) return known;
  double work = rate_;
  for (const Axis& axis : axes_)
    work *= std::max(quantity(axis, sizes), 1e-9);
  return work;
}

double Family::roof_of_row(std::uint32_t row) const {
  if (std::isnan(roofs_[row])) roofs_[row] = roof_of(sizes_of(row));
  return roofs_[row];
}

double Family::multiple_of_row(std::uint32_t row) const {
  if (std::isnan(multiples_[row]))
    multiples_[row] = std::log(std::max(latencies_[row], 1e-9) / base_of(roof_of_row(row)));
  return multiples_[row];
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

Family::Bracket Family::bracket(const Curve& curve, const Point& point) const {
  const auto first = x_.begin() + curve.begin;
  const auto last = x_.begin() + curve.end;
  const auto above = std::lower_bound(first, last, point.x);
  const auto row = static_cast<std::uint32_t>(above - x_.begin());
  if (above != last && *above == point.x) {
    // Of several sizes within one tile, that itself or the next larger one.
    std::uint32_t on = row;
    while (on + 1 < curve.end && x_[on + 1] == point.x &&
           sizes_of(on)[along_] < point.sizes[along_])
      ++on;
    return {.low = on, .high = on, .kind = Bracket::Kind::kOn};
  }
  if (above == last) return {.low = row - 1, .high = row - 1};
  if (above == first) return {.low = row, .high = row};
  const bool wide = x_[row] > kWidestBracket * x_[row - 1];
  return {
      .low = row - 1, .high = row, .kind = wide ? Bracket::Kind::kWide : Bracket::Kind::kBetween};
}

// What the curve says at `x`: between its points the multiple runs in a straight line over the
// logarithm; past them it stays.
Family::Reading Family::read(const Curve& curve, const Point& point) const {
  const auto first = x_.begin() + curve.begin;
  const auto last = x_.begin() + curve.end;
  const auto above = std::lower_bound(first, last, point.x);
  auto row = static_cast<std::uint32_t>(above - x_.begin());
  if (above == last) --row;
  if (above == last || above == first || *above == point.x) {
    return {.multiple = multiple_of_row(row), .away = std::abs(logs_[row] - point.log), .row = row};
  }
  const double low = logs_[row - 1];
  const double high = logs_[row];
  const double t = (point.log - low) / (high - low);
  const double from = multiple_of_row(row - 1);
  return {.multiple = from + t * (multiple_of_row(row) - from),
          .away = std::min(point.log - low, high - point.log) / 2,
          .row = t < 0.5 ? row - 1 : row};
}

void Family::check_range(const Point& point, Beyond beyond, WorkEstimate& estimate) const {
  const double known = estimate.roofline;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const double value = point.quantities[axis];
    const bool above = value > axes_[axis].most;
    const double factor =
        above ? value / axes_[axis].most : axes_[axis].least / std::max(value, 1e-9);
    if (factor <= estimate.beyond) continue;
    estimate.beyond = factor;
    estimate.beyond_axis = static_cast<std::uint8_t>(axis);
    estimate.is_above = above;
  }
  for (std::size_t axis = 0; known <= 0 && axis < axes_.size(); ++axis) {
    // Without a roofline, nothing tells how one value scales.
    if (axes_[axis].least != axes_[axis].most || point.quantities[axis] == axes_[axis].most)
      continue;
    estimate.beyond_axis = static_cast<std::uint8_t>(axis);
    estimate.refused = Refused::kBeyond;
  }
  if (beyond == Beyond::kRefuse && estimate.beyond > kMostBeyond * (1 + 1e-9))
    estimate.refused = Refused::kBeyond;
}

// Answers on one curve, if it has the point or brackets it.
bool Family::answer_on(std::uint32_t number, const Point& point, WorkEstimate& estimate) const {
  const Bracket found = bracket(curves_[number], point);
  if (found.kind == Bracket::Kind::kOutside || found.kind == Bracket::Kind::kWide) return false;
  estimate.low = found.low;
  estimate.high = found.high;
  const double low = latencies_[found.low];
  if (found.kind == Bracket::Kind::kOn) {
    const auto have = sizes_of(found.low);
    const bool same = std::equal(have.begin(), have.end(), point.sizes.begin());
    estimate.latency = low;
    estimate.how = same ? How::kMeasured : How::kSameWork;
    // What the tile leaves open.
    const bool same_size = have[along_] == point.sizes[along_];
    if (!same)
      estimate.sigma = rows_->work.own_spread * (same_size ? kLeastError : usual_error_ / 2);
    return true;
  }
  const double high = latencies_[found.high];
  const double t = (point.x - x_[found.low]) / (x_[found.high] - x_[found.low]);
  const double low_roof = roof_of_row(found.low);
  const double high_roof = roof_of_row(found.high);
  const double excess = low - low_roof + t * ((high - high_roof) - (low - low_roof));
  estimate.latency = std::clamp(point.roof + excess, std::min(low, high), std::max(low, high));
  estimate.how = How::kOwnCurve;
  const auto error = [&](std::uint32_t row) {
    return std::isnan(errors_[row]) ? usual_error_ : static_cast<double>(errors_[row]);
  };
  const double ends = (error(found.low) + error(found.high)) / 2;
  const double change = multiple_of_row(found.high) - multiple_of_row(found.low);
  estimate.sigma = rows_->work.own_spread * std::sqrt(kLeastError * kLeastError +
                                                      0.25 * ends * ends + 0.06 * change * change);
  return true;
}

// The curves that are nearest by their own quantities. Sizes of one weight are often asked one
// after the other, so that the last list is kept.
const Family::Shortlist& Family::shortlist(const Point& point) const {
  const auto same = [&] {
    for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
      if (listed_.places[axis] != point.places[axis]) return false;
    }
    return listed_.count > 0;
  };
  if (same()) {
    if (!listed_.has_covariances) add_covariances();
    return listed_;
  }
  listed_.places = point.places;
  listed_.count = 0;
  listed_.has_covariances = false;
  std::array<double, kListed> squares_of{};
  std::size_t& count = listed_.count;
  for (std::uint32_t curve = 0; curve < curves_.size(); ++curve) {
    double squares = 0;
    for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
      const double away = places_[axis][curve] - point.places[axis];
      squares += away * away;
    }
    if (count == kListed && squares >= squares_of[count - 1]) continue;
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
  }
  return listed_;
}

double Family::covariance(std::uint32_t a, std::uint32_t b) const {
  double squares = 0;
  for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
    const double away = places_[axis][a] - places_[axis][b];
    squares += away * away;
  }
  return std::exp(-std::sqrt(squares));
}

void Family::add_covariances() const {
  for (std::size_t i = 0; i < listed_.count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double value = covariance(listed_.curves[i], listed_.curves[j]);
      listed_.covariances[i][j] = value;
      listed_.covariances[j][i] = value;
    }
  }
  listed_.has_covariances = true;
}

// The nearest curves by their own quantities and by how far off their points lie.
void Family::find_near(const Point& point, NearCurves& near) const {
  const Shortlist& list = shortlist(point);
  std::size_t& count = near.count;
  for (std::size_t i = 0; i < list.count; ++i) {
    const Curve& curve = curves_[list.curves[i]];
    double past = 0;
    if (point.x < x_[curve.begin]) past = (logs_[curve.begin] - point.log) * axes_[0].per_reach;
    if (point.x > x_[curve.end - 1]) past = (point.log - logs_[curve.end - 1]) * axes_[0].per_reach;
    const double own = list.distances[i];
    const double distance = past > 0 ? std::sqrt(own * own + past * past) : own;
    if (count == kNearCurves && distance >= near.all[count - 1].distance) continue;
    if (count < kNearCurves) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && near.all[at - 1].distance > distance; --at)
      near.all[at] = near.all[at - 1];
    near.all[at] = {
        .distance = distance, .curve = list.curves[i], .listed = static_cast<std::uint32_t>(i)};
  }
  for (std::size_t i = 0; i < count; ++i)
    near.all[i].reading = read(curves_[near.all[i].curve], point);
}

// The row of a curve at exactly this x; kNoRow if there is none.
std::uint32_t Family::row_at(const Curve& curve, double x) const {
  const auto last = x_.begin() + curve.end;
  const auto found = std::lower_bound(x_.begin() + curve.begin, last, x);
  return found == last || *found != x ? kNoRow : static_cast<std::uint32_t>(found - x_.begin());
}

// Moves an answer between two points of a curve by how far the same points of curves near by
// mislead there: kernels change from one to the next at the same sizes.
void Family::follow_shape(const Point& point, const NearCurves& near, WorkEstimate& answer) const {
  constexpr double kPrior = 0.2;
  const double x_low = x_[answer.low];
  const double x_high = x_[answer.high];
  const double t = (point.x - x_low) / (x_high - x_low);
  double weights = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < near.count; ++i) {
    const Curve& curve = curves_[near.all[i].curve];
    const std::uint32_t here = row_at(curve, point.x);
    const std::uint32_t low = here == kNoRow ? kNoRow : row_at(curve, x_low);
    const std::uint32_t high = low == kNoRow ? kNoRow : row_at(curve, x_high);
    if (high == kNoRow || latencies_[here] <= 0) continue;
    const double low_excess = latencies_[low] - roof_of_row(low);
    const double high_excess = latencies_[high] - roof_of_row(high);
    const double straight = roof_of_row(here) + low_excess + t * (high_excess - low_excess);
    const double error = std::log(latencies_[here] /
                                  std::clamp(straight, std::min(latencies_[low], latencies_[high]),
                                             std::max(latencies_[low], latencies_[high])));
    const double weight = std::exp(-2 * near.all[i].distance);
    weights += weight;
    sum += weight * error;
    squares += weight * error * error;
  }
  if (weights <= 0) return;
  const double shift = sum / (weights + kPrior);
  answer.latency = std::max(answer.latency * std::exp(shift), answer.roofline);
  const double spread = std::max(0.0, squares - 2 * shift * sum + shift * shift * weights);
  const double own = rows_->work.own_spread;
  answer.sigma =
      std::sqrt((kPrior * answer.sigma * answer.sigma + own * own * spread) / (weights + kPrior));
  answer.sigma = std::max(answer.sigma, own * kLeastError);
}

// Kriging between the curves near by. The variance tells how certain that is.
bool Family::answer_across(const Point& point,
                           const NearCurves& curves,
                           WorkEstimate& estimate) const {
  const std::size_t count = curves.count;
  const auto& near = curves.all;
  if (count == 0) return false;

  // The covariances' Cholesky factor, and three right-hand sides: ones, multiples, those to the
  // point.
  std::array<std::array<double, kNearCurves>, kNearCurves> factor{};
  std::array<double, kNearCurves> ones{};
  std::array<double, kNearCurves> multiples{};
  std::array<double, kNearCurves> to_point{};
  for (std::size_t i = 0; i < count; ++i) {
    const double own = near[i].reading.away * axes_[0].per_reach;
    for (std::size_t j = 0; j <= i; ++j) {
      double value = listed_.has_covariances ? listed_.covariances[near[i].listed][near[j].listed]
                                             : covariance(near[i].curve, near[j].curve);
      if (i == j) value += kNugget + (own > 0 ? 2 * (1 - std::exp(-own)) : 0);
      for (std::size_t k = 0; k < j; ++k)
        value -= factor[i][k] * factor[j][k];
      factor[i][j] = i == j ? std::sqrt(std::max(value, 1e-9)) : value / factor[j][j];
    }
    ones[i] = 1;
    multiples[i] = near[i].reading.multiple;
    to_point[i] = listed_.to_point[near[i].listed];
    for (std::size_t k = 0; k < i; ++k) {
      ones[i] -= factor[i][k] * ones[k];
      multiples[i] -= factor[i][k] * multiples[k];
      to_point[i] -= factor[i][k] * to_point[k];
    }
    ones[i] /= factor[i][i];
    multiples[i] /= factor[i][i];
    to_point[i] /= factor[i][i];
  }
  double one_one = 0;
  double one_multiple = 0;
  double one_point = 0;
  double point_multiple = 0;
  double point_point = 0;
  for (std::size_t i = 0; i < count; ++i) {
    one_one += ones[i] * ones[i];
    one_multiple += ones[i] * multiples[i];
    one_point += ones[i] * to_point[i];
    point_multiple += to_point[i] * multiples[i];
    point_point += to_point[i] * to_point[i];
  }
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
  estimate.latency = std::max(base_of(point.roof) * std::exp(multiple), estimate.roofline);
  const double past = std::log2(std::max(estimate.beyond, 1.0));
  estimate.sigma = rows_->work.across_spread *
                   std::sqrt(kLeastError * kLeastError + 0.25 * usual_error_ * usual_error_ +
                             variance * (spread * spread + 0.05 * 0.05) + 0.1 * 0.1 * past * past);
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
    if (list.curves[i] == own) continue;
    const Bracket found = bracket(curves_[list.curves[i]], point);
    if (found.kind == Bracket::Kind::kOn) return list.curves[i];
    if (found.kind == Bracket::Kind::kBetween && best == kNoCurve) best = list.curves[i];
  }
  return best;
}

WorkEstimate Family::at(std::span<const double> sizes, Beyond beyond) const {
  ASSAY_CHECK(sizes.size() == num_sizes_, "a query names other sizes than the family has");
  WorkEstimate estimate;
  if (num_rows() == 0) {
    estimate.refused = Refused::kUnknown;
    return estimate;
  }
  Point point{.sizes = sizes};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    point.quantities[axis] = quantity(axes_[axis], sizes);
  point.x = axes_.empty() ? 0 : filled_up(point.quantities[0], axes_[0].tile);
  point.log = doublings(point.x);
  const double known = roofline_ ? roofline_(sizes) : 0;
  estimate.roofline = known;
  point.roof = known > 0 ? known : roof_of(sizes);
  check_range(point, beyond, estimate);

  const std::uint32_t own = find_curve(sizes);
  const bool on_own = own != kNoCurve && answer_on(own, point, estimate);
  if (on_own && estimate.is_measured()) return estimate;
  for (std::size_t axis = 1; axis < axes_.size(); ++axis)
    point.places[axis] = doublings(point.quantities[axis]) * axes_[axis].per_reach;
  NearCurves near;
  find_near(point, near);
  if (on_own && near.count == 1) return estimate;
  if (on_own && estimate.how == How::kOwnCurve) follow_shape(point, near, estimate);
  WorkEstimate answer = estimate;
  answer_across(point, near, answer);
  if (on_own) {
    answer = mean_of(estimate, answer);
    if (estimate.how == How::kOwnCurve && answer.how != How::kSameWork) answer.how = How::kBoth;
    answer.low = estimate.low;
    answer.high = estimate.high;
  }
  if (const std::uint32_t other = curve_of_same_work(point, own); other != kNoCurve) {
    WorkEstimate same = answer;
    answer_on(other, point, same);
    same.how = How::kSameWork;
    same.sigma = std::hypot(same.sigma, rows_->work.own_spread * same_work_error());
    const bool is_telling = same.low == same.high || same.sigma <= 2 * answer.sigma;
    answer = mean_of(same, answer);
    if (is_telling) {
      answer.how = same.how;
      answer.low = same.low;
      answer.high = same.high;
    }
  }
  if (beyond == Beyond::kRefuse && answer.refused == Refused::kNo && answer.sigma > 1)
    answer.refused = Refused::kUncertain;
  return answer;
}

// The usual difference of rows of the same work with other columns, which the rows tell: the root
// mean square of the logarithms.
double Family::same_work_error() const {
  if (same_work_error_ >= 0) return same_work_error_;
  std::map<std::vector<std::int64_t>, std::uint32_t> by_place;
  double squares = 0;
  int count = 0;
  for (std::uint32_t curve = 0; curve < curves_.size(); ++curve) {
    std::vector<std::int64_t> place;
    for (std::size_t axis = 1; axis < axes_.size(); ++axis)
      place.push_back(std::llround(places_[axis][curve] * 1e6));
    const auto [found, is_new] = by_place.emplace(std::move(place), curve);
    if (is_new) continue;
    std::uint32_t other = curves_[found->second].begin;
    for (std::uint32_t row = curves_[curve].begin; row < curves_[curve].end; ++row) {
      while (other < curves_[found->second].end && x_[other] < x_[row])
        ++other;
      if (other == curves_[found->second].end || x_[other] != x_[row]) continue;
      if (sizes_of(other)[along_] != sizes_of(row)[along_]) continue;
      if (latencies_[row] <= 0 || latencies_[other] <= 0) continue;
      const double apart = std::log(latencies_[row] / latencies_[other]);
      squares += std::min(apart * apart, 0.25);
      ++count;
    }
  }
  same_work_error_ = count > 3 ? std::sqrt(squares / count) : 0.02;
  return same_work_error_;
}

std::string Family::place(std::uint32_t row, std::span<const double> sizes) const {
  const auto have = sizes_of(row);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < num_sizes_; ++i) {
    if (have[i] != sizes[i]) parts.push_back(fmt::format("{}={}", rows_->sizes[i], have[i]));
  }
  return core::join(parts, " ");
}

std::string Family::method(const WorkEstimate& estimate, std::span<const double> sizes) const {
  if (estimate.is_measured()) return "exact";
  const std::string along = along_ < num_sizes_ ? rows_->sizes[along_] : "";
  // Without peaks, the product of the sizes stands for the roofline.
  const std::string scaled =
      fmt::format("scaled by the {} from {} curves", estimate.roofline > 0 ? "roofline" : "sizes",
                  estimate.curves);
  std::string text;
  if (estimate.how == How::kSameWork && estimate.low == estimate.high) {
    text = "as " + place(estimate.low, sizes);
  } else if (estimate.how == How::kSameWork) {
    std::vector<double> there(sizes.begin(), sizes.end());
    there[along_] = sizes_of(estimate.low)[along_];
    text = fmt::format("linear in {}, as {}", along, place(estimate.low, there));
  } else if (estimate.how == How::kOwnCurve) {
    text = "linear in " + along;
  } else if (estimate.how == How::kBoth) {
    text = fmt::format("linear in {}, and {}", along, scaled);
  } else {
    text = scaled + ", the nearest " + place(estimate.low, sizes);
  }
  if (estimate.beyond > 1 + 1e-9) {
    text += fmt::format(", extrapolated {} the measured {} (x{:.3g})",
                        estimate.is_above ? "above" : "below",
                        name_of(rows_->work.axes[estimate.beyond_axis]), estimate.beyond);
  }
  return text;
}

std::string Family::refusal(const WorkEstimate& estimate, std::span<const double> sizes) const {
  if (estimate.refused == Refused::kUnknown) return "nothing was measured";
  if (estimate.refused == Refused::kUncertain) {
    return fmt::format("one sigma of the answer is {:.3g} times the answer; the nearest row is {}",
                       estimate.sigma, place(estimate.low, sizes));
  }
  const Axis& axis = axes_[estimate.beyond_axis];
  const double value = quantity(axis, sizes);
  const std::string name = name_of(rows_->work.axes[estimate.beyond_axis]);
  if (axis.least == axis.most && estimate.roofline <= 0) {
    return fmt::format("{} was measured at {} only, and no roofline (--system) tells how it scales",
                       name, axis.least - axis.plus);
  }
  const std::string range =
      axis.least == axis.most
          ? fmt::format("at {} only", axis.least - axis.plus)
          : fmt::format("from {} to {}", axis.least - axis.plus, axis.most - axis.plus);
  return fmt::format("{} was measured {}; {} is {:.3g} times {} that", name, range,
                     value - axis.plus, estimate.beyond, estimate.is_above ? "beyond" : "below");
}

}  // namespace assay::store
