#include "store/systems/system_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/statistics.h"
#include "model/data_type.h"

namespace assay::store {
namespace {

constexpr double kMillisecondsInSecond = 1e3;

// Gives the values of a row by the names of its columns.
class Row {
 public:
  Row(const Frame& frame, std::size_t index) : frame_(frame), index_(index) {}

  // NaN if the value is missing or a text.
  [[nodiscard]] double number(std::string_view name) const {
    const std::optional<model::PerfValue> value = find(name);
    if (!value) return std::nan("");
    if (const auto* whole = std::get_if<std::int64_t>(&*value)) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(&*value);
    return real == nullptr ? std::nan("") : *real;
  }

  [[nodiscard]] std::string text(std::string_view name) const {
    const std::optional<model::PerfValue> value = find(name);
    const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
    return text == nullptr ? "" : *text;
  }

 private:
  [[nodiscard]] std::optional<model::PerfValue> find(std::string_view name) const {
    const FrameColumn* column = frame_.find(name);
    if (column == nullptr || column->is_missing(index_)) return std::nullopt;
    return column->value(index_);
  }

  const Frame& frame_;
  std::size_t index_;
};

std::optional<double> spread_of(const Row& row) {
  const double spread = (row.number("p90_ms") - row.number("p10_ms")) / row.number("median_ms");
  if (!std::isfinite(spread)) return std::nullopt;
  return spread;
}

// Makes points of the rows of an op_name; `describe` gives the amount of a row and its words.
template <class Describe>
std::vector<Point> points_of(const Frame& frame, std::string_view op_name, Describe describe) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < frame.num_rows(); ++i) {
    const Row row(frame, i);
    if (row.text("op_name") != op_name) continue;
    Point point = describe(row);
    point.seconds = row.number("latency") / kMillisecondsInSecond;
    point.spread = spread_of(row);
    if (std::isfinite(point.amount) && point.amount >= 0 && std::isfinite(point.seconds) &&
        point.seconds > 0) {
      points.push_back(std::move(point));
    }
  }
  return points;
}

// NaN for an unknown type, so that such a row gives no point.
double element_bytes(const std::string& type) {
  const std::optional<model::DataType> known = model::data_type_named(type);
  return known ? static_cast<double>(model::bytes_of(*known)) : std::nan("");
}

constexpr std::size_t kFewestPoints = 3;  // any two points lie on a line

struct Line {
  double intercept = 0;
  double slope = 0;
};

// std::nullopt where all x are equal.
std::optional<Line> fitted_line(std::span<const double> x, std::span<const double> y) {
  const double mean_x = core::mean(x);
  const double mean_y = core::mean(y);
  double variance = 0;
  double covariance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    variance += (x[i] - mean_x) * (x[i] - mean_x);
    covariance += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (variance <= 0) return std::nullopt;
  const double slope = covariance / variance;
  return Line{.intercept = mean_y - slope * mean_x, .slope = slope};
}

}  // namespace

std::vector<Point> memory_points(const Frame& rows, std::string_view op_name) {
  const double passes = op_name == "copy" ? 2 : op_name == "read" ? 1 : 0;
  if (passes == 0) return {};
  return points_of(rows, op_name, [&](const Row& row) {
    const std::string type = row.text("dtype");
    const double height = row.number("rows");
    const double width = row.number("columns");
    return Point{.amount = passes * height * width * element_bytes(type),
                 .what = fmt::format("{} {} x {} {}", op_name, height, width, type)};
  });
}

std::vector<Point> gemm_points(const Frame& rows, std::string_view type) {
  return points_of(rows, "gemm", [&](const Row& row) {
    const double m = row.number("m");
    const double n = row.number("n");
    const double k = row.number("k");
    const double known = row.text("gemm_dtype") == type ? 1 : std::nan("");
    return Point{.amount = known * 2 * m * n * k,
                 .what = fmt::format("gemm {} m {} n {} k {}", type, m, n, k)};
  });
}

std::vector<Point> transfer_points(const Frame& rows, std::string_view op_name) {
  return points_of(rows, op_name, [&](const Row& row) {
    const double bytes = row.number("bytes");
    return Point{.amount = bytes, .what = fmt::format("{} of {} bytes", op_name, bytes)};
  });
}

std::vector<Point> send_points(const Frame& rows, std::int64_t num_gpus) {
  return points_of(rows, "send_recv", [&](const Row& row) {
    const double gpus = row.number("num_gpus");
    const bool wanted = num_gpus == 0 || gpus == static_cast<double>(num_gpus);
    const double bytes = row.number("message_size") * element_bytes(row.text("nccl_dtype"));
    return Point{.amount = wanted ? bytes : std::nan(""),
                 .what = fmt::format("send_recv of {} bytes, {} GPUs", bytes, gpus)};
  });
}

std::string launch_mode(const Frame& rows) {
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    const Row row(rows, i);
    if (row.text("op_name") == "launch") return row.text("launch");
  }
  return "";
}

std::optional<double> largest(const Frame& rows, std::string_view column) {
  std::optional<double> most;
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    const double value = Row(rows, i).number(column);
    if (std::isfinite(value) && (!most || value > *most)) most = value;
  }
  return most;
}

std::optional<Rate> best_rate(std::span<const Point> points, double least_amount) {
  std::optional<Rate> best;
  std::size_t count = 0;
  for (const Point& point : points) {
    if (point.amount < least_amount || point.amount <= 0) continue;
    ++count;
    const double rate = point.amount / point.seconds;
    if (!best || rate > best->per_second) best = Rate{.per_second = rate, .best = point};
  }
  if (best) best->count = count;
  return best;
}

std::optional<Latency> constant_latency(std::span<const Point> points, double most_amount) {
  std::vector<double> amounts;
  std::vector<double> seconds;
  for (const Point& point : points) {
    if (point.amount > most_amount) continue;
    amounts.push_back(point.amount);
    seconds.push_back(point.seconds);
  }
  if (amounts.size() < kFewestPoints) return std::nullopt;
  const std::optional<Line> line = fitted_line(amounts, seconds);
  if (!line || line->intercept <= 0) return std::nullopt;
  std::vector<double> deviations;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const double expected = line->intercept + line->slope * amounts[i];
    deviations.push_back(std::fabs(seconds[i] - expected) / line->intercept);
  }
  return Latency{
      .seconds = line->intercept, .count = amounts.size(), .deviation = core::median(deviations)};
}

std::optional<Latency> median_latency(std::span<const Point> points) {
  std::vector<double> seconds;
  for (const Point& point : points) {
    if (point.amount == 0) seconds.push_back(point.seconds);
  }
  if (seconds.empty()) return std::nullopt;
  const double median = core::median(seconds);
  std::vector<double> deviations;
  for (const double time : seconds)
    deviations.push_back(std::fabs(time - median) / median);
  return Latency{.seconds = median, .count = seconds.size(), .deviation = core::median(deviations)};
}

}  // namespace assay::store
