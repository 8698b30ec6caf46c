// Tests how good a table is on measurements that it was not made from, and whether two measurements
// of the same grid lead to the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/tuning.h"
#include "core/result.h"
#include "model/table.h"

namespace assay::allreduce {

// One of the ways to choose a strategy that validation compares. `arms` are the strategies that it
// chooses from. Its regret is relative to the fastest of these only, because a table cannot choose
// a strategy that it does not know.
struct Contender {
  std::string name;
  std::string arms_name;  // "all" or "public"
  std::vector<Strategy> arms;
  std::function<Strategy(const Cell&)> choose;
};

// Returns first those that choose from all arms: the strategy table, the argmin of each cell as the
// public tool takes it, and NCCL always. Those on the public arms follow: the lookup table, the
// argmin, the SM90 tables that TensorRT-LLM ships, FlashInfer's rule, and NCCL always. Lookup
// tables are read as TensorRT-LLM does, with every axis floored. The contenders refer to `tables`,
// which must outlive them.
std::vector<Contender> contenders(const TunedTables& tables);

// FlashInfer's rule for one host: ONESHOT while the bytes that all GPUs send and receive,
// 2 * TP * message, are at most 512 MiB (TP 2), 64 MiB (4) or 42 MiB (8), and TWOSHOT above that.
Strategy flashinfer_rule(const Cell& cell);

// The regret of a cell is the time of the choice divided by the least time of any arm measured
// there, minus 1.
struct Regret {
  std::size_t cells = 0;         // cells whose choice was measured
  std::size_t not_measured = 0;  // cells whose choice was not measured; they are in no figure
  double p50 = kUnknown;
  double p95 = kUnknown;
  double max = kUnknown;
  double geometric_mean = kUnknown;  // of choice / best, minus 1
  Cell worst = {};                   // the cell that has the maximum
  Strategy worst_choice = Strategy::kNccl;
  Strategy worst_best = Strategy::kNccl;
};

// Limits the regret to the cells of one TP or fusion; std::nullopt stands for all.
struct RegretScope {
  std::optional<int> world_size = {};
  std::optional<Fusion> fusion = {};
};

Regret regret_of(const Contender& contender,
                 const Timings& held_out,
                 const RegretScope& scope = {});

// A comparison of the choices from two independent measurements of one grid, made by the same rule.
struct Stability {
  std::size_t cells = 0;  // cells measured in both
  std::size_t different = 0;
  // Cells with different choices whose times, as geometric means over both measurements, differ by
  // more than the tie: the change there is not between two equally fast strategies.
  std::size_t beyond_ties = 0;
};

Stability stability_of(const std::vector<DecidedSlice>& one,
                       const std::vector<DecidedSlice>& other,
                       double tie);

struct Validation {
  model::Book book;             // "regret", "worst", "regret_by_slice"
  double table_p95 = kUnknown;  // the 95th percentile of the regret of the strategy table
};

// Evaluates every contender on every cell of `held_out`.
Validation validate(const TunedTables& tables, const Timings& held_out);

// Compares the stability of our rule with that of each cell's argmin, on both sets of arms. Fails
// when no cell was measured in both.
core::Result<model::Table> stability_table(const TunedTables& one, const TunedTables& other);

}  // namespace assay::allreduce
