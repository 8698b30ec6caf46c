// Measures cell after cell with one worker, and keeps what a hung or crashed worker costs to the
// strategy that it was at.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/bench/protocol.h"
#include "allreduce/bench/worker.h"
#include "core/result.h"

namespace assay::allreduce {

struct CellRunnerHooks {
  std::function<core::Result<Worker>()> start_worker;
  // Looked at now and then while a worker is waited for: what went wrong elsewhere, or nothing.
  std::function<std::optional<std::string>()> elsewhere = [] { return std::nullopt; };
  std::function<void(const std::string&)> on_notice;
};

class CellRunner {
 public:
  CellRunner(CellRunnerHooks hooks, std::chrono::milliseconds deadline);

  // Starts a worker if none runs and says what it said of itself. Errors: it cannot be started, it
  // cannot work here, it said nothing for minutes; interrupted.
  core::Result<WorkerHello> hello();

  // A measurement for each strategy of the request that is not dropped, in its order, with cell
  // and launch. Errors: no worker can be started any more; interrupted.
  core::Result<std::vector<Measurement>> measure(CellRequest request);

  // The number of results that are missing because their strategy hung in so many cells in a row
  // that it is left out from then on.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

  // Lets the worker end by itself.
  void finish();

 private:
  struct Attempt;

  core::Status ensure_worker();
  core::Result<Attempt> attempt(const CellRequest& request, std::vector<Measurement>& results);
  core::Result<Attempt> listen(const CellRequest& request, std::vector<Measurement>& results);
  void remember_hangs(const std::vector<Measurement>& results);
  [[nodiscard]] bool is_dropped(Strategy strategy) const;

  CellRunnerHooks hooks_;
  std::chrono::milliseconds deadline_;
  std::optional<Worker> worker_;
  WorkerHello hello_;
  std::map<Strategy, int> hangs_in_a_row_;
  std::int64_t left_out_ = 0;
};

}  // namespace assay::allreduce
