// What works waited for on other streams of their rank.
//
// Profilers record that a stream waits, but only some traces for what (Execution::recorded_waits).
// In the others a wait is inferred from all steps,
// ranks and runs together: a work that starts right after a certain work of another stream has
// ended, though its own stream was free and the host had launched it, waits for that work; unless
// the work at its place once started before the other had ended.
#pragma once

#include <span>
#include <vector>

#include "trace/path/execution.h"
#include "trace/path/places.h"

namespace assay::trace::path {

struct Waits {
  std::vector<std::uint32_t> first;  // those of work w are from first[w] to first[w + 1]
  std::vector<WorkId> works;

  [[nodiscard]] std::span<const WorkId> of(WorkId work) const {
    return std::span(works).subspan(first[work], first[work + 1] - first[work]);
  }
};

struct Placed {
  const Execution* execution = nullptr;
  const Places* places = nullptr;
};

// Returns the waits of each execution, learnt from all of them. The time is linear in the number of
// works times the streams of a rank.
std::vector<Waits> find_waits(std::span<const Placed> executions);

}  // namespace assay::trace::path
