// The power of what a family answers.
#include <cmath>

#include "store/answers/family.h"

namespace assay::store {

double Family::watts_of(std::uint32_t row) const {
  if (rows_->watts.empty()) return std::numeric_limits<double>::quiet_NaN();
  return rows_->watts[rows_->begins[family_] + row];
}

// Where energy was measured of some sizes alone, a row takes the power between the next ones of its
// curve on both sides, in proportion to the logarithm of the size.
std::optional<double> Family::watts_at_or_beside(std::uint32_t row) const {
  if (const double own = watts_of(row); !std::isnan(own)) return own;
  const HiddenRows curve = curve_of(row);
  std::uint32_t below = row;
  while (below > curve.begin && std::isnan(watts_of(below)))
    --below;
  std::uint32_t above = row;
  while (above + 1 < curve.end && std::isnan(watts_of(above)))
    ++above;
  const double low = watts_of(below);
  const double high = watts_of(above);
  if (std::isnan(low) || std::isnan(high)) return std::nullopt;
  const double span = logs_[above] - logs_[below];
  return std::lerp(low, high, span > 0 ? (logs_[row] - logs_[below]) / span : 0.5);
}

std::optional<RowPower> Family::power(const WorkEstimate& estimate) const {
  if (rows_->watts.empty() || estimate.refused != Refused::kNo || estimate.is_beyond())
    return std::nullopt;
  const double own = watts_of(estimate.low);
  const bool is_row = estimate.how == How::kMeasured || estimate.how == How::kSameWork;
  if (is_row && !std::isnan(own)) return RowPower{.watts = own, .is_measured = true};
  const std::optional<double> low = watts_at_or_beside(estimate.low);
  const std::optional<double> high = watts_at_or_beside(is_row ? estimate.low : estimate.high);
  if (!low || !high) return std::nullopt;
  return RowPower{.watts = 0.5 * (*low + *high), .is_measured = false};
}

}  // namespace assay::store
