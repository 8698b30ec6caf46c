// Quality figures of a performance table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/answers/table_index.h"

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

// What bounds a row's time: null is unknown. `cached` is the same with the L2 cache's speed in
// place of memory's where all that the row moves fits there: the launch before may have left it in
// it.
struct Rooflines {
  KeyRoofline all;
  KeyRoofline cached;
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
  Found cached;                // faster too, but not counted there: their data fit in the L2 cache

  // Zero latencies where they are possible (compute_scale: a difference clamped at 0).
  bool zeros_allowed = false;

  [[nodiscard]] bool impossible() const {
    return faster.count > 0 || unused.count > 0 || (!zeros_allowed && not_positive.count > 0);
  }
};

// Null rooflines: `faster` stays at 0 of 0.
core::Result<TableCheck> check_table(const std::string& table,
                                     const Frame& frame,
                                     const Rooflines& rooflines,
                                     const CheckLimits& limits);

}  // namespace assay::store
