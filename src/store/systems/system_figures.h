// Rows of performance tables as points (how much was moved or computed, and in which time), and
// what points say about a system: its best rate, and the time that even the smallest work takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

struct Point {
  double amount = 0;  // bytes, or floating-point operations
  double seconds = 0;
  std::string what;                   // what was measured, in words
  std::optional<double> spread = {};  // of its samples, p10 to p90, as a share of their median
};

// Rows whose latency is no number above 0, or whose columns are missing, give no point.
//
// Points of memory_op_perf: "copy" reads and writes each byte, "read" reads it; other operations
// give no points.
std::vector<Point> memory_points(const Frame& rows, std::string_view op_name);
// Points of gemm_perf, of one data type as the table spells it: two operations for each m, n and k.
std::vector<Point> gemm_points(const Frame& rows, std::string_view type);
// Points of transfer_perf.
std::vector<Point> transfer_points(const Frame& rows, std::string_view op_name);
// Points of send_recv in nccl_perf: the bytes that each GPU sends while it receives as many.
// `num_gpus` 0 stands for any number of GPUs.
std::vector<Point> send_points(const Frame& rows, std::int64_t num_gpus);

// Returns how transfer_perf launched kernels, in graphs or by the host; "" if it does not say.
std::string launch_mode(const Frame& rows);
// The largest value of a column; std::nullopt if no row has one.
std::optional<double> largest(const Frame& rows, std::string_view column);

struct Rate {
  double per_second = 0;
  Point best;             // the point that reached it
  std::size_t count = 0;  // of the points that were looked at
};

// The best rate of the points of at least this amount; std::nullopt if there are none.
std::optional<Rate> best_rate(std::span<const Point> points, double least_amount);

struct Latency {
  double seconds = 0;
  std::size_t count = 0;
  double deviation =
      0;  // the median distance of a point from the line, as a share of the intercept
};

// The intercept of the least-squares line of time over amount through the points of at most this
// amount. std::nullopt: there are fewer than three points, all have one amount, or the intercept is
// not above 0.
std::optional<Latency> constant_latency(std::span<const Point> points, double most_amount);

// The median of the points that move nothing.
std::optional<Latency> median_latency(std::span<const Point> points);

}  // namespace assay::store
