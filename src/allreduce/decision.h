// From measurements to choices: which strategy for which cell, and why.
//
// Each row (one TP, type, fusion and hidden size, token counts ascending) is decided as a whole:
// of all ways to fill it the one with the least sum of
//   - what each cell's choice loses against the fastest beyond noise (loss_beyond_noise),
//   - a tenth of the tie for every change of strategy,
//   - the tie for every change back to a lower StrategySpec::rank.
// A gain below the tie, or one with overlapping intervals, is none: such cells keep the strategy of
// the neighbour with the smaller message. So a row reads ONESHOT, then two-shot, then NCCL, unless
// the data contradict that order by more than they scatter.
#pragma once

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
  std::vector<Strategy> strategies;     // that may be chosen; AUTO never is
  double tie = kDefaultTie;             // a gain below this part of the time is none
  Strategy fallback = Strategy::kNccl;  // for a row without any data
  // Cells that every row and slice has, measured or not.
  std::vector<std::int64_t> hidden_sizes = {};
  std::vector<std::int64_t> num_tokens = {};
};

enum class Why : std::uint8_t {
  kFaster,        // than all others, beyond noise
  kTie,           // another is as fast; the neighbour's, or the first of the row
  kKeepsOrder,    // loses a little beyond noise, less than a change costs
  kAgainstOrder,  // faster beyond noise, though of lower rank than the neighbour's
  kOnly,          // nothing else was timed
  kNoData,        // the choice of the row's nearest cell by bytes, or the fallback
};

// "faster", "tie", …: for tables; and a sentence for people.
std::string_view name_of(Why why);
std::string_view meaning_of(Why why);

struct Choice {
  Cell cell;
  Strategy strategy = Strategy::kNccl;
  Why why = Why::kNoData;
  std::vector<Timing> timings = {};  // of those that may be chosen, fastest first

  // Nothing where there are no data.
  [[nodiscard]] const Timing* chosen() const { return find_timing(timings, strategy); }

  // The fastest of the others.
  [[nodiscard]] const Timing* runner_up() const;
};

struct DecidedRow {
  std::int64_t hidden_size = 0;
  std::vector<Choice> choices;  // ascending by tokens
  // Halfway (by ratio) between neighbouring measured cells, with times interpolated from them.
  // Decided with the others, because a table by bytes holds there too: a strategy that only ties
  // in two neighbouring cells can be clearly the fastest between them.
  std::vector<Choice> between = {};

  [[nodiscard]] bool has_data() const;
};

struct DecidedSlice {
  int world_size = 0;
  Fusion fusion = Fusion::kNone;
  DataType data_type = DataType::kBfloat16;
  std::vector<DecidedRow> rows;  // ascending by hidden size
};

// A slice for each TP, type and fusion that the timings have.
std::vector<DecidedSlice> decide(const Timings& timings, const DecisionOptions& options);

// The choice for exactly this cell; nothing when the slices do not have it.
const Choice* find_choice(const std::vector<DecidedSlice>& slices, const Cell& cell);

// What the public tool would choose: in each cell the smallest time, whatever its noise. Cells
// without data are left out.
std::vector<DecidedSlice> decide_by_smallest_time(const Timings& timings,
                                                  const std::vector<Strategy>& strategies);

// All strategies but AUTO; those that TensorRT-LLM's tables have held from the start (NCCL,
// ONESHOT, TWOSHOT).
std::vector<Strategy> all_strategies();
std::vector<Strategy> public_strategies();

// The names with the separator between them.
std::string names_of(const std::vector<Strategy>& strategies, std::string_view separator);

// The choices of one row: the rule that decision.h states.

// `row.choices` have their cells and the timings of what may be chosen; the rest is filled in.
void decide_row(DecidedRow& row, const DecisionOptions& options);

// The cheapest way through a row of cells: one state a cell, with a price for changing it.

inline constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

struct RowPrices {
  std::int64_t change = 0;  // for any change of state
  std::int64_t back = 0;    // besides, when the new state's rank is lower
};

// `costs[cell][state]` is what a state costs in a cell, kImpossible where it cannot be; every cell
// must have a possible state. Exact, by dynamic programming. Of equally cheap ways the one that
// changes latest, then to the state that comes first: whole numbers, so that "equally" is exact.
std::vector<std::size_t> cheapest_path(const std::vector<std::vector<std::int64_t>>& costs,
                                       const std::vector<int>& ranks,
                                       const RowPrices& prices);

}  // namespace assay::allreduce
