// Figures that tell how good a performance table is: impossible rows, holes, drops, and how well
// points are predicted from their neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/answers/table_index.h"
#include "store/judging/roofline.h"

namespace assay::store {

// The number of times that something was found, out of how many, and the worst case.
struct Found {
  std::int64_t count = 0;
  std::int64_t total = 0;  // the number of things that were looked at
  double worst = 0;
  std::string where;
};

struct CheckLimits {
  double drop = 0.10;      // of the latency, from one value of a size to the next larger one
  double spread = 0.10;    // between rows with the same key
  double roofline = 0.05;  // by which a row may be faster than the roofline
};

struct TableCheck {
  std::string table;
  std::int64_t rows = 0;
  std::int64_t groups = 0;     // combinations of exact values
  Found holes;                 // missing points between two neighbours along a size, of all points
  Found unused;                // rows without a finite latency or size
  Found not_positive;          // latencies of 0 or less
  Found duplicates;            // rows with the key of an earlier row; worst: how far apart
  std::int64_t far_apart = 0;  // duplicates beyond limits.spread
  Found drops;                 // of all steps; worst: part of the latency
  Found faster;                // of rows with a known roofline; worst: part of the roofline
  Found cached;                // faster, but excused because their data fit in the L2 cache
  // Rows whose median is less certain than their run asked for, of those that tell both; worst:
  // half of the interval as a part of the median.
  Found uncertain;
  Found scattered;  // medians of which some samples took less than half; worst: how much less
  Found slower;     // latencies that no kernel takes; worst: part of what they are compared with
  Found throttled;  // measured at lowered clocks, of the rows that tell

  // Whether latencies of 0 are possible (compute_scale is a difference that is clamped at 0).
  bool zeros_allowed = false;

  [[nodiscard]] bool impossible() const {
    return faster.count > 0 || slower.count > 0 || scattered.count > 0 || unused.count > 0 ||
           (!zeros_allowed && not_positive.count > 0);
  }
};

enum class Weight : std::uint8_t { kRemark, kProblem };

// Something that a check found at least once.
struct Finding {
  std::string_view name;     // "drops"
  std::string_view meaning;  // in words
  Weight weight = Weight::kRemark;
  Found found;
  bool has_worst = true;  // whether found.worst says anything
};

// Returns the findings of the check in the order in which reports show them. Holes, duplicates and
// drops are remarks, because every real table has some.
std::vector<Finding> findings_of(const TableCheck& check);

// If the rooflines are null, `faster` stays at 0 of 0.
core::Result<TableCheck> check_table(const std::string& table,
                                     const Frame& frame,
                                     const Rooflines& rooflines,
                                     const CheckLimits& limits);

// The accuracy of a table's interpolation. Every point that has neighbours is predicted without
// itself, along each size, and compared with the measured value. The bracket is then about twice as
// wide as a query's, so queries between points do better than this.

// One prediction; its sizes are those of the axis.
struct HeldOutPoint {
  std::size_t group = 0;  // of the index
  Position position = {};
  std::size_t axis = 0;  // of the index's size columns
  double low = 0;        // low and high: the neighbours that it was predicted from
  double size = 0;
  double high = 0;
  double error = 0;  // |predicted / measured - 1|
};

// Predicts the points that have neighbours along the axis and a positive latency.
std::vector<HeldOutPoint> held_out_points(const TableIndex& index, std::size_t axis);

// Errors are parts of the measured latency.
struct HeldOutErrors {
  std::string column;
  std::int64_t points = 0;
  double median = 0;
  double p95 = 0;
  double worst = 0;
  double share_beyond = 0;  // the share of points with an error beyond the limit
  std::string worst_at;
};

// A place where more points are needed: those between two values of a size.
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
  std::vector<Interval> intervals;  // those with points beyond the limit, most such points first
};

inline constexpr double kHeldOutLimit = 0.05;

HeldOut held_out_errors(const TableIndex& index, double limit);

}  // namespace assay::store
