// What the runs behind a comparison of settings lack: failed runs, runs that were not made,
// settings that never reached the processes, and unlike numbers of ranks.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sweep/plan.h"
#include "sweep/run_record.h"

namespace assay::sweep {

struct RunDoubts {
  int planned = 0;  // runs of each setting; 0 where no sweep made them
  std::map<std::string, std::string> failed = {};  // by setting: "2 of 4 runs of b-x failed (…)"
  std::vector<std::string> without_good_run = {};  // settings of which runs were made, all in vain
  // By setting, why it was not applied: "NCCL_ALGO reached no process that loaded NCCL".
  std::map<std::string, std::string> missing = {};
  std::vector<std::string> others = {};  // further sentences, without a full stop
  // Settings of which `others` tell that they did other work than the reference, or that their
  // traces are of other ranks.
  std::set<std::string> other_work = {};
  std::set<std::string> other_ranks = {};

  // Returns all as sentences, the gravest first.
  [[nodiscard]] std::vector<std::string> sentences() const;
};

// `reference` is the setting that the others are compared with.
RunDoubts run_doubts(const Plan& plan,
                     std::span<const RunRecord> records,
                     const std::string& reference);

// Returns "NCCL_ALGO reached no process that loaded NCCL" and what else of a run's setting did
// nothing, "" where all was applied.
std::string idle_in_words(const Plan& plan, const Observation& seen);

// Returns "NCCL_ALGO reached no process that loaded NCCL in any run of ring-algo and tree-algo", ""
// where all settings were applied.
std::string not_applied_in_words(const RunDoubts& doubts);

}  // namespace assay::sweep
