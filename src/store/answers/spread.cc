#include "store/answers/spread.h"

#include <algorithm>
#include <cmath>

namespace assay::store {
namespace {

// A little more than the shares that are told, because whoever asks a table is further from its
// rows than they are from each other: the ways of leaving out are pooled, and the harder ones count
// less.
constexpr double kWithinOne = 0.7;
constexpr double kWithinEighty = 0.82;
constexpr std::size_t kMissesOfClass = 80;

// Rows that are all equal are never off. That answers are is possible all the same.
constexpr double kLeastRatio = 1e-3;

// The ratio below which this share of points lies, one more of which may be any.
double ratio_of(const std::vector<double>& sorted, double share) {
  const double place = std::ceil(static_cast<double>(sorted.size() + 1) * share);
  return std::max(sorted[std::min(static_cast<std::size_t>(place), sorted.size()) - 1],
                  kLeastRatio);
}

}  // namespace

Spread::Spread(std::vector<Miss> misses) {
  if (misses.size() < kFewest) return;
  // Misses with one raw error stay mixed.
  std::stable_sort(misses.begin(), misses.end(),
                   [](const Miss& a, const Miss& b) { return a.raw < b.raw; });
  misses_ = misses.size();
  classes_ = std::clamp<std::size_t>(misses.size() / kMissesOfClass, 1, kMostClasses);
  for (std::size_t number = 0; number < classes_; ++number) {
    const std::size_t begin = misses.size() * number / classes_;
    const std::size_t end = misses.size() * (number + 1) / classes_;
    std::vector<double> ratios;
    for (std::size_t i = begin; i < end; ++i)
      ratios.push_back(misses[i].error / misses[i].raw);
    std::sort(ratios.begin(), ratios.end());
    const double raw = misses[(begin + end) / 2].raw;
    raws_[number] = raw;
    ones_[number] = raw * ratio_of(ratios, kWithinOne);
    eighties_[number] = raw * ratio_of(ratios, kWithinEighty);
  }
}

double Spread::at(double raw, const PerClass& halves) const {
  if (raw <= raws_[0]) return raw * halves[0] / raws_[0];
  for (std::size_t i = 1; i < classes_; ++i) {
    if (raw > raws_[i]) continue;
    const double t = (raw - raws_[i - 1]) / (raws_[i] - raws_[i - 1]);
    return halves[i - 1] + t * (halves[i] - halves[i - 1]);
  }
  return raw * halves[classes_ - 1] / raws_[classes_ - 1];
}

Halves Spreads::of_way(Way way, double raw) const {
  const Spread& spread = ways[static_cast<std::size_t>(way)];
  return {.one = spread.one(raw), .eighty = spread.eighty(raw)};
}

Halves Spreads::of_beyond(std::size_t axis, bool is_above, double raw) const {
  const Spread& own = beyond[2 * axis + (is_above ? 1 : 0)];
  if (own.is_known()) return {.one = own.one(raw), .eighty = own.eighty(raw)};
  Halves widest;
  for (const Spread& known : beyond) {
    if (!known.is_known()) continue;
    widest.one = std::max(widest.one, known.one(raw));
    widest.eighty = std::max(widest.eighty, known.eighty(raw));
  }
  return widest.one > 0 ? widest : Halves{.one = own.one(raw), .eighty = own.eighty(raw)};
}

}  // namespace assay::store
