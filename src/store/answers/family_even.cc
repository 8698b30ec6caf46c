// This file finds how long a row takes as far as it tells of other sizes.
#include <algorithm>
#include <cmath>

#include "store/answers/family.h"

namespace assay::store {
namespace {

// A row that takes so many times as long as those beside it on its curve tells nothing of the sizes
// between; nor does one at an end that takes so many times as long as the curves beside let expect.
constexpr double kUneven = 1.1;
constexpr double kUnevenEnd = 1.2;

// Curves of so many rows tell what to expect of others no further than so many reaches.
constexpr std::uint32_t kLongRows = 8;
constexpr double kFarthest = 0.15;
constexpr int kFewestExpecting = 2;
constexpr int kMostExpecting = 4;

// Between rows that are further apart, in doublings, nothing is expected.
constexpr double kWidest = 1 + 1e-9;

// A curve of so many rows tells itself how it differs from others.
constexpr std::uint32_t kTellingRows = 4;

std::uint32_t num_left(std::uint32_t begin, std::uint32_t end, HiddenRows hidden) {
  const std::uint32_t first = std::max(begin, hidden.begin);
  const std::uint32_t last = std::min(end, hidden.end);
  return end - begin - (last > first ? last - first : 0);
}

}  // namespace

// The rows of a curve beside one of it, without hidden ones.
Family::Beside Family::rows_beside(const Curve& curve, std::uint32_t row, HiddenRows hidden) {
  const std::uint32_t end_before = hidden.has(row - 1) ? hidden.begin : row;
  const std::uint32_t next = hidden.has(row + 1) ? hidden.end : row + 1;
  return {.below = end_before > curve.begin ? end_before - 1 : kNoEvenRow,
          .above = next < curve.end ? next : kNoEvenRow};
}

// The row whose latency is that of a row as far as its curve tells.
std::uint32_t Family::even_row(const Curve& curve, std::uint32_t row, HiddenRows hidden) const {
  const Beside beside = rows_beside(curve, row, hidden);
  if (!beside.has_both() || latencies_[beside.above] <= 0) return row;
  const double longer = std::max(latencies_[beside.below], latencies_[beside.above]);
  return latencies_[row] > kUneven * longer ? beside.above : row;
}

void Family::add_even_rows() {
  even_rows_.resize(num_rows());
  end_latencies_.assign(num_rows(), std::numeric_limits<double>::quiet_NaN());
  for (const Curve& curve : curves_) {
    for (std::uint32_t row = curve.begin; row < curve.end; ++row) {
      const bool is_end = row == curve.begin || row + 1 == curve.end;
      even_rows_[row] = is_end ? kNoEvenRow : even_row(curve, row, {});
    }
  }
}

double Family::own_multiple(const Curve& curve, std::uint32_t row, HiddenRows hidden) const {
  const double latency = latencies_[even_row(curve, row, hidden)];
  return std::log(std::max(latency, 1e-9) / base_of(roof_of_row(row)));
}

double Family::multiple_without(std::uint32_t row, HiddenRows hidden) const {
  return std::log(std::max(even_latency(row, hidden), 1e-9) / base_of(roof_of_row(row)));
}

// Hidden rows may leave fewer of these long.
const Family::LongCurves& Family::long_curves_beside(std::uint32_t number) const {
  if (long_curves_.empty()) long_curves_.resize(curves_.size());
  std::optional<LongCurves>& known = long_curves_[number];
  if (known) return *known;
  LongCurves& found = known.emplace();
  for (std::uint32_t other = 0; other < curves_.size(); ++other) {
    if (other == number || curves_[other].end - curves_[other].begin < kLongRows) continue;
    double squares = 0;
    for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
      const double away = places_[axis][other] - places_[axis][number];
      squares += away * away;
    }
    if (squares > kFarthest * kFarthest) continue;
    const double distance = std::sqrt(squares);
    if (found.count == kLongCurves && distance >= found.distances[kLongCurves - 1]) continue;
    if (found.count < kLongCurves) ++found.count;
    std::size_t at = found.count - 1;
    for (; at > 0 && found.distances[at - 1] > distance; --at) {
      found.distances[at] = found.distances[at - 1];
      found.curves[at] = found.curves[at - 1];
    }
    found.distances[at] = distance;
    found.curves[at] = other;
  }
  return found;
}

// Returns what a curve tells of the size of another's row that lies between its own ends.
std::optional<double> Family::inner_multiple(const Curve& curve,
                                             std::uint32_t row,
                                             HiddenRows hidden) const {
  const auto first = x_.begin();
  auto above = static_cast<std::uint32_t>(
      std::lower_bound(first + curve.begin, first + curve.end, x_[row]) - first);
  if (hidden.has(above)) above = hidden.end;
  if (above >= curve.end) return std::nullopt;
  const Beside beside = rows_beside(curve, above, hidden);
  if (beside.below == kNoEvenRow) return std::nullopt;
  if (x_[above] == x_[row]) {
    if (beside.above == kNoEvenRow) return std::nullopt;
    return own_multiple(curve, above, hidden);
  }
  const double doublings = logs_[above] - logs_[beside.below];
  if (doublings > kWidest) return std::nullopt;
  const double low = own_multiple(curve, beside.below, hidden);
  const double t = (logs_[row] - logs_[beside.below]) / doublings;
  return low + t * (own_multiple(curve, above, hidden) - low);
}

// The multiple of a row as the curves beside its own let expect it.
std::optional<double> Family::expected_multiple(std::uint32_t number,
                                                std::uint32_t row,
                                                HiddenRows hidden) const {
  const LongCurves& beside = long_curves_beside(number);
  std::size_t asked = 0;
  int count = 0;
  double sum = 0;
  for (std::size_t i = 0; i < beside.count && count < kMostExpecting; ++i) {
    const Curve& curve = curves_[beside.curves[i]];
    if (num_left(curve.begin, curve.end, hidden) < kLongRows) continue;
    if (++asked == kLongCurves) break;
    const std::optional<double> multiple = inner_multiple(curve, row, hidden);
    if (!multiple) continue;
    ++count;
    sum += *multiple;
  }
  if (count < kFewestExpecting) return std::nullopt;
  return sum / count;
}

// Returns the same of a row at an end. A curve of several rows differs from those beside it as its
// row next to the end does.
std::optional<double> Family::expected_at_end(std::uint32_t number,
                                              std::uint32_t row,
                                              HiddenRows hidden) const {
  const std::optional<double> expected = expected_multiple(number, row, hidden);
  const Curve& curve = curves_[number];
  if (!expected || num_left(curve.begin, curve.end, hidden) < kTellingRows) return expected;
  const Beside beside = rows_beside(curve, row, hidden);
  const std::uint32_t next = beside.below == kNoEvenRow ? beside.above : beside.below;
  const std::optional<double> expected_next = expected_multiple(number, next, hidden);
  if (!expected_next) return expected;
  return *expected + std::max(0.0, own_multiple(curve, next, hidden) - *expected_next);
}

double Family::find_even_latency(std::uint32_t row, HiddenRows hidden) const {
  const std::uint32_t number = find_curve_of(row);
  const Curve& curve = curves_[number];
  if (rows_beside(curve, row, hidden).has_both()) return latencies_[even_row(curve, row, hidden)];
  const bool has_all = hidden.begin == hidden.end;
  if (has_all && !std::isnan(end_latencies_[row])) return end_latencies_[row];
  double latency = latencies_[row];
  if (const auto expected = expected_at_end(number, row, hidden); expected && latency > 0) {
    const double even = base_of(roof_of_row(row)) * std::exp(*expected);
    if (latency > kUnevenEnd * even) latency = even;
  }
  if (has_all) end_latencies_[row] = latency;
  return latency;
}

}  // namespace assay::store
