// Measures one call after the other with a worker that has NCCL and our tuner plugin in it. When
// the worker hangs or ends, only the setting that it was at is recorded as failed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/bench/nccl_protocol.h"
#include "core/line_process.h"
#include "core/result.h"

namespace assay::allreduce {

struct NcclWorkerLaunch {
  std::filesystem::path program;
  std::filesystem::path plugin;
  std::vector<int> gpus;  // one for each rank
  std::filesystem::path log;
};

class NcclRunner {
 public:
  // `deadline` is for silence: the time after which a worker that says nothing hangs.
  NcclRunner(NcclWorkerLaunch launch, std::chrono::milliseconds deadline)
      : launch_(std::move(launch)), deadline_(deadline) {}

  // Starts a worker if none is running and returns its hello.
  core::Result<WorkerHello> hello();

  // Returns a measurement for each arm of the request, in its order, with the cell set. Errors: a
  // worker can no longer be started; interrupted.
  core::Result<std::vector<NcclMeasurement>> measure(const NcclRequest& request);

  // Asks the worker to end, and ends it by force if it takes too long.
  void finish();

 private:
  struct Failure {
    Outcome outcome = Outcome::kError;
    std::string reason;
  };

  struct Talk;

  core::Status ensure_worker();
  core::Result<NcclMessage> receive(std::chrono::milliseconds patience,
                                    std::optional<Failure>& failure);
  core::Result<std::optional<Failure>> attempt(const NcclRequest& request, Talk& talk);

  NcclWorkerLaunch launch_;
  std::chrono::milliseconds deadline_;
  std::optional<core::LineProcess> worker_;
  WorkerHello hello_;
};

}  // namespace assay::allreduce
