// A benchmark turned into tables: what `codegen`, `explain` and `validate` start from.
#pragma once

#include <string>
#include <vector>

#include "allreduce/codegen/lookup_table.h"
#include "allreduce/decision.h"
#include "allreduce/strategy_table.h"

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

}  // namespace assay::allreduce
