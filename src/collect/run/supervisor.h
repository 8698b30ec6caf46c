// Distributes cases to workers, and replaces workers that fail. One thread does all: it sends a
// worker its next case as soon as the worker has finished one, and hands over results while the
// workers measure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collect/run/worker_slot.h"
#include "core/result.h"

namespace assay::collect {

struct SupervisorHooks {
  std::function<CaseRequest(const PlannedCase&)> request_of;  // leaves the id out
  // Called at each start of a worker. It returns why the worker is of no use, if it is not. An
  // error ends the run.
  std::function<core::Result<std::optional<std::string>>(const DeviceFacts&)> on_ready;
  // Writes the results of one or more workers. An error ends the run.
  std::function<core::Status(std::vector<FinishedCase>)> on_finished;
  std::function<void(const std::string&)> on_notice;
  std::function<void()> on_tick;  // called in each round of the loop
};

// kNoWorkers: no worker can be started any more, or none is of use.
enum class SupervisorEnd : std::uint8_t { kAllDone, kInterrupted, kNoWorkers };

class Supervisor {
 public:
  Supervisor(const std::vector<WorkerPlace>& places,
             const Deadlines& deadlines,
             SupervisorHooks hooks);

  // Finishes every case exactly once, unless the run ends early. The cases must outlive their
  // results.
  core::Result<SupervisorEnd> run(const std::vector<const PlannedCase*>& cases);

 private:
  using Clock = WorkerSlot::Clock;

  struct Seat {
    WorkerSlot slot;
    std::optional<FinishedCase> unwritten = {};    // at most one
    std::deque<const PlannedCase*> promised = {};  // the next cases, which the worker may prepare
    std::size_t told = 0;                          // how many of these the worker was told
    int failed_starts = 0;                         // in succession
    bool given_up = false;
    Clock::time_point not_before = {};  // earliest time of the next start
  };

  core::Status look_at(Seat& seat);
  core::Status take(Seat& seat, SlotEvent event);
  core::Status take_ready(Seat& seat, const DeviceFacts& device);
  void take_not_started(Seat& seat, const std::string& reason);
  void take_untouched(Seat& seat, CaseUntouched event);
  void give_up(Seat& seat, const std::string& why);
  void feed(Seat& seat);
  void promise(Seat& seat);
  const PlannedCase* next_case(Seat& seat);
  [[nodiscard]] std::size_t waiting() const;
  void start_workers();
  void try_start(Seat& seat);
  core::Status write();
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] SupervisorEnd why_over() const;
  void wait_for_news() const;
  [[nodiscard]] int patience_ms() const;
  void finish();
  [[nodiscard]] std::int64_t count(WorkerSlot::State state) const;

  std::vector<Seat> seats_;
  SupervisorHooks hooks_;
  std::deque<const PlannedCase*> queue_;
  std::set<const PlannedCase*> second_tries_;
  std::int64_t last_id_ = 0;
};

}  // namespace assay::collect
