// Quality figures of a performance table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/table_index.h"

namespace assay::store {

// How often something was found, out of how many; the worst one and where.
struct Found {
  std::int64_t count = 0;
  std::int64_t of = 0;
  double worst = 0;
  std::string where;
};

struct CheckLimits {
  double drop = 0.10;      // of the latency, from one value of a size to the next larger
  double spread = 0.10;    // between rows with the same key
  double roofline = 0.05;  // by which a row may be faster
};

struct TableCheck {
  std::string table;
  std::int64_t rows = 0;
  std::int64_t groups = 0;     // combinations of exact values
  Found holes;                 // missing points with both neighbours along a size, of all points
  Found unused;                // rows without a finite latency or size
  Found not_positive;          // latencies of 0 or less
  Found duplicates;            // rows whose key an earlier row has; worst: how far apart
  std::int64_t far_apart = 0;  // duplicates beyond limits.spread
  Found drops;                 // of all steps; worst: part of the latency
  Found faster;                // of rows with a known roofline; worst: part of the roofline

  // Zero latencies where they are possible (compute_scale: a difference clamped at 0).
  bool zeros_allowed = false;

  [[nodiscard]] bool impossible() const {
    return faster.count > 0 || unused.count > 0 || (!zeros_allowed && not_positive.count > 0);
  }
};

// Null roofline: `faster` stays at 0 of 0.
core::Result<TableCheck> check_table(const std::string& table,
                                     const Frame& frame,
                                     const KeyRoofline& roofline,
                                     const CheckLimits& limits);

// Of points that were measured again.
struct Rerun {
  std::string table;
  double first = 0;  // latencies
  double second = 0;
  std::string where;
};

struct RerunResult {
  std::string table;
  std::int64_t pairs = 0;
  double median = 0;  // of |second / first - 1|
  double p95 = 0;
  Found beyond;
};

// By table, in the order of their names. A pair whose first latency is not positive counts as
// beyond the limit.
std::vector<RerunResult> compare_reruns(const std::vector<Rerun>& reruns, double limit);

}  // namespace assay::store
