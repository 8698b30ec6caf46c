// One rank of a launch schedule while it runs: its launches, the lanes of those that have started,
// its CPUs and NICs, and its next events. It meets other ranks only in messages, so that ranks may
// run apart for as long as a message is on its way.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/launch_schedule.h"
#include "simulate/matching.h"
#include "simulate/network.h"
#include "simulate/rank_events.h"
#include "simulate/rank_resources.h"

namespace assay::simulate {

// A message that has left.
struct Departure {
  std::uint32_t to = 0;
  RankEvent arrival;
};

// The time of an exchange's parts: from the first start of an operation to the last end.
struct Span {
  std::int64_t start_ns = kForeverNs;
  std::int64_t end_ns = 0;

  void add(std::int64_t start, std::int64_t end) {
    start_ns = std::min(start_ns, start);
    end_ns = std::max(end_ns, end);
  }
};

class LaunchRank {
 public:
  // Refers to the schedule and the network.
  LaunchRank(const model::LaunchSchedule& schedule, const Network& network, std::uint32_t rank);

  [[nodiscard]] std::int64_t next_ns() const {
    return events_.empty() ? kForeverNs : events_.top().time_ns;
  }

  void receive(const RankEvent& arrival) { events_.push(arrival); }

  // Handles all events before `end_ns`. Adds messages to `departures` and the times of what ended
  // to `spans`, by exchange. Messages arrive at `end_ns` or later if it is at most next_ns() plus
  // the shortest time of a message.
  void run(std::int64_t end_ns, std::vector<Departure>& departures, std::vector<Span>& spans);

  [[nodiscard]] bool finished() const { return done_launches_ == launches_.size() && !tail_left_; }

  // The end of its last operation.
  [[nodiscard]] std::int64_t finish_ns() const { return finish_ns_; }

  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  // A launch that has started and not ended, for the report of a schedule that is stuck; kNone
  // without any.
  [[nodiscard]] std::uint32_t running_launch() const;

 private:
  enum class TaskKind : std::uint8_t { kStart, kWork, kSend, kReceive, kEnd, kTail };

  // An operation that is ready, waits for a resource, or is a receive that was posted.
  struct Task {
    TaskKind kind = TaskKind::kStart;
    std::uint8_t buffer = 0;  // kReceive
    bool last = false;        // kSend: of the last slice of its lane
    std::uint32_t lane = 0;   // kStart, kEnd: the launch
    std::uint32_t peer = 0;
    std::uint32_t op = 0;     // number within its launch
    std::uint64_t bytes = 0;
  };

  // The launches that wait for one, and what it still waits for itself.
  struct LaunchState {
    std::uint32_t waits_for = 0;
    std::int64_t ready_ns = 0;
    std::vector<std::uint32_t> next;
  };

  // A launch between its start and its end.
  struct Running {
    std::uint32_t launch = 0;
    std::uint32_t open = 0;        // operations for which its end waits
    std::int64_t end_ns = 0;       // the latest of those that have ended
    std::uint32_t lanes_left = 0;  // those with operations that have not started
    model::LaunchWork work;
  };

  // A place in a lane's slices.
  struct Cursor {
    std::uint32_t run = 0;
    std::uint32_t slice = 0;  // of the run
  };

  // The receives for one slice, all of which must have arrived before its work.
  struct Buffer {
    std::uint32_t waits_for = 0;
    std::int64_t ready_ns = 0;
  };

  static constexpr std::size_t kMostSlots = 8;

  struct LaneState {
    std::uint32_t running = 0;  // index into running_
    std::uint32_t lane = 0;     // of its launch
    Cursor work;                // the slice whose work is next
    Cursor post;                // the next receiving slice without a buffer
    std::uint32_t received = 0;  // receiving slices whose work has started
    std::uint32_t posted = 0;    // receiving slices that have had a buffer
    bool free = false;           // the work before has an end
    bool offered = false;        // the next work is ready or waits for its CPU
    std::int64_t free_ns = 0;
    std::uint32_t open_sends = 0;  // ready, but not started
    std::array<Buffer, kMostSlots> buffers = {};
    Span span;
  };

  void handle(const RankEvent& event);
  void become_ready(std::uint32_t task, std::int64_t now_ns);
  void arrive(const RankEvent& event);
  void wake(const RankEvent& event);
  void contend(std::uint32_t task, std::int64_t now_ns);
  void start(std::uint32_t task, const RankNeeds& needs, std::int64_t now_ns);
  void start_launch(std::uint32_t launch, std::int64_t now_ns);
  void start_work(const Task& task, const RankNeeds& needs, std::int64_t now_ns);
  void start_send(const Task& task, const RankNeeds& needs, std::int64_t now_ns);
  void start_receive(const Task& task, const RankNeeds& needs, std::int64_t now_ns);
  void add_lane(std::uint32_t running, std::uint32_t lane, std::int64_t start_ns);
  void post_receives(LaneState& state, std::int64_t time_ns);
  void offer_work(std::uint32_t lane);
  void leave_lane(std::uint32_t lane);
  void close_part(Running& running, std::int64_t end_ns);
  void end_launch(std::uint32_t launch, std::int64_t now_ns);
  void note_end(std::int64_t end_ns);

  void offer(const Task& task, std::int64_t time_ns);
  [[nodiscard]] std::uint64_t number_of(const Task& task) const;
  [[nodiscard]] RankNeeds needs(const Task& task) const;
  [[nodiscard]] const model::StepRun& run_at(const LaneState& state, const Cursor& at) const;
  void advance(const LaneState& state, Cursor& at) const;
  [[nodiscard]] const model::RankLaunch& plan_of(const Running& running) const {
    return plan_.launches[running.launch];
  }
  std::uint32_t new_running();

  const model::LaunchSchedule& schedule_;
  const Network& network_;
  const model::RankLaunches& plan_;
  std::uint32_t rank_;
  RankEvents events_;
  RankResources resources_;
  ExactMatching matching_;
  std::vector<LaunchState> launches_;
  std::vector<std::uint32_t> running_of_;  // by launch: index into running_; kNone
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<std::uint32_t> free_running_;
  std::vector<LaneState> lanes_;
  std::vector<std::uint32_t> free_lanes_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> free_tasks_;
  std::vector<Departure>* departures_ = nullptr;  // of the run() in progress
  std::vector<Span>* spans_ = nullptr;
  std::uint32_t tail_waits_for_ = 0;
  std::int64_t tail_ready_ns_ = 0;
  bool tail_left_ = false;
  std::size_t done_launches_ = 0;
  std::int64_t finish_ns_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace assay::simulate
