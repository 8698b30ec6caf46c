// What the works of a pair of runs took, in the pieces that different causes explain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/attribution/pair_graph.h"

namespace assay::trace::attribution {

enum class Cause : std::uint8_t {
  kContention,  // kernels that take longer, or must wait for room on the GPU, beside other work
  kClock,       // kernels at another clock
  kPower,       // kernels at a clock that the power limit held down
  kKernels,     // kernels by themselves: added, removed, replaced, slower
  kVolume,      // collectives and messages: how many there are, and of which sizes
  kBandwidth,   // their time from the last rank's arrival on: what grows with the message
  kLatency,     // what does not
  kUnmatched,   // communication not matched across all its ranks: its time may be a wait
  kStraggler,   // what one rank takes longer than the middle one
  kHost,        // launches that the GPUs of most ranks wait for
  kOther,       // pauses between kernels
};

inline constexpr std::size_t kCauses = 11;

inline constexpr std::array<std::string_view, kCauses> kCauseNames = {
    "kernels beside communication",
    "kernels: clock",
    "kernels: power limit",
    "kernels: other changes",
    "communication: volume",
    "communication: bandwidth",
    "communication: latency",
    "communication: waiting or transfer",
    "waiting for a straggler",
    "host-bound idle",
    "other"};

// One node on one side. Times in nanoseconds. Of communication that only the other side has, what
// it would take here.
struct Pieces {
  bool present = false;
  std::int64_t own_ns = 0;        // the kernel by itself; of a collective, what grows with its size
  std::int64_t unmatched_ns = 0;  // of communication that is not matched across all its ranks
  std::int64_t clock_ns = 0;      // due to the clock
  std::int64_t power_ns = 0;      // due to a clock that the power limit held down
  std::int64_t contention_ns = 0;  // due to communication beside it
  std::int64_t latency_ns = 0;     // of a collective
  std::int64_t rank_ns = 0;        // of this rank beyond the middle one
  std::int64_t host_ns = 0;        // the pause before it, in which it was not launched
  std::int64_t begin_ns = 0;       // how much later than the mean rank this one began
  std::int64_t rank_host_ns = 0;   // of this rank beyond the middle one, and that begin
  std::int64_t room_ns = 0;        // the pause before it, in which other streams filled the GPU
  std::int64_t pause_ns = 0;       // the rest of the pause before it; may be negative
};

// What all runs of one side tell of kernels.
struct SideTimes {
  std::vector<double> alone_ns;    // by kernel: median without communication beside it; NaN: never
  std::vector<double> latency_ns;  // by kernel: of a collective
  // By kernel: by what the other side takes longer for the same bytes, without the latency.
  std::vector<double> slowdown;
};

// The clock of one side's GPUs against the other's, as the runs recorded it.
struct ClockChange {
  double ratio = 1;       // a's clock over b's
  bool by_power = false;  // the power limit, and nothing else, held the slower one down
};

struct SharedTimes {
  // By side and run. Kernels have different numbers in different runs.
  std::array<std::vector<SideTimes>, 2> runs;
  // Tells whether latency cannot be told from bandwidth on some side: all of it is the latter.
  bool has_one_size = false;
  // How much longer kernels take alone in b, over all kernels that both sides have alone.
  double alone_ratio = 1;
  std::optional<ClockChange> clock = std::nullopt;
};

SharedTimes shared_times(std::span<const PreparedRun> a, std::span<const PreparedRun> b);

// By node and side.
using AllPieces = std::vector<std::array<Pieces, 2>>;

// `run_a` and `run_b` are the positions of the graph's runs in `times`.
AllPieces all_pieces(const PairGraph& graph,
                     const SharedTimes& times,
                     std::size_t run_a,
                     std::size_t run_b);

// Whether a work counts as beside communication.
bool is_overlapped(const path::Work& work);

}  // namespace assay::trace::attribution
