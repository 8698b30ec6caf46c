// Turns recorded nanoseconds into the integer ticks of interval arithmetic.
//
// A tick is a nanosecond. In compat mode it is the spacing of the doubles in which the public
// tool holds absolute microseconds, so that its rounding is reproduced exactly.
#pragma once

#include <cstdint>

#include "trace/interval.h"
#include "trace/options.h"

namespace assay::model {
struct Trace;
}

namespace assay::trace {

class TimeScale {
 public:
  TimeScale() = default;
  TimeScale(const model::Trace& trace, Compat compat);

  [[nodiscard]] Interval interval(std::int64_t start_ns, std::int64_t duration_ns) const;

  [[nodiscard]] double microseconds(std::int64_t ticks) const {
    return static_cast<double>(ticks) / ticks_per_us_;
  }

  [[nodiscard]] double milliseconds(std::int64_t ticks) const {
    return static_cast<double>(ticks) / (ticks_per_us_ * 1000);
  }

 private:
  double ticks_per_us_ = 1000;
  bool rounds_as_double_ = false;
};

}  // namespace assay::trace
