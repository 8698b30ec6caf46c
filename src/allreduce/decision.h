// Chooses a strategy for each cell from its measurements and says why.
//
// Each row (one TP, type, fusion and hidden size, with ascending token counts) is decided as a
// whole. Of all ways to fill it, the one with the least sum of these costs is taken:
//   - how much each cell's choice loses against the fastest beyond noise (loss_beyond_noise),
//   - a tenth of what it loses up to the tie, in the mean of the cell and of messages of its bytes
//     halfway to the neighbouring rows' hidden sizes, for which the row answers, too,
//   - a tenth of the tie for every change of strategy,
//   - the tie for every change back to a lower StrategySpec::rank.
// One cell with a gain below the tie, or with overlapping intervals, is not worth a change, but
// many are. A row reads ONESHOT, then two-shot, then NCCL, unless the data contradict that
// order by more than they scatter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/timings.h"

namespace assay::allreduce {

inline constexpr double kDefaultTie = 0.02;

struct DecisionOptions {
  std::vector<Strategy> strategies;  // the strategies that may be chosen; AUTO never is
  double tie = kDefaultTie;          // one cell's smaller gain is not worth a change
  // The choice in a row without any data, and in a cell where all that was tried failed.
  Strategy fallback = Strategy::kNccl;
  // Every slice and row gets cells of these sizes, measured or not.
  std::vector<std::int64_t> hidden_sizes = {};
  std::vector<std::int64_t> num_tokens = {};
  Failures failures = {};
};

enum class Why : std::uint8_t {
  kFaster,        // it is faster than all others, beyond noise
  kTie,           // another is as fast; by this one the row loses less
  kKeepsOrder,    // it loses a little beyond noise, but less than a change costs
  kAgainstOrder,  // it is faster beyond noise, though its rank is below that of the neighbour's
  kOnly,          // no other strategy that may be chosen was timed
  kNoData,        // not timed: the choice of the row's nearest cell by bytes, or the fallback
  kFailed,        // all that was tried failed: the fallback
};

std::string_view name_of(Why why);     // a word for tables: "faster", "tie", …
std::string_view meaning_of(Why why);  // a sentence for people

struct Choice {
  Cell cell;
  Strategy strategy = Strategy::kNccl;
  Why why = Why::kNoData;
  std::vector<Timing> timings = {};  // times of strategies that may be chosen, fastest first
  // The same of messages of as many bytes halfway (by ratio) to each neighbouring hidden size,
  // interpolated.
  std::vector<std::vector<Timing>> beside = {};
  // These may be chosen and failed in this cell. Between a size at which a strategy failed and the
  // next one that it was tried at, it counts as failed, too.
  std::vector<Strategy> failed = {};

  [[nodiscard]] bool has_failed(Strategy of) const {
    return std::find(failed.begin(), failed.end(), of) != failed.end();
  }

  // Returns nullptr where there are no data.
  [[nodiscard]] const Timing* chosen() const { return find_timing(timings, strategy); }

  // Returns the fastest of the strategies that were not chosen.
  [[nodiscard]] const Timing* runner_up() const;
};

struct DecidedRow {
  std::int64_t hidden_size = 0;
  std::vector<Choice> choices;  // ascending by tokens
  // Cells halfway (by ratio) between neighbouring measured cells, with times interpolated from
  // them. They are decided along with the others, because a table by bytes holds there too: a
  // strategy that only ties in two neighbouring cells can be clearly the fastest between them.
  std::vector<Choice> between = {};

  [[nodiscard]] bool has_data() const;
};

struct DecidedSlice {
  int world_size = 0;
  Fusion fusion = Fusion::kNone;
  DataType data_type = DataType::kBfloat16;
  std::vector<DecidedRow> rows;  // ascending by hidden size
};

// Returns one slice for each TP, type and fusion that the timings have.
std::vector<DecidedSlice> decide(const Timings& timings, const DecisionOptions& options);

// Returns the same, with the times of messages between the rows from `beside`.
std::vector<DecidedSlice> decide(const Timings& timings,
                                 const Timings& beside,
                                 const DecisionOptions& options);

// Returns the choice for exactly this cell, or nullptr when the slices do not have it.
const Choice* find_choice(const std::vector<DecidedSlice>& slices, const Cell& cell);

// Chooses as the public tool would: in each cell the strategy with the smallest time, whatever its
// noise. Cells without data are left out.
std::vector<DecidedSlice> decide_by_smallest_time(const Timings& timings,
                                                  const std::vector<Strategy>& strategies);

// Returns all strategies except AUTO.
std::vector<Strategy> all_strategies();

// Returns the strategies that TensorRT-LLM's tables have held from the start: NCCL, ONESHOT,
// TWOSHOT.
std::vector<Strategy> public_strategies();

// Returns the names with the separator between them.
std::string names_of(const std::vector<Strategy>& strategies, std::string_view separator);

// The cheapest path through a row of cells: one state for each cell, with a price for changing it.
inline constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

struct RowPrices {
  std::int64_t change = 0;  // the price of any change of state
  std::int64_t back = 0;    // added when the new state's rank is lower
};

// Returns the state of each cell on the cheapest path, found exactly by dynamic programming.
// `costs[cell][state]` is the cost of a state in a cell, or kImpossible where it cannot be; every
// cell must have a possible state. Of equally cheap paths it takes the one that changes latest, and
// then the one that changes to the first state. Costs are whole numbers so that equality is exact.
std::vector<std::size_t> cheapest_path(const std::vector<std::vector<std::int64_t>>& costs,
                                       const std::vector<int>& ranks,
                                       const RowPrices& prices);

}  // namespace assay::allreduce
