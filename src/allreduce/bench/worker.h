// One `assay-worker allreduce` process: it is started, asked and answered to, and ended with all
// that it started.
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

// Where the launcher (mpirun, srun) put us, for a worker that is one of several.
struct WorkerRank {
  int rank = 0;
  std::filesystem::path rendezvous;  // where the workers of one communicator meet
};

struct WorkerLaunch {
  std::filesystem::path program;
  int world_size = 2;
  std::vector<int> gpus = {};        // empty: the first ones
  std::filesystem::path table = {};  // for strategy AUTO; empty: none
  std::optional<WorkerRank> rank = {};
  std::filesystem::path log;  // its standard error is appended
};

using NoMessage = core::NoLine;

class Worker {
 public:
  using Clock = core::LineProcess::Clock;

  // Fails when the program cannot be started at all.
  static core::Result<Worker> start(const WorkerLaunch& launch);

  // Fails when nobody reads any more; receive() then tells why.
  core::Status send(const CellRequest& request);

  // The next message, waiting for it until `until` and at most until a signal arrives: kNotYet
  // then. After any NoMessage but kNotYet the worker is of no use any more.
  std::variant<WorkerMessage, NoMessage> receive(Clock::time_point until);

  // Asks it to end, by the end of its input, and sees to it after `patience`.
  void end(std::chrono::milliseconds patience) { process_.end(patience); }

  // The last words of its log since it was started, for messages: "" or "; it said: '...'".
  [[nodiscard]] std::string last_words() const { return process_.last_words(); }

 private:
  explicit Worker(core::LineProcess process) : process_(std::move(process)) {}

  core::LineProcess process_;
};

// Beside the running program, or in libexec/assay/ of an installation. Error: it is not there.
core::Result<std::filesystem::path> find_worker();

}  // namespace assay::allreduce
