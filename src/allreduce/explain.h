// Explains a table's choice for one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/estimates.h"
#include "allreduce/tuning.h"
#include "model/table.h"

namespace assay::allreduce {

// The shortest time in microseconds that a strategy can take: the bytes that must leave every GPU,
// divided by the rate. One-shot sends the message to every other GPU; two-shot sends each part to
// the GPU that sums it, which sends the sum back.
double oneshot_bound_us(int world_size, std::int64_t bytes, double bytes_per_us);
double twoshot_bound_us(int world_size, std::int64_t bytes, double bytes_per_us);

// The origin of a strategy's time at a size. It was measured there, or it is interpolated (on a
// straight line over logarithms) between the next smaller and the next larger measured message of
// the row, or, beyond the row's ends, it is the time of the nearest measured message. Or nothing of
// it was measured (estimates.h): it is a row between two measured ones, or another number of GPUs.
enum class TimedHow : std::uint8_t {
  kMeasured,
  kInterpolated,
  kNearest,
  kBetweenRows,
  kExtrapolated
};

struct ExplainedTime {
  Timing timing;
  TimedHow how = TimedHow::kMeasured;
  std::optional<Cell> smaller = {};  // the measured cells that the time comes from
  std::optional<Cell> larger = {};
  double limit_us = 0;  // the least that the links need for the bytes that it sends
};

struct Explanation {
  Cell asked;
  std::int64_t size_bytes = 0;
  Strategy strategy = Strategy::kNccl;
  // The measured number of GPUs that all times and the choice are extrapolated from; 0 when the
  // asked one was measured. Extrapolated times have no interval.
  int extrapolated_from = 0;
  // The slice used, which is of another TP or type when the asked one has no data.
  std::optional<TableSlice> slice = {};
  std::int64_t row_hidden_size = 0;
  std::int64_t from_bytes = 0;                // the smallest message that the choice holds for
  std::optional<std::int64_t> to_bytes = {};  // where the next choice begins, if there is one
  std::optional<Choice> at = {};              // made in the row's nearest measured cell by bytes
  std::vector<ExplainedTime> times = {};      // of all that were timed, AUTO too, fastest first
};

Explanation explain(const TunedTables& tables, const Cell& asked);

// The book has the tables "choice" (the strategy and the reason), "strategies" (the times) and
// "bounds".
model::Book explanation_book(const TunedTables& tables, const Explanation& explanation);

}  // namespace assay::allreduce
