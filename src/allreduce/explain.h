// Explains a table's choice for one message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/estimates.h"
#include "allreduce/tuning.h"
#include "model/table.h"

namespace assay::allreduce {

// The origin of a strategy's time at a size. It was measured there, or it is interpolated (on a
// straight line) between the next smaller and the next larger measured message of
// the row. Below the smallest one it is the time of that one. Beyond the largest one the line
// through the last two goes on, never below link_limit_us(), and nothing tells how sure that is. Or
// nothing of it was measured (estimates.h): it is of another number of GPUs. Or the strategy failed
// at this size, or at the measured one next to it, and has no time.
enum class TimedHow : std::uint8_t {
  kMeasured,
  kInterpolated,
  kNearest,
  kBeyond,
  kExtrapolated,
  kFailed
};

struct ExplainedTime {
  Timing timing;
  TimedHow how = TimedHow::kMeasured;
  std::optional<Cell> smaller = {};  // the measured cells that the time comes from
  std::optional<Cell> larger = {};
  std::optional<DataType> other_type = {};        // what was measured instead of the asked type
  std::optional<std::int64_t> other_hidden = {};  // and instead of the asked hidden size
  double limit_us = 0;               // the least that the links need for the bytes that it sends
  const Failure* failure = nullptr;  // in the tables, of the cell `smaller`
};

// Tells the times of messages. It keeps what messages of one row share, so that a million of them
// take a second; it is for one thread.
class MessageTimes {
 public:
  // The tables must outlive it.
  explicit MessageTimes(const TunedTables& tables) : tables_(&tables) {}

  // Returns the times of all strategies that were timed, AUTO too, fastest first and failed ones
  // last, for what the table's find() returned for `asked`.
  std::vector<ExplainedTime> of(const TableMatch& match, const Cell& asked);

 private:
  struct Point {
    Cell cell;
    Timing timing;
    const Failure* failure = nullptr;  // it has no time then
  };

  // A strategy's cells in one row that it was tried in, in ascending order.
  using Points = std::vector<Point>;

  static ExplainedTime on_line(const Point& smaller, const Point& larger, std::int64_t bytes);
  static ExplainedTime failed(const Point& point);
  static ExplainedTime nearest(const Point& point);
  static ExplainedTime beyond(const Points& points, std::int64_t bytes);
  static ExplainedTime at(const Points& points, std::int64_t bytes);
  const std::map<Strategy, Points>& row_of(const Timings& timings,
                                           const Failures& failures,
                                           Cell row);
  const Timings& extrapolated(int world_size);

  const TunedTables* tables_;
  std::map<int, Timings> extrapolated_;  // by the number of GPUs
  std::map<Cell, std::map<Strategy, Points>> rows_;
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
  std::vector<ExplainedTime> times = {};      // see MessageTimes
};

Explanation explain(const TunedTables& tables, const Cell& asked);

// The book has the tables "choice" (the strategy and the reason), "strategies" (the times) and
// "bounds".
model::Book explanation_book(const TunedTables& tables, const Explanation& explanation);

// Returns where a time is from: "measured", "between 8 and 16 tokens, bfloat16" where that stands
// in for another type. `measured_world_size` is the number of GPUs that extrapolated times are
// from.
std::string origin_text(const ExplainedTime& time, int measured_world_size);

// Returns a time as a cell, rounded to a picosecond so that the last bits of an interpolation do
// not show.
model::Cell time_cell(double time_us);

// Returns a link limit as a cell, which is empty where it is 0: not known.
model::Cell limit_cell(double limit_us);

}  // namespace assay::allreduce
