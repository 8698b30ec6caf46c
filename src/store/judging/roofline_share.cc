#include "store/judging/roofline_share.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/statistics.h"

namespace assay::store {
namespace {

ShareCurve curve_of_family(const WorkRows& rows, const Family& family) {
  std::map<double, std::vector<double>> by_size;
  for (std::uint32_t row = 0; row < family.num_rows(); ++row) {
    const double roofline = family.known_roofline(row);
    const double size = family.size_along(row);
    if (roofline > 0 && family.latency(row) > 0 && size > 0)
      by_size[size].push_back(roofline / family.latency(row));
  }
  ShareCurve curve{.name = rows.family_name(family.number()), .sizes = {}};
  for (const auto& [size, shares] : by_size) {
    curve.sizes.push_back({.size = size,
                           .median = core::median(shares),
                           .p10 = core::quantile(shares, 0.1),
                           .p90 = core::quantile(shares, 0.9)});
  }
  return curve;
}

}  // namespace

ShareFigure roofline_shares(const WorkIndex& index, std::size_t most_curves) {
  const WorkRows& rows = index.rows();
  std::vector<std::size_t> order(rows.num_families());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rows.begins[a + 1] - rows.begins[a] > rows.begins[b + 1] - rows.begins[b];
  });
  ShareFigure figure;
  if (!rows.work.axes.empty()) figure.size = name_of(rows.work.axes.front());
  for (const std::size_t family : order) {
    if (figure.curves.size() == most_curves) break;
    ShareCurve curve = curve_of_family(rows, index.family(family));
    if (!curve.sizes.empty()) figure.curves.push_back(std::move(curve));
  }
  return figure;
}

}  // namespace assay::store
