// Which calls of the C library are right, and which strategy carries one out. It knows no CUDA, so
// that it is tested without a GPU. assay_allreduce_supports and assay_allreduce_run both ask here.
#pragma once

#include <assay/allreduce.h>

#include <optional>
#include <string>
#include <vector>

#include "allreduce/strategy.h"
#include "allreduce/strategy_table.h"

namespace assay::allreduce {

// What a communicator can do.
class Abilities {
 public:
  virtual ~Abilities() = default;

  struct Problem {
    assay_allreduce_status status = ASSAY_ALLREDUCE_OK;
    std::string message = {};
  };

  // Returns why no call can be carried out; OK when some can.
  [[nodiscard]] virtual Problem problem() const = 0;

  // Returns why a strategy cannot carry out a call whose numbers and pointers are right; empty when
  // it can.
  [[nodiscard]] virtual std::string refusal(Strategy strategy,
                                            const assay_allreduce_call& call) const = 0;

  // Returns what the loaded table says; nothing without a table.
  [[nodiscard]] virtual std::optional<Strategy> table_choice(
      const assay_allreduce_call& call) const = 0;

  [[nodiscard]] virtual int world_size() const = 0;

  [[nodiscard]] virtual bool is_deterministic() const = 0;
};

struct Verdict {
  assay_allreduce_status status = ASSAY_ALLREDUCE_OK;
  std::string message = {};               // what is wrong, in one line; empty when OK
  std::optional<Strategy> strategy = {};  // never AUTO; nothing where there is no work
};

// Returns what is wrong with the numbers of a call; empty when nothing is.
std::string shape_problem(const assay_allreduce_call& call, int world_size);

// Returns what is wrong with the pointers of a call whose numbers are right.
std::string pointer_problem(const assay_allreduce_call& call);

// Returns the strategies that a call may use, the best first: the one that it names, or for AUTO
// the table's choice and what may stand in for it.
std::vector<Strategy> candidates(const assay_allreduce_call& call, const Abilities& abilities);

// Tells which strategy carries out a call, or why none can.
Verdict judge(const assay_allreduce_call& call, const Abilities& abilities);

// Tells how the choice for a call of GPUs of this SM is known. `chosen` is that of a verdict;
// `table` may be null.
assay_allreduce_explanation explanation_of(const assay_allreduce_call& call,
                                           const Verdict& chosen,
                                           int world_size,
                                           int sm_version,
                                           const StrategyTable* table);

}  // namespace assay::allreduce
