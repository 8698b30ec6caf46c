// Two runs of one program as one graph: each work of either run once, with what it depends on. It
// can be replayed with the durations of either run, or of both mixed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "trace/path/execution.h"
#include "trace/path/places.h"
#include "trace/path/waits.h"

namespace assay::trace::attribution {

inline constexpr std::uint32_t kNoNodeId = path::kNone;

// One run, prepared.
struct PreparedRun {
  const path::Execution* execution = nullptr;
  path::Places places;
  path::Waits waits;
  std::vector<bool> counts = {};  // by step: whether it is part of the mean
};

enum Side : std::uint8_t { kA, kB };

struct PairNode {
  std::array<path::WorkId, 2> work = {path::kNone, path::kNone};  // by side
  std::uint32_t before = kNoNodeId;                               // on its lane
  std::uint32_t join = kNoNodeId;
  std::uint32_t group = 0;  // nodes of different ranks that do the same in the same step
  std::uint16_t rank = 0;   // position in PairGraph::ranks
  std::uint16_t step = 0;
  bool is_sender = false;  // of a message that buffers hold, so that it waits for nobody

  [[nodiscard]] bool has(Side side) const { return work[side] != path::kNone; }
};

struct PairJoin {
  std::vector<std::uint32_t> nodes;
  // By side: whether the ranks wait for each other. A side without these nodes would wait as well.
  std::array<bool, 2> joins = {false, false};
  bool lacks_ranks = false;  // on a side: see path::Join
};

// A work, or a join, in an order in which everything comes after what it depends on.
struct OrderedItem {
  std::uint32_t index = 0;
  bool is_join = false;
};

struct PairGraph {
  std::array<const PreparedRun*, 2> runs = {};
  std::vector<PairNode> nodes;
  std::vector<std::uint32_t> first_wait;  // those of node n are in `waits`, from first_wait[n] on
  std::vector<std::uint32_t> waits;
  std::vector<PairJoin> joins;
  std::vector<OrderedItem> order;
  std::uint32_t groups = 0;
  std::size_t ranks = 0;
  std::size_t steps = 0;
  // By side: the position in Execution::steps of the graph's first step.
  std::array<std::size_t, 2> first_step = {0, 0};
  // By rank and step: the node whose start begins the step, by side.
  std::vector<std::array<std::uint32_t, 2>> step_begin;
  // The same of the node that ends last of what the step launched; empty where that is not known.
  std::vector<std::array<std::uint32_t, 2>> step_last;

  [[nodiscard]] bool counts(std::size_t step, Side side) const {
    return runs[side]->counts[first_step[side] + step];
  }

  [[nodiscard]] bool counts(std::size_t step) const { return counts(step, kA) && counts(step, kB); }

  [[nodiscard]] std::size_t counted_steps() const {
    std::size_t count = 0;
    for (std::size_t step = 0; step < steps; ++step)
      count += counts(step) ? 1 : 0;
    return count;
  }

  // Tells whether nobody knows how long the node waited for other ranks.
  [[nodiscard]] bool may_hold_a_wait(const PairNode& node) const {
    if (node.is_sender) return false;
    return node.join == kNoNodeId || joins[node.join].lacks_ranks;
  }

  [[nodiscard]] const path::Work& work(const PairNode& node, Side side) const {
    return runs[side]->execution->works[node.work[side]];
  }
};

// Returns the graph of the steps that both runs have, by their order. Steps at the ends of a run
// are left out if more of those that count then meet: the first step of one run may be odd, and the
// last one of the other. The error says why there is
// none: other ranks, or dependences that contradict each other.
core::Result<PairGraph> pair_graph(const PreparedRun& a, const PreparedRun& b);

}  // namespace assay::trace::attribution
