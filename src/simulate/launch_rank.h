// One rank of a launch schedule while it runs: its launches, the lanes of those that have started,
// its CPUs and NICs, and its next events. It meets other ranks only in messages, so that ranks may
// run apart for as long as a message is on its way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/launch_schedule.h"
#include "simulate/network.h"
#include "simulate/rank_events.h"
#include "simulate/resources.h"
#include "simulate/routes.h"

namespace assay::simulate {

// A message that has left.
struct SentMessage {
  std::uint32_t to = 0;
  RankEvent arrival;
};

// The time of a launch: from the end of the calculation that starts it to the last end of an
// operation of its lanes.
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
    return events_.empty() ? kNeverNs : events_.top().time_ns;
  }

  void receive(const RankEvent& arrival) { events_.push(arrival); }

  // Handles the events before `end_ns`, or fewer: it returns behind the one that starts a launch,
  // because from then on other ranks matter. Adds messages to `sent`.
  void run(std::int64_t end_ns, std::vector<SentMessage>& sent);

  // How many launches have started or left all their lanes.
  [[nodiscard]] std::uint32_t changes() const { return changes_; }

  // Calls body(start_ns, sources) for each launch that may still receive: before its start a
  // message of its sources waits for it, whenever it comes.
  template <class Body>
  void for_each_receiving(const Body& body) const {
    for (const auto& running : running_) {
      if (running->lanes_left > 0) body(running->start_ns, running->sources);
    }
  }

  // Tells whether messages of different ranks came at the same time.
  [[nodiscard]] bool had_rivals() const { return had_rivals_; }

  // By launch; one that moved nothing has no end.
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }

  // Whether all its operations have started; only valid when no event is left.
  [[nodiscard]] bool finished() const { return done_launches_ == launches_.size() && !tail_left_; }

  // The end of its last operation.
  [[nodiscard]] std::int64_t finish_ns() const { return finish_ns_; }

  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  // Returns what each NIC has sent and received.
  [[nodiscard]] const std::array<model::NicWork, model::kNics>& nic_work() const {
    return nic_work_;
  }

  // A launch that has started and not ended, for the report of a schedule that is stuck; kNone
  // without any.
  [[nodiscard]] std::uint32_t running_launch() const;

 private:
  // What waits for its time or for a resource: its kind and an index, in 32 bits.
  enum class Kind : std::uint32_t {
    kStart,    // of a launch
    kEnd,      // of a launch
    kTail,     // after all launches
    kWork,     // the next of a lane
    kSend,     // a Message
    kReceive,  // a Message
  };

  // The other rank of a lane's messages.
  struct Peer {
    std::uint32_t rank = 0;
    std::uint32_t way = 0;
    std::uint8_t nic = 0;
    const Link* link = nullptr;
  };

  // A send that is ready, or a receive whose message is here.
  struct Message {
    const Peer* peer = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0;
    std::uint32_t lane = 0;
    std::uint8_t buffer = 0;  // of a receive
    bool last = false;        // a send of the last slice of its lane
  };

  // The launches that wait for one, and what it still waits for itself.
  struct LaunchState {
    std::uint32_t waits_for = 0;
    std::int64_t ready_ns = 0;
    std::vector<std::uint32_t> next;
  };

  // A launch between its start and its end, or with messages that are to be sent.
  struct Running {
    std::uint32_t launch = 0;
    std::uint32_t open = 0;        // operations for which its end waits
    std::uint32_t lanes_left = 0;  // those with operations that have not started
    std::int64_t start_ns = 0;     // of its lanes
    std::int64_t end_ns = 0;       // the latest of the operations that have ended
    model::LaunchWork work;
    std::vector<Peer> peers;             // as LaunchWork::peers
    std::vector<std::uint32_t> sources;  // ranks of other nodes that it receives from
  };

  // A place in a lane's slices.
  struct Cursor {
    const model::StepRun* run = nullptr;
    std::uint32_t slice = 0;

    [[nodiscard]] std::uint64_t work_ns() const {
      if (slice % run->slices == 0) return run->first_work_ns;
      return last_of_step() ? run->last_work_ns : run->work_ns;
    }

    [[nodiscard]] bool last_of_step() const { return slice % run->slices + 1 == run->slices; }

    [[nodiscard]] std::uint64_t bytes() const {
      return last_of_step() ? run->last_bytes : run->bytes;
    }

    [[nodiscard]] std::uint32_t first_op() const {
      return run->first_op + slice * run->ops_per_slice();
    }

    void advance() {
      if (++slice < run->num_slices()) return;
      ++run;
      slice = 0;
    }
  };

  // The receives for one slice, all of which must have ended before its work.
  struct Buffer {
    Cursor slice;
    std::int64_t free_ns = 0;     // when receives may begin
    std::int64_t ready_ns = 0;    // the latest end of its receives
    std::uint32_t waits_for = 0;  // receives that have not begun
    std::uint32_t missing = 0;    // peers, a bit each, whose message is not here
  };

  static constexpr std::size_t kMostSlots = 8;

  struct LaneState {
    Cursor work;  // the slice whose work is next
    Cursor post;  // the next receiving slice without a buffer
    const model::StepRun* first = nullptr;
    const model::StepRun* end = nullptr;
    std::uint32_t running = 0;     // index into running_
    std::uint32_t early = 0;       // messages that are here before their buffer
    std::uint32_t received = 0;    // receiving slices whose work has started
    std::uint32_t posted = 0;      // receiving slices that have had a buffer
    std::uint32_t arrived = 0;     // receiving slices before this one lack no message
    std::uint32_t open_sends = 0;  // ready, but not started
    std::uint32_t key = 0;
    std::uint8_t cpu = 0;
    std::uint8_t message_cpu = 0;
    std::uint8_t slots = 1;
    bool offered = false;      // the next work is ready or waits for its CPU
    std::int64_t free_ns = 0;  // the end of the work before
    std::int64_t end_ns = 0;   // the latest end of an operation
    std::array<Buffer, kMostSlots> buffers = {};
  };

  static std::uint32_t pack_task(Kind kind, std::uint32_t index) {
    return static_cast<std::uint32_t>(kind) << kIndexBits | index;
  }

  static Kind kind_of(std::uint32_t task) { return static_cast<Kind>(task >> kIndexBits); }

  static std::uint32_t index_of(std::uint32_t task) { return task & ((1U << kIndexBits) - 1); }

  static constexpr unsigned kIndexBits = 28;

  void arrive(const RankEvent& event);
  void wake(const RankEvent& event);
  void contend(std::uint32_t task, std::int64_t now_ns);
  void note_send(std::uint32_t message, const Needs& needs, std::int64_t now_ns);
  void start(std::uint32_t task, const Needs& needs, std::int64_t now_ns);
  void start_launch(std::uint32_t launch, std::int64_t start_ns);
  void start_work(std::uint32_t lane, const Needs& needs, std::int64_t now_ns);
  void start_send(std::uint32_t message, const Needs& needs, std::int64_t now_ns);
  void start_receive(std::uint32_t message, const Needs& needs, std::int64_t now_ns);
  void start_tail(const Needs& needs, std::int64_t now_ns);
  void find_sources(Running& running) const;
  void add_lane(std::uint32_t running, const model::Lane& plan, std::int64_t start_ns);
  void join_routes(std::uint32_t lane);
  void leave_routes(const LaneState& state);
  void offer_sends(std::uint32_t lane, bool is_last, std::int64_t end_ns);
  void give_buffer(std::uint32_t lane, std::int64_t free_ns);
  bool take_message(std::uint32_t lane, const RankEvent& arrival);
  std::uint32_t reception(std::uint32_t lane, std::uint32_t buffer, std::uint32_t peer);
  void offer_work(std::uint32_t lane);
  void leave_lane(std::uint32_t lane);
  void close_part(Running& running, std::int64_t end_ns);
  void end_launch(std::uint32_t launch, std::int64_t now_ns);
  void note_end(std::int64_t end_ns);

  void offer(std::uint32_t task, std::uint64_t number, std::int64_t time_ns) {
    events_.push({.time_ns = time_ns,
                  .number = number,
                  .kind_and_source = pack(RankEventKind::kReady),
                  .data = task});
  }

  // Where Resources puts a task's wakes.
  [[nodiscard]] auto later() {
    return [this](const Wake& wake) {
      events_.push({.time_ns = wake.time_ns,
                    .number = std::uint64_t{wake.order} << 32U | wake.resource,
                    .kind_and_source = pack(RankEventKind::kWake)});
    };
  }

  [[nodiscard]] std::uint64_t number_of(const LaneState& state, std::uint32_t op) const {
    return std::uint64_t{running_[state.running]->launch} << 32U | op;
  }

  [[nodiscard]] const Peer* peers_of(const LaneState& state, const model::StepRun& run) const {
    return running_[state.running]->peers.data() + run.first_peer;
  }

  [[nodiscard]] Needs needs(std::uint32_t task) const;
  std::uint32_t new_message(const Message& message);
  std::uint32_t new_running();
  std::uint32_t new_lane();

  const model::LaunchSchedule& schedule_;
  const Network& network_;
  const model::RankLaunches& plan_;
  std::uint32_t rank_;
  RankEvents events_;
  Resources resources_;
  Routes routes_;
  std::vector<LaunchState> launches_;
  std::vector<std::uint32_t> running_of_;  // by launch: index into running_; kNone
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<std::uint32_t> free_running_;
  std::vector<LaneState> lanes_;
  std::vector<std::uint32_t> free_lanes_;
  std::vector<Message> messages_made_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<SentMessage>* sent_ = nullptr;  // of the run() in progress
  std::vector<Span> spans_;                   // by launch
  std::uint32_t changes_ = 0;
  std::uint32_t tail_waits_for_ = 0;
  std::int64_t tail_ready_ns_ = 0;
  bool tail_left_ = false;
  std::size_t done_launches_ = 0;
  std::int64_t finish_ns_ = 0;
  std::int64_t last_arrival_ns_ = -1;
  std::uint32_t last_source_ = 0;
  bool had_rivals_ = false;
  std::uint64_t operations_ = 0;
  std::uint64_t messages_ = 0;
  std::array<model::NicWork, model::kNics> nic_work_ = {};
  std::array<std::uint32_t, model::kNics> sends_ready_ = {};  // of each NIC
};

}  // namespace assay::simulate
