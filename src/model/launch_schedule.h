// A schedule that is kept as launches, for jobs whose graph is too large to be written down: an
// AllReduce of N ranks has 2 (N-1) steps on each of them. What a launch does is listed when it
// starts, as runs of slices that are alike.
//
// Its graph is that of goal/expand.h:
//
//   start (a calculation) -> for every lane a chain of slices -> end (a calculation of 0 ns)
//   slice: receives -> work (a calculation) -> sends; a slice's work follows that of the slice
//   before it in its lane
//
// A receive is ready when its buffer is free again: after the work of `slots` receiving slices
// before it in its lane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::model {

// Consecutive steps of a lane that are alike: each is `slices` slices of `bytes`, the last of which
// has `last_bytes`. The first may take longer; where it is the only one, it is not the last.
struct StepRun {
  std::uint32_t steps = 1;
  std::uint32_t slices = 1;
  // The number of the run's first operation within its launch. The operations of a run follow one
  // another: for each slice its receives, its work and its sends.
  std::uint32_t first_op = 0;
  std::uint32_t first_peer =
      0;  // LaunchWork::peers: those it receives from, then those it sends to
  std::uint8_t num_from = 0;
  std::uint8_t num_to = 0;
  std::uint64_t bytes = 0;  // on the wire
  std::uint64_t last_bytes = 0;
  std::uint64_t first_work_ns = 0;
  std::uint64_t work_ns = 0;
  std::uint64_t last_work_ns = 0;

  [[nodiscard]] std::uint32_t num_slices() const { return steps * slices; }

  [[nodiscard]] std::uint32_t ops_per_slice() const { return num_from + 1U + num_to; }

  bool operator==(const StepRun&) const = default;
};

// The other rank of a message.
struct LanePeer {
  std::uint32_t rank = 0;
  // Several lanes of a channel may send to the same rank: what they send goes separate ways.
  std::uint32_t way = 0;
};

struct Lane {
  // Messages meet by source and key plus way, first come, first served.
  std::uint32_t key = 0;
  std::uint8_t cpu = 0;    // of its work
  std::uint8_t slots = 8;  // buffers of its receives
  std::uint32_t first_run = 0;
  std::uint32_t num_runs = 0;

  bool operator==(const Lane&) const = default;
};

// All that one launch does on one rank.
struct LaunchWork {
  std::vector<LanePeer> peers;
  std::vector<StepRun> runs;
  std::vector<Lane> lanes;   // without any: the launch ends with its start
  std::uint32_t end_op = 0;  // number of the calculation that ends it

  void clear() {
    peers.clear();
    runs.clear();
    lanes.clear();
  }
};

struct RankLaunch {
  std::uint64_t start_ns = 0;        // length of the calculation that starts it
  std::vector<std::uint32_t> after;  // launches of the rank whose end it waits for, of lower number
  std::uint8_t cpu = 0;              // of its start and its end
  std::uint8_t message_cpu = 0;

  bool operator==(const RankLaunch&) const = default;
};

struct RankLaunches {
  std::vector<RankLaunch> launches;
  unsigned num_cpus = 1;
  // A calculation after all launches; 0: none.
  std::uint64_t tail_ns = 0;
  std::vector<std::uint32_t> tail_after;

  bool operator==(const RankLaunches&) const = default;
};

// The NIC of messages between nodes and of those within a node.
inline constexpr std::uint8_t kNetworkNic = 0;
inline constexpr std::uint8_t kNodeNic = 1;
inline constexpr unsigned kNics = 2;

// Counts what a NIC of a rank has sent and received.
struct NicWork {
  std::int64_t sending_ns = 0;
  std::uint64_t messages = 0;
  std::uint32_t most_at_once = 0;  // messages that wait for it or that it sends
  std::uint64_t received_bytes = 0;
  std::int64_t receiving_ns = 0;  // at the bandwidth of its links, one message after the other
};

class LaunchSchedule {
 public:
  LaunchSchedule() = default;
  LaunchSchedule(const LaunchSchedule&) = delete;
  LaunchSchedule& operator=(const LaunchSchedule&) = delete;
  virtual ~LaunchSchedule() = default;

  [[nodiscard]] virtual std::uint32_t num_ranks() const = 0;
  [[nodiscard]] virtual const RankLaunches& rank(std::uint32_t rank) const = 0;
  [[nodiscard]] virtual bool same_node(std::uint32_t a, std::uint32_t b) const = 0;

  // Lists what a launch does into an empty `work`. May be called by several threads at once, for
  // different ranks.
  virtual void list(std::uint32_t rank, std::uint32_t launch, LaunchWork& work) const = 0;
};

}  // namespace assay::model
