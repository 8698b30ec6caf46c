// Rows of performance tables as points: how much was moved or computed, and in which time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

struct Point {
  double amount = 0;  // bytes, or operations of floating point
  double seconds = 0;
  std::string what;                   // the columns that say what was measured, in words
  std::optional<double> spread = {};  // of its samples, p10 to p90, as a share of their median
};

// Rows whose latency is no number above 0, or whose columns are missing, give no point.
//
// memory_op_perf; "copy" reads and writes each byte, "read" reads it: others give no points.
std::vector<Point> memory_points(const Frame& rows, std::string_view op_name);
// gemm_perf, of one data type as the table spells it; two operations for each m, n and k.
std::vector<Point> gemm_points(const Frame& rows, std::string_view type);
// transfer_perf.
std::vector<Point> transfer_points(const Frame& rows, std::string_view op_name);
// nccl_perf, send_recv: what each GPU sends, which receives as much meanwhile. 0: of any number of
// GPUs.
std::vector<Point> send_points(const Frame& rows, std::int64_t num_gpus);

// In graphs or by the host: what transfer_perf says of its launches, "" if nothing.
std::string launch_mode(const Frame& rows);
// The largest of a column, where any row has it.
std::optional<double> largest(const Frame& rows, std::string_view column);

}  // namespace assay::store
