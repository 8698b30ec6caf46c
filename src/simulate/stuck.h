// Finds out why a schedule could not end, or why messages were not received.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/simulate.h"

namespace assay::simulate {

struct Stuck {
  std::uint64_t receives_without_message = 0;
  // The sender of an eager message has gone on.
  std::uint64_t sends_without_receive = 0;
  std::uint64_t not_started = 0;  // waiting behind others
  // Examples of the first two kinds, never more than asked for.
  std::vector<OpId> waiting = {};
  // Ranks of which each waits for the next one and the last for the first; empty if there is no
  // such circle.
  std::vector<std::uint32_t> rank_circle = {};
  // Operations of one rank that depend on each other in a circle; empty if there are none.
  std::vector<OpId> dependency_circle = {};
};

// Examines an outcome that has not finished.
Stuck find_stuck(const Outcome& outcome, std::size_t most_examples);

// Says the same in words: which operation waits where for what.
core::Error stuck_error(const Outcome& outcome, const Stuck& stuck);

// Returns "operation 3 of rank 0, a send of 8 bytes to rank 1 with tag 5".
std::string describe(const Record& record, OpId id);

}  // namespace assay::simulate
