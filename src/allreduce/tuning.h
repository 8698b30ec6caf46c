// Turns a benchmark into the tables that `codegen`, `explain` and `validate` start from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allreduce/bucket_times.h"
#include "allreduce/codegen/lookup_table.h"
#include "allreduce/decision.h"
#include "allreduce/strategy_table.h"
#include "model/table.h"

namespace assay::allreduce {

// The limits between which measurements count, as in the public generator: there tokens from
// oneshot_num_tokens_threshold to 2^15 and hidden sizes from oneshot_hidden_size_threshold to 2^14.
struct Thresholds {
  std::int64_t min_tokens = 1;
  std::int64_t max_tokens = 32768;
  std::int64_t min_hidden = 128;
  std::int64_t max_hidden = 16384;

  [[nodiscard]] bool keep(const Cell& cell) const {
    return cell.num_tokens >= min_tokens && cell.num_tokens <= max_tokens &&
           cell.hidden_size >= min_hidden && cell.hidden_size <= max_hidden;
  }
};

struct TuningOptions {
  Launch launch = Launch::kGraph;
  DataType data_type = DataType::kBfloat16;  // type of the lookup table, which has no axis for it
  std::vector<Strategy> strategies = {};     // those that may be chosen; if empty, see TunedTables
  double tie = kDefaultTie;
  double noise = kDefaultNoise;
  Strategy fallback = Strategy::kNccl;
  // For the lookup table: what is chosen from without `strategies`, and what fills the rest.
  std::vector<Strategy> lookup_strategies = public_strategies();
  Strategy lookup_fallback = Strategy::kNccl;
  Thresholds thresholds = {};
  ServedShapes served = {};
};

// Choices are made twice. The strategy table chooses from all strategies, or from those in the
// options, for each message size; the public lookup table chooses from the public ones of these, or
// from `lookup_strategies`, for each bucket (bucket_times.h).
struct TunedTables {
  TuningOptions options;
  Timings timings;
  Timings decided_on = {};  // these, and what with_gaps_filled() adds
  Failures failures = {};
  Failures estimated_failures = {};              // of numbers of GPUs besides the measured ones
  std::vector<Strategy> strategies = {};         // those that the strategy table chooses from
  std::vector<Strategy> public_strategies = {};  // those that the lookup table chooses from
  std::vector<DecidedSlice> choices = {};
  std::vector<DecidedSlice> public_choices = {};  // includes all cells of the public grid
  // They are of the numbers of GPUs that the table has besides the measured ones (estimates.h).
  std::vector<DecidedSlice> estimated_choices = {};
  std::size_t outside_thresholds = 0;  // measurements that were left out
  StrategyTable table = {};
  LookupTable lookup = {};
};

// Fails when no measurement of this launch succeeded, or when no strategy that may be chosen was
// timed.
core::Result<TunedTables> tune(const Benchmark& benchmark,
                               const TuningOptions& options,
                               const std::string& provenance);

// Returns the TP sizes of the public grid that the lookup table has no data for.
std::vector<int> missing_world_sizes(const LookupTable& table);

// Returns the first size in bytes that takes the larger cell's strategy. It is above the smaller
// cell's size and at most the larger one's.
//   - A strategy that failed in either cell ends just above, or begins at, the other one.
//   - In general it is where the two strategies' times cross, drawn as straight lines over the
//     bytes, or the nearer end when they do not cross between the cells.
//   - When the smaller cell's strategy was not timed in the larger cell, it is just above
//     `largest_bytes`, the largest message that this strategy was timed with anywhere in the slice,
//     because a strategy that cannot do a cell usually lacks memory.
//   - When the larger cell's strategy was not timed in the smaller cell, it is the geometric mean
//     of the two sizes.
std::int64_t border_bytes(const Choice& smaller, const Choice& larger, std::int64_t largest_bytes);

// Returns one table row for every decided row with data; slices without data are left out.
std::vector<TableSlice> table_slices(const std::vector<DecidedSlice>& slices);

// Adds slices of numbers of GPUs that were not measured: see estimates.h.
void add_estimates(TunedTables& tables);

// Returns the summary that `codegen` prints: the tables "tables" (counts), "rows" (each row of the
// lookup table as digits and of the strategy table as segments), and "against_order" where the data
// contradict the order of strategies.
model::Book tuning_summary(const TunedTables& tables);

// Formats a row: "ONESHOT, from 1.2 MiB NCCL".
std::string segments_text(const TableRow& row);

// Formats a size with at most three digits and powers of 1024: "384 B", "64 KiB", "1.2 MiB".
std::string bytes_text(std::int64_t bytes);

}  // namespace assay::allreduce
