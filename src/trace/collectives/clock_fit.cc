#include "trace/collectives/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/statistics.h"

namespace assay::trace::collectives {
namespace {

constexpr double kMillion = 1e6;

// Fewer pairs look like a line too often.
constexpr std::size_t kLeastPairs = 16;
// A clock that was set once during the recording looks like a drift of up to 8 deviations that
// remain. Noise looks like more in one of 1,000 recordings of 16 pairs, and in fewer of more pairs.
constexpr double kLeastDeviations = 8;
// GPUs of a host leave a collective so far apart.
constexpr double kLeastGainUs = 1;
// Slewing adds up to 500 to what crystals differ by. What gains more is no clock.
constexpr double kMostPpm = 1000;
// The slopes between all pairs would take the square of their number.
constexpr std::size_t kMostBlocks = 64;

// Returns what a clock gains in a time of the other one.
double gain_us(const ClockFit& fit, double length_us) {
  return fit.drift_ppm / kMillion * length_us;
}

double remaining_us(const ClockPair& pair, const ClockFit& fit) {
  return pair.ahead_us - gain_us(fit, pair.reference_us - fit.at_us);
}

double offset_us(const std::vector<ClockPair>& pairs, const ClockFit& fit) {
  std::vector<double> remaining;
  remaining.reserve(pairs.size());
  for (const ClockPair& pair : pairs)
    remaining.push_back(remaining_us(pair, fit));
  return core::median(remaining);
}

// Returns the median of each of at most kMostBlocks runs of pairs.
std::vector<ClockPair> blocks_of(const std::vector<ClockPair>& pairs) {
  const std::size_t count = std::min(pairs.size(), kMostBlocks);
  std::vector<ClockPair> blocks;
  for (std::size_t b = 0; b < count; ++b) {
    std::vector<double> references;
    std::vector<double> aheads;
    for (std::size_t i = b * pairs.size() / count; i < (b + 1) * pairs.size() / count; ++i) {
      references.push_back(pairs[i].reference_us);
      aheads.push_back(pairs[i].ahead_us);
    }
    blocks.push_back({core::median(references), core::median(aheads)});
  }
  return blocks;
}

// Returns the median of the slopes between any two (H. Theil, 1950; P. K. Sen, 1968).
double slope_ppm(const std::vector<ClockPair>& blocks) {
  std::vector<double> slopes;
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    for (std::size_t b = a + 1; b < blocks.size(); ++b) {
      const double length_us = blocks[b].reference_us - blocks[a].reference_us;
      if (length_us > 0)
        slopes.push_back((blocks[b].ahead_us - blocks[a].ahead_us) / length_us * kMillion);
    }
  }
  return slopes.empty() ? 0 : core::median(slopes);
}

// Returns twice the time in which the middle half of the pairs lie: that of all, but for a few that
// lie far away and tell nothing of a line.
double length_us(const std::vector<ClockPair>& sorted) {
  const std::size_t quarter = sorted.size() / 4;
  return 2 * (sorted[sorted.size() - 1 - quarter].reference_us - sorted[quarter].reference_us);
}

bool is_certain(const std::vector<ClockPair>& sorted, const ClockFit& fit) {
  return std::fabs(fit.drift_ppm) <= kMostPpm &&
         std::fabs(gain_us(fit, length_us(sorted))) >
             std::max(kLeastGainUs, kLeastDeviations * deviation_us(sorted, fit));
}

}  // namespace

double ClockFit::ahead_us(double reading_us) const {
  return offset_us + gain_us(*this, (reading_us - offset_us - at_us) / (1 + drift_ppm / kMillion));
}

ClockFit joined(const ClockFit& inner, const ClockFit& outer) {
  const bool by_outer = outer.drift_ppm != 0;
  ClockFit both{.at_us = by_outer ? outer.at_us - inner.ahead_us(outer.at_us) : inner.at_us};
  const double inner_us = inner.offset_us + gain_us(inner, both.at_us - inner.at_us);
  const double middle_us = both.at_us + inner_us;
  both.offset_us = inner_us + outer.offset_us + gain_us(outer, middle_us - outer.at_us);
  both.drift_ppm = inner.drift_ppm + outer.drift_ppm + inner.drift_ppm * outer.drift_ppm / kMillion;
  return both;
}

ClockFit fit_clock(std::vector<ClockPair> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const ClockPair& a, const ClockPair& b) { return a.reference_us < b.reference_us; });
  ClockFit fit{.at_us = pairs[pairs.size() / 2].reference_us};
  if (pairs.size() >= kLeastPairs) fit.drift_ppm = slope_ppm(blocks_of(pairs));
  fit.offset_us = offset_us(pairs, fit);
  if (fit.drift_ppm == 0 || is_certain(pairs, fit)) return fit;
  fit.drift_ppm = 0;
  fit.offset_us = offset_us(pairs, fit);
  return fit;
}

double deviation_us(const std::vector<ClockPair>& pairs, const ClockFit& fit) {
  std::vector<double> deviations;
  deviations.reserve(pairs.size());
  for (const ClockPair& pair : pairs)
    deviations.push_back(std::fabs(remaining_us(pair, fit) - fit.offset_us));
  return deviations.empty() ? 0 : core::median(deviations);
}

}  // namespace assay::trace::collectives
