// A place for a worker: a GPU, all GPUs, or the CPU. It holds one worker process after the other,
// and reports what happens to the case that the worker got. No function here waits.
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
  std::filesystem::path log;           // the standard error of the worker is appended
  core::EnvironmentChanges environment = {};
};

struct Deadlines {
  std::chrono::milliseconds of_case{60'000};
  // CUDA contexts on 8 GPUs and NCCL's start take up to 30 s after a reboot.
  std::chrono::milliseconds of_start{120'000};
};

// The outcome of a case.
struct FinishedCase {
  const PlannedCase* planned = nullptr;
  store::CaseOutcome outcome = store::CaseOutcome::kMeasured;
  std::string reason = {};       // why it was skipped, or the message of the failure
  std::string error_class = {};  // of the failure
  std::string traceback = {};
  std::string doing = {};  // the last stage that the worker named
  std::string device_id = {};
  std::vector<model::PerfMeasurement> rows = {};  // if it was measured
  double wall_ms = 0;                   // since the worker was ready or finished its previous case
  std::optional<CaseTimes> times = {};  // as the worker reports them
};

struct WorkerReady {
  DeviceFacts device;
};

struct WorkerNotStarted {
  std::string reason;
};

// The worker ended before it began with the case, so that the case need not be the cause.
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

  // Goes from kOff to kStarting.
  core::Status start();

  // Goes from kIdle to kBusy.
  void give(const PlannedCase& planned, const CaseRequest& request);

  // Returns the next event since the last call, or std::nullopt if there is none.
  std::optional<SlotEvent> next_event();

  // Begins to end the worker: the state is kEnding, and later kOff.
  void kill();

  // Asks the worker to end by itself. end() kills it after `patience`.
  void close_input();
  void end(std::chrono::milliseconds patience);

  // The file descriptor to poll for events. -1 if there is none, so that the caller must look again
  // soon.
  [[nodiscard]] int watched() const { return process_ ? process_->watched() : -1; }

  [[nodiscard]] bool has_news() const { return process_ && process_->has_line(); }

  // The time at which next_event() must be called at the latest.
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
  Clock::time_point until_ = {};  // deadline of the present state
  Clock::time_point free_since_ = {};
  std::int64_t id_ = 0;
  FinishedCase current_ = {};
};

}  // namespace assay::collect
