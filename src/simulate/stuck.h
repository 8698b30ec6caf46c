// Why a schedule could not end, or left messages lying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/simulate.h"

namespace assay::simulate {

struct Stuck {
  std::uint64_t receives_without_message = 0;
  std::uint64_t sends_without_receive = 0;  // the sender has gone on in an eager one
  std::uint64_t not_started = 0;            // behind others
  // Examples of the first two kinds; never more than asked for.
  std::vector<OpId> waiting = {};
  // Ranks of which each waits for the next one, and the last for the first; empty if there is no
  // such circle.
  std::vector<std::uint32_t> rank_circle = {};
  // Operations of one rank that depend on each other in a circle; empty if there are none.
  std::vector<OpId> dependency_circle = {};
};

// Of an outcome that has not finished.
Stuck find_stuck(const Outcome& outcome, std::size_t most_examples);

// The same in words: what waits where for what.
core::Error stuck_error(const Outcome& outcome, const Stuck& stuck);

// "operation 3 of rank 0, a send of 8 bytes to rank 1 with tag 5"
std::string describe(const Record& record, OpId id);

}  // namespace assay::simulate
