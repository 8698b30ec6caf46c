// Starts one `assay-worker allreduce` process, exchanges messages with it, and ends it together
// with everything that it started.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allreduce/bench/protocol.h"
#include "core/line_process.h"
#include "core/result.h"

namespace assay::allreduce {

// The rank of a worker when a launcher (mpirun, srun) started several.
struct WorkerRank {
  int rank = 0;
  std::filesystem::path rendezvous;  // the file where the workers of one communicator meet
};

struct WorkerLaunch {
  std::filesystem::path program;
  int world_size = 2;
  std::vector<int> gpus = {};        // empty for the first `world_size` GPUs
  std::filesystem::path table = {};  // the table for strategy AUTO; empty for none
  std::optional<WorkerRank> rank = {};
  std::filesystem::path log;  // the worker's standard error is appended to it
};

using NoMessage = core::NoLine;

class Worker {
 public:
  using Clock = core::LineProcess::Clock;

  // Fails when the program cannot be started at all.
  static core::Result<Worker> start(const WorkerLaunch& launch);

  // Fails when the worker no longer reads; receive() then returns the reason.
  core::Status send(const CellRequest& request);

  // Returns the next message. Waits until `until` or until a signal arrives, and then returns
  // kNotYet. After any other NoMessage the worker cannot be used any more.
  std::variant<WorkerMessage, NoMessage> receive(Clock::time_point until);

  // Asks the worker to end by closing its input, and ends it by force after `patience`.
  void end(std::chrono::milliseconds patience) { process_.end(patience); }

  // Returns the last words of the worker's log since its start, for messages, as "" or "; it said:
  // '...'".
  [[nodiscard]] std::string last_words() const { return process_.last_words(); }

 private:
  explicit Worker(core::LineProcess process) : process_(std::move(process)) {}

  core::LineProcess process_;
};

// Finds the worker beside the running program or in libexec/assay/ of an installation. Error: it is
// not there.
core::Result<std::filesystem::path> find_worker();

}  // namespace assay::allreduce
