// Why a table says what it says for one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/tuning.h"
#include "model/table.h"

namespace assay::allreduce {

// Of NVLink 4, a direction of a GPU: what the links carry, and about what is left of it for data.
inline constexpr double kLinkBytesPerUs = 450e3;
inline constexpr double kUsableBytesPerUs = 370e3;

// What must leave every GPU at least, over a rate: one-shot sends the message to every other GPU,
// two-shot each part there and its sum back.
double oneshot_bound_us(int world_size, std::int64_t bytes, double bytes_per_us);
double twoshot_bound_us(int world_size, std::int64_t bytes, double bytes_per_us);

// A strategy's time at a size: measured there, or read off the straight line over logarithms
// between the next smaller and the next larger measured message of the row, or that of the nearest
// one beyond the row's ends.
enum class TimedHow : std::uint8_t { kMeasured, kInterpolated, kNearest };

struct ExplainedTime {
  Timing timing;
  TimedHow how = TimedHow::kMeasured;
  std::optional<Cell> smaller = {};  // the measured cells it is from
  std::optional<Cell> larger = {};
};

struct Explanation {
  Cell asked;
  std::int64_t size_bytes = 0;
  Strategy strategy = Strategy::kNccl;
  std::optional<TableSlice> slice =
      {};  // that was used; of another TP or type when the asked one has no data
  std::int64_t row_hidden_size = 0;
  std::int64_t from_bytes = 0;                // the choice holds from here
  std::optional<std::int64_t> to_bytes = {};  // to below here
  std::optional<Choice> at = {};              // of the row's measured cell that is nearest by bytes
  std::vector<ExplainedTime> times = {};      // fastest first; all that were timed, AUTO too
};

Explanation explain(const TunedTables& tables, const Cell& asked);

// "choice" (what and why), "strategies" (the times), "bounds".
model::Book explanation_book(const TunedTables& tables, const Explanation& explanation);

}  // namespace assay::allreduce
