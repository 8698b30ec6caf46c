// The ways to choose a strategy that validation compares.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "allreduce/tuning.h"

namespace assay::allreduce {

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

}  // namespace assay::allreduce
