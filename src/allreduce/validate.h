// How good a table is on measurements that it was not made from, and whether two measurements of
// the same grid lead to the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/tuning.h"
#include "model/table.h"

namespace assay::allreduce {

// The ways to choose a strategy that validation compares.

// `arms` are the strategies that it chooses from: its regret is against the fastest of these only,
// because a table cannot choose what it does not know.
struct Contender {
  std::string name;
  std::string arms_name;  // "all" or "public"
  std::vector<Strategy> arms;
  std::function<Strategy(const Cell&)> choose;
};

// The table made here first, then the lookup table made here; the argmin of each cell as the
// public tool takes it, the SM90 tables that TensorRT-LLM ships, FlashInfer's rule and NCCL
// always. Lookup tables are looked up as TensorRT-LLM does, every axis floored. They refer to
// `tables`.
std::vector<Contender> contenders(const TunedTables& tables);

// FlashInfer's rule for one host: ONESHOT while what all GPUs send and receive,
// 2 * TP * message, is at most 512 MiB (TP 2), 64 MiB (4), 42 MiB (8); TWOSHOT after that.
Strategy flashinfer_rule(const Cell& cell);

// Regret of a cell: time of the choice over the least time measured there of all arms, less 1.
struct Regret {
  std::size_t cells = 0;         // with a measured choice
  std::size_t not_measured = 0;  // cells whose choice has no time there; in no figure
  double p50 = kUnknown;
  double p95 = kUnknown;
  double max = kUnknown;
  double geometric_mean = kUnknown;  // of choice over best, less 1
  Cell worst = {};                   // where max is
  Strategy worst_choice = Strategy::kNccl;
  Strategy worst_best = Strategy::kNccl;
};

// Over the cells of this TP and fusion; of all when left open.
struct RegretScope {
  std::optional<int> world_size = {};
  std::optional<Fusion> fusion = {};
};

Regret regret_of(const Contender& contender,
                 const Timings& held_out,
                 const RegretScope& scope = {});

// Two independent measurements of one grid, decided alike.
struct Stability {
  std::size_t cells = 0;  // measured in both
  std::size_t different = 0;
  // Of these, where the two choices' times, geometric means of both measurements, are further
  // apart than the tie: what changed is not one of two equally fast strategies for the other.
  std::size_t beyond_ties = 0;
};

Stability stability_of(const std::vector<DecidedSlice>& one,
                       const std::vector<DecidedSlice>& other,
                       double tie);

struct Validation {
  model::Book book;             // "regret", "worst", "regret_by_slice"
  double table_p95 = kUnknown;  // of the table made here
};

// Every contender on every cell of `held_out`.
Validation validate(const TunedTables& tables, const Timings& held_out);

// Our rule and the argmin of each cell, on both arm sets.
model::Table stability_table(const TunedTables& one, const TunedTables& other);

}  // namespace assay::allreduce
