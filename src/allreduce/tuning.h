// A benchmark turned into tables: what `codegen`, `explain` and `validate` start from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allreduce/codegen/lookup_table.h"
#include "allreduce/decision.h"
#include "allreduce/strategy_table.h"
#include "model/table.h"

namespace assay::allreduce {

struct TuningOptions {
  Launch launch = Launch::kGraph;
  DataType data_type = DataType::kBfloat16;  // of the lookup table, which has no axis for it
  std::vector<Strategy> strategies = {};     // that may be chosen; empty: see TunedTables
  double tie = kDefaultTie;
  double noise = kDefaultNoise;
  Strategy fallback = Strategy::kNccl;
};

// Decided twice: the table from all strategies, or those named; the public lookup table from
// ONESHOT, TWOSHOT and NCCL, or the public ones of those named.
struct TunedTables {
  TuningOptions options;
  Timings timings;
  std::vector<Strategy> strategies = {};         // the table's
  std::vector<Strategy> public_strategies = {};  // the lookup table's
  std::vector<DecidedSlice> choices = {};
  std::vector<DecidedSlice> public_choices = {};  // have all cells of the public grid
  StrategyTable table = {};
  LookupTable lookup = {};
};

// Errors: nothing of this launch succeeded; no strategy that may be chosen was timed.
core::Result<TunedTables> tune(const Benchmark& benchmark,
                               const TuningOptions& options,
                               const std::string& provenance);

// The TP sizes of the public grid that the lookup table has no data for.
std::vector<int> missing_world_sizes(const LookupTable& table);

// From choices at measured sizes to a table for all sizes: where between two cells the better
// strategy changes.

// The first size in bytes that takes the larger cell's strategy: above the smaller cell, at most
// the larger one. Where the two strategies' times cross, drawn as straight lines over logarithms
// between the cells; at the nearer end when they do not cross between them. When the smaller cell's
// strategy was not timed in the larger one: behind `largest_bytes`, the largest message that it was
// timed with anywhere in the slice, since a strategy that cannot do a cell most often lacks room.
// When the larger cell's was not timed in the smaller one: at the geometric mean of the bytes.
std::int64_t border_bytes(const Choice& smaller, const Choice& larger, std::int64_t largest_bytes);

// A row for every decided row with data; slices without any are left out.
std::vector<TableSlice> table_slices(const std::vector<DecidedSlice>& slices);

// What `codegen` tells about the tables it made.

// "tables" (counts), "rows" (each row of the lookup table as digits, and of the strategy table as
// segments), and "against_order" where the data contradict the order of strategies.
model::Book tuning_summary(const TunedTables& tables);

// "ONESHOT, from 1.2 MiB NCCL".
std::string segments_text(const TableRow& row);

// "384 B", "64 KiB", "1.2 MiB": at most three digits, powers of 1024.
std::string bytes_text(std::int64_t bytes);

}  // namespace assay::allreduce
