// A place for a worker: on a GPU, on all of them, or on the CPU. It holds one worker process after
// the other, and tells what becomes of the case that it was given. Nothing here waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collect/plan/plan.h"
#include "collect/worker/protocol.h"
#include "core/line_process.h"
#include "core/result.h"
#include "store/database/store.h"

namespace assay::collect {

struct WorkerPlace {
  std::string name;                    // "GPU 3", for messages
  std::string device_id;               // "3", "0,1,2,3", "cpu"
  std::vector<std::string> arguments;  // the program first
  std::filesystem::path log;           // its standard error is appended
};

struct Deadlines {
  std::chrono::milliseconds of_case{60'000};
  // CUDA contexts on 8 GPUs and NCCL's start take up to half a minute on a cold machine.
  std::chrono::milliseconds of_start{120'000};
};

// What became of a case.
struct FinishedCase {
  const PlannedCase* planned = nullptr;
  store::CaseOutcome outcome = store::CaseOutcome::kMeasured;
  std::string reason = {};       // of a skip; the message of a failure
  std::string error_class = {};  // of a failure
  std::string traceback = {};
  std::string doing = {};  // the last that the worker said of it
  std::string device_id = {};
  std::vector<model::PerfMeasurement> rows = {};  // of a measured one
  double wall_ms = 0;  // since the worker was ready, or was done with the case before
  std::optional<double> kernels_ms = {};  // of it, as the worker said
};

struct WorkerReady {
  DeviceFacts device;
};

struct WorkerNotStarted {
  std::string reason;
};

// The worker died before it began with the case, which may be none of the case's fault.
struct CaseUntouched {
  FinishedCase as_failure;
};

using SlotEvent = std::variant<WorkerReady, WorkerNotStarted, FinishedCase, CaseUntouched>;

class WorkerSlot {
 public:
  using Clock = core::LineProcess::Clock;
  enum class State { kOff, kStarting, kIdle, kBusy, kEnding };

  WorkerSlot(WorkerPlace place, Deadlines deadlines)
      : place_(std::move(place)), deadlines_(deadlines) {}

  [[nodiscard]] const WorkerPlace& place() const { return place_; }

  [[nodiscard]] State state() const { return state_; }

  // From kOff to kStarting.
  core::Status start();

  // From kIdle to kBusy.
  void give(const PlannedCase& planned, const CaseRequest& request);

  // What happened since, one event a call; nothing when that is all.
  std::optional<SlotEvent> next_event();

  // Begins to end the worker: kEnding, later kOff.
  void kill();

  // Asks it to end by itself, which it may do for `patience` at most.
  void close_input();
  void end(std::chrono::milliseconds patience);

  // To poll for events; -1: look again soon.
  [[nodiscard]] int watched() const { return process_ ? process_->watched() : -1; }

  [[nodiscard]] bool has_news() const { return process_ && process_->has_line(); }

  // When next_event() must be called at the latest.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;

 private:
  std::optional<SlotEvent> take_line(const std::string& line);
  std::optional<SlotEvent> take(const WorkerMessage& message);
  std::optional<SlotEvent> take_first(const WorkerMessage& message);
  std::optional<SlotEvent> take_of_case(const WorkerMessage& message);
  std::optional<SlotEvent> take_end(const core::NoLine& none);
  std::optional<SlotEvent> check_deadline();
  std::optional<SlotEvent> lost_its_way(const WorkerMessage& message);

  SlotEvent not_started(std::string reason);
  SlotEvent finished(store::CaseOutcome outcome);
  SlotEvent failed(std::string error_class, std::string message);

  WorkerPlace place_;
  Deadlines deadlines_;
  State state_ = State::kOff;
  std::optional<core::LineProcess> process_ = {};
  Clock::time_point until_ = {};  // of what it is at
  Clock::time_point free_since_ = {};
  std::int64_t id_ = 0;
  FinishedCase current_ = {};
};

}  // namespace assay::collect
