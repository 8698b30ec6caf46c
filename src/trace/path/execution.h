// The GPU work of all ranks of a run on one clock, with everything that decides when a piece of it
// could start. The critical path and the attribution of a change are computed from this alone, so
// the traces may be freed.
//
//   traces → RankAnalysis ─┐
//                          ├─▶ Execution: works, lanes, joins, steps, clocks
//   matched collectives ───┘        │ find_waits()
//                                   ▼
//                          Waits: what each work waited for on other streams of its rank
//                                   │
//                       critical_path() · replays of the attribution
//
// A work may start when the work before it on its stream (lane) has ended, when the host has
// launched it, and when what it waits for on other streams has ended. A collective moves data from
// the arrival of its last rank on, so no rank leaves it earlier. That holds for broadcasts and
// reduces, too: NCCL passes the data on from rank to rank through buffers of a few MiB, and a
// kernel does not end before the next rank has taken all but those. A small one fits, and ranks
// were seen to leave before others arrived: it joins none. A message is a send and its receive: the
// receiver waits for the sender, and the sender for the receiver unless the message fits into
// buffers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis.h"
#include "trace/collectives/clock_fit.h"
#include "trace/collectives/event.h"

namespace assay::trace::path {

using WorkId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kUnknownTime = std::numeric_limits<std::int64_t>::min();

// A kernel, copy or memset. Times are nanoseconds since the first work of the run, on the clock of
// the first rank.
struct Work {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t launched_ns = kUnknownTime;  // when the host's call began; unknown for graph replays
  std::uint32_t kernel = 0;                 // index into Execution::kernels
  std::uint32_t lane = 0;                   // index into Execution::lanes
  std::uint32_t event = 0;                  // index into Trace::gpu_events of its rank
  std::uint32_t join = kNone;               // index into Execution::joins
  WorkId before = kNone;                    // the work before it on its lane
  std::uint16_t rank = 0;                   // position in Execution::ranks
  GpuWork kind = GpuWork::kComputation;
  float overlap = 0;  // of a computation: the part of its time beside communication of its rank

  [[nodiscard]] std::int64_t length_ns() const { return end_ns - start_ns; }
};

// What runs: works with the same kernel are the same code with the same launch, and, of a
// collective, the same message.
struct Kernel {
  std::string name;
  std::string category;       // kernel_category, or the collective's name
  std::string operator_name;  // that launched it first; empty where the trace has no operators
  std::uint32_t blocks = 0;   // of the launch; the channels of a collective
  std::uint32_t threads = 0;  // per block
  double bytes = 0;           // of a collective: what its bus bandwidth counts; NaN when unknown
  // Of a collective: "allreduce, BFloat16, 50331648", as in the sheets, as far as it is known.
  std::string message = {};
};

struct Lane {
  std::uint16_t rank = 0;
  std::int32_t device = -1;
  std::int32_t stream = -1;
};

// A collective that no rank leaves before all have arrived, or a message.
struct Join {
  std::uint32_t first = 0;  // position in Execution::members
  std::uint32_t size = 0;
  std::int64_t last_start_ns = 0;    // when the last rank arrived
  std::int64_t middle_start_ns = 0;  // when half of the ranks had arrived
  WorkId last = kNone;               // the work of the rank that arrived last
  WorkId sender = kNone;             // of a message that buffers hold: it waits for nobody
  // Whether its group has ranks without a trace, or may have where its size is not recorded and
  // ranks of the job have none. One of them may have arrived last, so that the time from
  // `last_start_ns` on may be transfer or a wait for it.
  bool lacks_ranks = false;
};

struct RecordedWait {
  WorkId work = 0;
  WorkId other = 0;  // of the same rank
};

// How far a rank's clock is ahead of the first rank's, told from the ends of collectives.
struct Clock {
  double offset_us = 0;    // estimated
  double removed_us = 0;   // what was removed: ranks of one host share a clock
  double drift_ppm = 0;    // what was removed besides: microseconds that it gains in a second
  double residual_us = 0;  // median of this rank's ends less those of all, after that
  double spread_us = 0;    // median absolute deviation of those
  std::int64_t samples = 0;
};

// Turns times that a rank recorded into those of the execution.
struct ClockShift {
  collectives::ClockFit ahead = {};  // of the first rank's clock, in time since `since_ns`
  std::int64_t since_ns = 0;
  std::int64_t origin_ns = 0;  // Execution::origin_ns

  [[nodiscard]] std::int64_t operator()(std::int64_t recorded_ns) const {
    constexpr double kNsPerUs = 1000;
    const double since_us = static_cast<double>(recorded_ns - since_ns) / kNsPerUs;
    return recorded_ns - std::llround(ahead.ahead_us(since_us) * kNsPerUs) - origin_ns;
  }
};

// A step on one rank, at recorded times.
struct RankStep {
  std::int64_t number = 0;
  Interval window;
  std::int64_t work_end = 0;   // of the work that it launched
  std::int64_t period_ns = 0;  // see step_periods.h
};

struct Rank {
  int number = 0;
  WorkId first = 0;  // its works are [first, last)
  WorkId last = 0;
  Clock clock;
  ClockShift shifted;
  std::vector<RankStep> own_steps;       // all, also those that other ranks lack
  std::vector<std::int64_t> step_start;  // for each of Execution::steps
  std::vector<std::int64_t> step_end;
  std::vector<WorkId> step_last;  // that ends last of what each step launched; kNone: unknown
};

// A step begins and ends at the mean over ranks, so that its length is the mean of the ranks' own,
// as in every other sheet.
struct StepMark {
  std::int64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t period_ns = 0;  // mean over ranks; of the last step more or less than its length

  [[nodiscard]] std::int64_t length_ns() const { return end_ns - start_ns; }
};

// The counted work of one rank, as it was recorded, so that its trace may be freed.
struct RankWorks {
  struct LocalKernel {
    std::string name;
    std::string category;
    std::string operator_name;
    std::uint32_t blocks = 0;
    std::uint32_t threads = 0;
    // Of a collective: the first of its events, a position in RankRecording::events.
    std::uint32_t collective = kNone;
  };

  // A wait between streams, with the times of the calls that made it.
  struct Called {
    std::int64_t waiting_ns = 0;
    std::int64_t recording_ns = 0;
    std::int32_t stream = -1;
    std::int32_t other_stream = -1;
  };

  int rank = 0;
  // In the order of events, at recorded times. `kernel` and `lane` are positions below, `join` is
  // one in RankRecording::events.
  std::vector<Work> works;
  std::vector<LocalKernel> kernels;  // in the order of first use
  std::vector<Lane> lanes;
  std::vector<RankStep> steps;  // by start
  std::vector<Called> waits;
};

// `communication` is that of the same rank.
RankWorks record_works(const RankAnalysis& rank, const collectives::RankRecording& communication);

struct Execution {
  std::vector<Work> works;  // by rank, then start
  std::vector<Kernel> kernels;
  std::vector<Lane> lanes;
  std::vector<Join> joins;
  std::vector<WorkId> members;  // of joins
  // Waits between streams that the traces recorded, by the work that waits.
  std::vector<RecordedWait> recorded_waits;
  std::vector<Rank> ranks;
  std::vector<StepMark> steps;  // those that all ranks have; the whole window where there are none
  bool has_steps = false;       // whether the traces name steps
  std::int64_t origin_ns = 0;   // recorded time, on the first rank's clock, of this one's zero

  // Tells whether the last of several steps is not as long as its period: the trace has no next
  // one, so that it lacks its wait for that, or has work that would overlap with it.
  [[nodiscard]] bool is_last_step_odd() const {
    constexpr std::int64_t kRoundingNs = 1000;
    return steps.size() > 1 &&
           std::abs(steps.back().period_ns - steps.back().length_ns()) > kRoundingNs;
  }

  // Returns which of the steps that count are whole: not an odd last one, unless no other counts.
  [[nodiscard]] std::vector<bool> whole_steps(std::vector<bool> counts) const;

  // Returns from when on a work does not wait for other ranks, as far as the traces tell.
  [[nodiscard]] std::int64_t waited_until_ns(WorkId id) const {
    const Work& work = works[id];
    if (work.join == kNone || joins[work.join].sender == id) return work.start_ns;
    return std::max(work.start_ns, joins[work.join].last_start_ns);
  }

  [[nodiscard]] std::span<const WorkId> members_of(const Join& join) const {
    return std::span(members).subspan(join.first, join.size);
  }
};

// Takes the counted work of ranks of one run, which need not outlive the result. The ranks must not
// be in compat mode.
Execution execution_of(std::span<const RankAnalysis> ranks);

// The same from what record_works() and collectives::record_rank() took of each rank, both sorted
// by rank. Frees the works of a rank once they are in the result.
Execution execution_of(std::vector<RankWorks> ranks,
                       std::span<const collectives::RankRecording> communication);

}  // namespace assay::trace::path
