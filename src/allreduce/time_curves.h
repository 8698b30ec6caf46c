// Times between the measured cells: of messages between two measured sizes of a row, and of hidden
// sizes between two measured rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "allreduce/timings.h"

namespace assay::allreduce {

struct CurvePoint {
  double bytes = 0;
  Timing timing;
  bool has_failed = false;  // it has no time then
};

// A strategy's times in one row, ascending by bytes.
using Curve = std::vector<CurvePoint>;

// Returns the time at a size, on a straight line between the neighbours; nothing beyond the ends of
// the curve, nor beside a size at which the strategy failed.
std::optional<Timing> time_at(const Curve& curve, double bytes);

// Returns whether the strategy failed at this size, or at the measured one below or above it.
bool has_failed_beside(const Curve& curve, double bytes);

// Returns the time at any size of a curve with at least one point and no failures: below its start
// the time of its first point, beyond its end along the line through its last two points.
Timing time_beyond(const Curve& curve, double bytes);

class TimeCurves {
 public:
  using Rows = std::map<std::int64_t, std::map<Strategy, Curve>>;  // by hidden size

  explicit TimeCurves(const Timings& timings, const Failures& failures = {});

  // Returns the rows of one TP, type and fusion, or nullptr when there are none.
  [[nodiscard]] const Rows* rows(int world_size, DataType data_type, Fusion fusion) const;

  // Returns a strategy's time for a cell that need not be measured. Between two rows it lies on a
  // straight line over the logarithm of the hidden size, at the same number of bytes; beside the
  // first or the last row, and where only one of two rows has a time at this size, it is that row's
  // time; it has none where it failed beside the cell in either row. Rows more than twice as wide
  // or as narrow as the cell do not count.
  [[nodiscard]] std::optional<Timing> at(const Cell& cell, Strategy strategy) const;

 private:
  std::map<std::tuple<int, DataType, Fusion>, Rows> slices_;
};

// The two rows that a hidden size lies between; both are the same for a measured one, and null
// where there is none that is less than twice as wide or as narrow.
struct Neighbours {
  const std::pair<const std::int64_t, std::map<Strategy, Curve>>* narrower = nullptr;
  const std::pair<const std::int64_t, std::map<Strategy, Curve>>* wider = nullptr;
};

Neighbours neighbours_of(const TimeCurves::Rows& rows, std::int64_t hidden_size);

// Returns where a hidden size lies between two, from 0 to 1, by its logarithm.
double part_between(std::int64_t hidden_size, std::int64_t narrower, std::int64_t wider);

}  // namespace assay::allreduce
