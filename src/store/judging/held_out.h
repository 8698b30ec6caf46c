// How well a table's interpolation does: every point that has neighbours is predicted without
// itself, along each size, and compared with what was measured. The bracket is then about twice as
// wide as a query's, so queries between points do better than this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/answers/table_index.h"

namespace assay::store {

// One prediction. Sizes are those of the axis.
struct HeldOutPoint {
  std::size_t group = 0;  // of the index
  Position position = {};
  std::size_t axis = 0;  // of the index's size columns
  double low = 0;        // the neighbours that it was predicted from
  double size = 0;
  double high = 0;
  double error = 0;  // |predicted / measured - 1|
};

// Along one axis, of points that have neighbours there and a positive latency.
std::vector<HeldOutPoint> held_out_points(const TableIndex& index, std::size_t axis);

// Parts of the measured latency.
struct HeldOutErrors {
  std::string column;
  std::int64_t points = 0;
  double median = 0;
  double p95 = 0;
  double worst = 0;
  double share_beyond = 0;  // of the points, with an error beyond the limit
  std::string worst_at;
};

// Where to measure more: the points between two values of a size.
struct Interval {
  std::string column;
  double low = 0;
  double held_out = 0;  // the value between that was predicted
  double high = 0;
  std::int64_t points = 0;
  std::int64_t beyond = 0;
  double median = 0;
};

struct HeldOut {
  std::vector<HeldOutErrors> by_column;
  std::vector<Interval> intervals;  // with any beyond; most points beyond first
};

inline constexpr double kHeldOutLimit = 0.05;

HeldOut held_out_errors(const TableIndex& index, double limit);

}  // namespace assay::store
