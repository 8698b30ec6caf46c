// Why a step takes longer, or less long, in the runs of one setting than in those of another.
//
//   Executions of both sides ─▶ waits learnt from all ─▶ a graph for each pair of runs
//        ─▶ pieces of each work's time, by cause ─▶ replays of the graph, cause by cause ─▶ parts
//
// A cause's part is by how much the step changes when the cause alone goes from one side to the
// other. As causes hide behind each other (communication behind computation), the part depends on
// what changed before; it is the mean of changing the causes in one order and in the reverse one,
// which is exact for any two of them. A replay with all causes as in a run is that run, so the
// parts add up to the difference.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "trace/attribution/durations.h"
#include "trace/path/execution.h"

namespace assay::trace::attribution {

// Evidence: what one kernel, message or rank contributes to a cause, whether or not it lies on the
// critical path. Milliseconds per step, mean over ranks.
struct Detail {
  Cause cause = Cause::kOther;
  std::string name;
  double a_ms = 0;
  double b_ms = 0;
  std::string words = {};
  bool is_message = false;  // whether `name` is a message, as the sheets of collectives name it

  [[nodiscard]] double change_ms() const { return b_ms - a_ms; }
};

struct Attribution {
  double a_ms = 0;  // a step, mean over ranks, steps and runs
  double b_ms = 0;
  std::array<double, kCauses> change_ms = {};  // by cause; they add up to b_ms - a_ms
  // Time on the critical path per step, where a cause has some of its own; else NaN.
  std::array<double, kCauses> path_a_ms = {};
  std::array<double, kCauses> path_b_ms = {};
  std::vector<Detail> details;     // by cause, the largest change first
  std::vector<std::string> notes;  // what was left out
  // Tells whether a side's messages have one size and are too large to be all latency; kBandwidth
  // then holds the latency, too.
  bool has_one_size = false;
  std::vector<int> ranks_without_launches =
      {};                        // of either side: kOther holds waits for their hosts
  double resolution_ms = 0.001;  // parts below it tell nothing (see resolution.h)

  [[nodiscard]] double total_ms() const { return b_ms - a_ms; }

  // Returns whether a part is told by itself: it is none at all, or not below the resolution.
  [[nodiscard]] bool tells(std::size_t cause) const {
    return change_ms[cause] == 0 || std::fabs(change_ms[cause]) >= resolution_ms;
  }
};

using Executions = std::span<const path::Execution* const>;

// Returns which steps of a run count.
using ChooseSteps = std::function<std::vector<bool>(const path::Execution&)>;

// `clock` is that of the runs, where both sides recorded it. Without `choose`, all steps count.
// Fails when the sides cannot be set side by side; the message says why, as in "they have different
// ranks".
core::Result<Attribution> attribute(Executions a,
                                    Executions b,
                                    std::optional<ClockChange> clock = std::nullopt,
                                    const ChooseSteps& choose = {});

}  // namespace assay::trace::attribution
