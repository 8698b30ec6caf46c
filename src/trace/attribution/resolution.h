// Which parts of a change mean something, and how many digits they deserve.
#pragma once

#include <array>
#include <vector>

#include "trace/attribution/attribution.h"

namespace assay::trace::attribution {

// The means of a step in each run of a side or, of a side that was run once, its steps.
struct Repetitions {
  std::vector<double> a_ms;
  std::vector<double> b_ms;
};

// Returns the change below which a part tells nothing, rounded up to one digit: to less than twice
// of what follows. It is a
// microsecond: older traces round times to that, and the pauses of one kernel differ by as much
// from step to step. It is more where all of these are: a hundredth of the largest change, a
// thousandth of a step, and the standard error of the whole change, where repetitions tell it.
double resolution_ms(const Attribution& attribution, const Repetitions& repetitions);

// Returns the change below which a detail is no evidence of its cause: of a part that is told, a
// hundredth of it, as many small kernels may make it up, and never more than the resolution.
std::array<double, kCauses> least_details_ms(const Attribution& attribution);

// Returns the largest of the parts and their total.
double largest_change_ms(const Attribution& attribution);

// Rounds a value that has not three digits before the end of the fourth one of the largest beside
// it, so that a small part has no digits that a large one lacks. Others are left to their writer.
double rounded_beside(double value, double largest);

// Returns whether a change rounds to nothing: beside the largest one, or as the clocks tell it.
bool rounds_to_nothing(double value, double largest);

// Returns the value with one significant digit, not less than it and less than twice as much.
double rounded_up(double value);

}  // namespace assay::trace::attribution
