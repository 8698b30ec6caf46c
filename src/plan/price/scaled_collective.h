// A collective operation among GPUs that no row was measured with, from rows of half and of a
// quarter as many: what each GPU waits for and what it sends are scaled, as the operation does.
//
// - Short messages: each GPU has one more peer to wait for or to read from for each GPU more. So
//   the time grows by twice as much from 4 to 8 GPUs (3 peers to 7) as it grew from 2 to 4 (1 to
//   3).
// - Long messages: what a link carries goes with the bus factor (model/collective.h), at the
//   bandwidth of the longest message that was measured, after as many as two rounds of the shortest
//   one.
//
// The smaller of the two is what an implementation that chooses well takes. How far that is off on
// tables that have all three numbers of GPUs is in docs/accuracy.md.
#pragma once

#include <optional>

#include "model/serving/uses.h"

namespace assay::plan {

// What the rows of fewer GPUs tell, in milliseconds.
struct ScaledCollective {
  double bus_growth = 1;           // the bus factor of all the GPUs over that of half of them
  double shortest_half_ms = 0;     // of the shortest message measured, among half of the GPUs
  double shortest_quarter_ms = 0;  // the same among a quarter
  double longest_half_ms = 0;
  double longest_message = 1;  // in the units of `message`

  // Never less than half of the GPUs take.
  [[nodiscard]] double ms(double message, double half_ms, double quarter_ms) const;
};

// How a use is derived from those of fewer GPUs.
struct ScaledUse {
  serving::OperatorUse half;
  serving::OperatorUse quarter;
  double bus_growth = 1;
  double sigma = 0;  // one sigma of the logarithm, as tables tell that have all three
};

// std::nullopt: the use is no collective, or of a number of GPUs that is not scaled to. That is
// eight alone, since more than a node's GPUs have other links between them.
std::optional<ScaledUse> scaled_use(const serving::OperatorUse& use);

}  // namespace assay::plan
