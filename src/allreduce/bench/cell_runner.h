// Measures cell after cell with one worker. When the worker hangs or crashes, only the strategy
// that it was running is recorded as failed.
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
  // Called now and then while waiting for a worker. Returns a problem elsewhere, such as the
  // failure of another rank, or std::nullopt.
  std::function<std::optional<std::string>()> elsewhere = [] { return std::nullopt; };
  std::function<void(const std::string&)> on_notice;
};

class CellRunner {
 public:
  CellRunner(CellRunnerHooks hooks, std::chrono::milliseconds deadline);

  // Starts a worker if none is running and returns its hello. Errors: it cannot be started, it
  // cannot work here, it does not say hello in time; interrupted.
  core::Result<WorkerHello> hello();

  // Returns a measurement for each strategy of the request that is not dropped, in the order of the
  // request, with cell and launch set. Errors: a worker can no longer be started; interrupted.
  core::Result<std::vector<Measurement>> measure(CellRequest request);

  // The number of measurements that were skipped because their strategy had hung in so many cells
  // in a row that it was dropped.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

  // Asks the worker to end, and ends it by force if it takes too long.
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
