#include "plan/compat/product_sites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace assay::plan::compat {
namespace {

constexpr double kNoProduct = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kSites = 4;
constexpr double kMostOctaves = 2;
constexpr std::size_t kTailRows = 3;

bool is_time(double ms) {
  return std::isfinite(ms) && ms > 0;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void ProductSites::add(const Place& place, double ms) {
  rows_.push_back({.place = place, .ms = ms});
}

void ProductSites::finish(const LeastMs& least_ms) {
  const auto key = [](const Row& row) {
    return std::make_tuple(row.place[1], row.place[2], row.place[0]);
  };
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](const Row& a, const Row& b) { return key(a) < key(b); });
  rows_.erase(std::unique(rows_.begin(), rows_.end(),
                          [](const Row& a, const Row& b) { return a.place == b.place; }),
              rows_.end());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.ms = std::max(row.ms, least_ms(row.place));
    const bool is_new =
        i == 0 || rows_[i - 1].place[1] != row.place[1] || rows_[i - 1].place[2] != row.place[2];
    if (is_new) {
      sites_.push_back({.begin = i,
                        .end = i,
                        .n_log = std::log2(row.place[1]),
                        .k_log = std::log2(row.place[2])});
    }
    sites_.back().end = i + 1;
  }
  // Of equally near sites the public planner takes those that its file begins with, which is
  // written from the largest weights to the smallest.
  std::reverse(sites_.begin(), sites_.end());
}

double ProductSites::held(const Site& site, double m, const LeastMs& least_ms) const {
  const bool is_below = m < rows_[site.begin].place[0];
  const std::size_t count = std::min(kTailRows, site.end - site.begin);
  const std::size_t first = is_below ? site.begin : site.end - count;
  std::vector<double> shares;
  for (std::size_t i = first; i < first + count; ++i) {
    const double least = least_ms(rows_[i].place);
    if (rows_[i].ms > 0 && least > 0) shares.push_back(least / rows_[i].ms);
  }
  const double asked_least = least_ms({m, rows_[site.begin].place[1], rows_[site.begin].place[2]});
  return shares.empty() || !is_time(asked_least) ? kNoProduct
                                                 : asked_least / median_of(std::move(shares));
}

double ProductSites::on_curve(const Site& site, double m, const LeastMs& least_ms) const {
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(site.begin);
  const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(site.end);
  const auto above = std::lower_bound(
      begin, end, m, [](const Row& row, double bound) { return row.place[0] < bound; });
  if (above != end && above->place[0] == m) return above->ms;
  if (above == begin || above == end) return held(site, m, least_ms);
  const Row& low = *(above - 1);
  const double share = (m - low.place[0]) / (above->place[0] - low.place[0]);
  return low.ms + (above->ms - low.ms) * share;
}

std::vector<ProductSites::Near> ProductSites::ranked(const Place& place, bool only_covering) const {
  const double n_log = std::log2(place[1]);
  const double k_log = std::log2(place[2]);
  std::vector<Near> near;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const Site& site = sites_[i];
    const bool covers =
        rows_[site.begin].place[0] <= place[0] && place[0] <= rows_[site.end - 1].place[0];
    if (only_covering && !covers) continue;
    const double n_off = site.n_log - n_log;
    const double k_off = site.k_log - k_log;
    near.push_back({.distance = std::sqrt(n_off * n_off + k_off * k_off), .site = i});
  }
  return near;
}

std::vector<ProductSites::Near> ProductSites::beyond_largest(const Place& place,
                                                             const std::vector<Near>& near) const {
  std::array<bool, 2> is_beyond = {};
  for (std::size_t axis = 1; axis <= 2; ++axis) {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    for (const Near& one : near) {
      const double value = rows_[sites_[one.site].begin].place[axis];
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (place[axis] < low) return {};
    is_beyond[axis - 1] = place[axis] > high;
  }
  if (is_beyond[0] == is_beyond[1]) return {};
  std::vector<Near> kept;
  for (const Near& one : near) {
    const Site& site = sites_[one.site];
    const double off =
        is_beyond[0] ? site.k_log - std::log2(place[2]) : site.n_log - std::log2(place[1]);
    if (std::abs(off) <= kMostOctaves) kept.push_back(one);
  }
  return kept;
}

std::vector<ProductSites::Near> ProductSites::admitted(const Place& place,
                                                       std::vector<Near> near) const {
  const auto is_far = [](const Near& one) { return one.distance > kMostOctaves; };
  if (std::all_of(near.begin(), near.end(), is_far)) return beyond_largest(place, near);
  std::erase_if(near, is_far);
  return near;
}

double ProductSites::at(const Place& place, const LeastMs& least_ms) const {
  const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const Site& site) {
    return rows_[site.begin].place[1] == place[1] && rows_[site.begin].place[2] == place[2];
  });
  if (known != sites_.end()) return on_curve(*known, place[0], least_ms);
  std::vector<Near> near = ranked(place, true);
  if (near.empty()) near = ranked(place, false);
  near = admitted(place, std::move(near));
  std::stable_sort(near.begin(), near.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  if (near.size() > kSites) near.resize(kSites);
  double weights = 0;
  double reached = 0;
  for (const Near& one : near) {
    const Site& site = sites_[one.site];
    const double ms = on_curve(site, place[0], least_ms);
    const Row& first = rows_[site.begin];
    const double least = least_ms({place[0], first.place[1], first.place[2]});
    if (!is_time(ms) || !is_time(least)) continue;
    const double weight = 1 / (one.distance * one.distance + 1e-12);
    weights += weight;
    reached += weight * least / ms;
  }
  const double asked_least = least_ms(place);
  return weights > 0 && is_time(asked_least) ? asked_least / (reached / weights) : kNoProduct;
}

}  // namespace assay::plan::compat
