#include "store/answers/family.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "core/counted.h"
#include "core/text.h"

namespace assay::store {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Almost all sizes are whole numbers, which take a tenth of the time to write.
std::string size_text(double size) {
  if (size == std::floor(size) && std::abs(size) < 1e15)
    return std::to_string(static_cast<std::int64_t>(size));
  return fmt::format("{}", size);
}

}  // namespace

Family::Family(const WorkRows& rows,
               std::size_t family,
               Roofline roofline,
               const Calibration* calibration)
    : rows_(&rows),
      family_(family),
      roofline_(std::move(roofline)),
      calibration_(calibration),
      num_sizes_(rows.sizes.size()) {
  const std::size_t begin = rows.begins[family];
  const std::size_t count = rows.begins[family + 1] - begin;
  values_ = rows.values.subspan(begin * num_sizes_, count * num_sizes_);
  latencies_ = rows.latencies.subspan(begin, count);
  roofs_.assign(count, kNothing);
  multiples_.assign(count, kNothing);
  listed_.quantities.fill(kNothing);
  add_axes();
  add_curves();
  squares_.resize(curves_.size());
  filled_.resize(num_sizes_);
  add_limits();
  add_even_rows();
  add_errors();
  floor_ = std::numeric_limits<double>::infinity();
  for (const double latency : latencies_)
    floor_ = std::min(floor_, latency > 0 ? latency : floor_);
  if (!std::isfinite(floor_)) floor_ = 0;
}

void Family::add_limits() {
  const auto& names = rows_->sizes;
  for (const WorkLimit& declared : rows_->work.limits) {
    const auto column = std::find(names.begin(), names.end(), declared.column);
    const auto other = std::find(names.begin(), names.end(), declared.other);
    if (column == names.end() || other == names.end()) continue;
    limits_.push_back({.column = static_cast<std::uint32_t>(column - names.begin()),
                       .other = static_cast<std::uint32_t>(other - names.begin()),
                       .kind = declared.kind});
  }
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

double Family::filled_up(double value, double tile) {
  return value > tile && tile > 1 ? std::ceil(value / tile) * tile : value;
}

double Family::doublings(double quantity) {
  return std::log2(std::max(quantity, 1e-9));
}

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

// Predicts a row from its neighbours on its curve: by how much that is off, as a logarithm, or NaN.
// Where the roofline is straight between them, it makes no difference.
double Family::error_at(const Curve& curve, std::uint32_t row, HiddenRows hidden) const {
  if (row == curve.begin || row + 1 >= curve.end || latencies_[row] <= 0) return kNothing;
  std::uint32_t below = row - 1;
  std::uint32_t above = row + 1;
  if (hidden.has(below)) below = hidden.begin - 1;
  if (hidden.has(above)) above = hidden.end;
  if (below + 1 <= curve.begin || above >= curve.end || !(x_[above] > x_[below])) return kNothing;
  const double t = (x_[row] - x_[below]) / (x_[above] - x_[below]);
  const bool has_all = hidden.begin == hidden.end;
  const HiddenRows with_row = {.begin = has_all ? row : std::min(hidden.begin, row),
                               .end = has_all ? row + 1 : std::max(hidden.end, row + 1)};
  const double low = latencies_[even_row(curve, below, with_row)];
  const double between = low + t * (latencies_[even_row(curve, above, with_row)] - low);
  return between > 0 ? std::abs(std::log(between / latencies_[row])) : kNothing;
}

void Family::add_errors() {
  errors_.assign(num_rows(), std::numeric_limits<float>::quiet_NaN());
  double squares = 0;
  int count = 0;
  for (const Curve& curve : curves_) {
    for (std::uint32_t row = curve.begin + 1; row + 1 < curve.end; ++row) {
      const double error = error_at(curve, row, {});
      if (std::isnan(error)) continue;
      errors_[row] = static_cast<float>(error);
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

std::span<const double> Family::filled(std::span<const double> asked) const {
  if (axes_.empty() || axes_[0].tile <= 1) return asked;
  std::copy(asked.begin(), asked.end(), filled_.begin());
  const Axis& axis = axes_[0];
  filled_[along_] = filled_up(asked[along_] + axis.plus, axis.tile) - axis.plus;
  return filled_;
}

double Family::roof_of(std::span<const double> asked) const {
  const auto sizes = filled(asked);
  const double known = roofline_ ? roofline_(sizes) : 0;
  if (known > 0) return known;
  double work = rate_;
  for (const Axis& axis : axes_)
    work *= std::max(quantity(axis, sizes), 1e-9);
  return work;
}

double Family::learn_roof_of_row(std::uint32_t row) const {
  roofs_[row] = roof_of(sizes_of(row));
  return roofs_[row];
}

double Family::learn_multiple_of_row(std::uint32_t row) const {
  multiples_[row] = multiple_without(row, {});
  return multiples_[row];
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
      if (along_ < num_sizes_ && sizes_of(other)[along_] != sizes_of(row)[along_]) continue;
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
  std::string text;
  for (std::size_t i = 0; i < num_sizes_; ++i) {
    if (have[i] == sizes[i]) continue;
    if (!text.empty()) text += ' ';
    text += rows_->sizes[i];
    text += '=';
    text += size_text(have[i]);
  }
  return text;
}

std::string Family::method(const WorkEstimate& estimate, std::span<const double> sizes) const {
  if (estimate.is_measured()) return "exact";
  const std::string along = along_ < num_sizes_ ? rows_->sizes[along_] : "";
  // Without peaks, the product of the sizes stands for the roofline.
  const std::string scaled =
      fmt::format("scaled by the {} from {}", estimate.roofline > 0 ? "roofline" : "sizes",
                  core::counted(estimate.curves, "curve"));
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
  } else if (estimate.how == How::kPastOwn) {
    text = fmt::format("past {} of its own, and {}", place(estimate.low, sizes), scaled);
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

// Returns the limit that these sizes break; null: they break none.
const Family::Limit* Family::broken_limit(std::span<const double> sizes) const {
  for (const Limit& limit : limits_) {
    const double value = sizes[limit.column];
    const double other = sizes[limit.other];
    const bool is_broken = limit.kind == WorkLimit::Kind::kAtMost
                               ? value > other
                               : other > 0 && std::fmod(value, other) != 0;
    if (is_broken) return &limit;
  }
  return nullptr;
}

std::string Family::limit_text(std::span<const double> sizes) const {
  const Limit* limit = broken_limit(sizes);
  ASSAY_CHECK(limit != nullptr, "sizes are refused that may be");
  const auto named = [&](std::uint32_t column) {
    return fmt::format("{}={}", rows_->sizes[column], size_text(sizes[column]));
  };
  if (limit->kind == WorkLimit::Kind::kAtMost)
    return fmt::format("{} is more than {}", named(limit->column), named(limit->other));
  return fmt::format("{} does not divide {}", named(limit->other), named(limit->column));
}

std::string Family::refusal(const WorkEstimate& estimate, std::span<const double> sizes) const {
  if (estimate.refused == Refused::kImpossible) return limit_text(sizes);
  if (estimate.refused == Refused::kUnknown) return "nothing was measured";
  if (estimate.refused == Refused::kUncertain) {
    constexpr double kContradiction = 5;
    const double sigma = estimate.uncertainty();
    if (sigma > kContradiction)
      return fmt::format("the rows beside it contradict each other; the nearest row is {}",
                         place(estimate.low, sizes));
    return fmt::format("one sigma of the answer is {:.0f} % of it; the nearest row is {}",
                       100 * sigma, place(estimate.low, sizes));
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
