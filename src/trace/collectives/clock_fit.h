// This tells how one clock runs beside another: an offset, and a drift where readings tell one.
//
// Crystals differ by some millionths, and a clock that is slewed gains up to 500 us a second, so
// that an offset alone is right in the middle of a long recording only.
#pragma once

#include <vector>

namespace assay::trace::collectives {

// Readings are in microseconds.
struct ClockFit {
  double offset_us = 0;  // how far it is ahead when the other clock reads at_us
  double at_us = 0;
  double drift_ppm = 0;  // microseconds that it gains in a second of the other clock

  // Returns how far it is ahead when it reads this itself.
  [[nodiscard]] double ahead_us(double reading_us) const;
};

// Returns how a clock runs beside a first one. `outer` tells how it runs beside a second one, and
// `inner` how that runs beside the first.
ClockFit joined(const ClockFit& inner, const ClockFit& outer);

// One instant on two clocks.
struct ClockPair {
  double reference_us = 0;
  double ahead_us = 0;  // what the other clock reads, less that
};

// Returns the offset that is the median of these, after a drift that is 0 unless it is certain:
// over the time in which half of the pairs lie it must exceed what remains of them by far. Few
// outliers make no drift. The time is linear in the number of pairs, but for sorting. There must be
// a pair.
ClockFit fit_clock(std::vector<ClockPair> pairs);

// Returns the median absolute deviation of the pairs from the fit.
double deviation_us(const std::vector<ClockPair>& pairs, const ClockFit& fit);

}  // namespace assay::trace::collectives
