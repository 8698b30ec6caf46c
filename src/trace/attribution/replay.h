// Replays a pair of runs with some causes as in one run and the others as in the other.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "trace/attribution/durations.h"
#include "trace/attribution/pair_graph.h"

namespace assay::trace::attribution {

// The causes that are as in b; the others are as in a.
using Mix = std::bitset<kCauses>;

class Replay {
 public:
  // Both must outlive it.
  Replay(const PairGraph& graph, const AllPieces& pieces);

  // Returns the period of each step, mean over ranks, in nanoseconds. The time is linear in the
  // size of the graph.
  std::vector<double> step_lengths(const Mix& mix);

  // Whether the runs differ in this cause at all.
  [[nodiscard]] bool differs(Cause cause) const;

 private:
  void run_node(std::uint32_t n, const Mix& mix);
  void run_join(const PairJoin& join, const Mix& mix);
  [[nodiscard]] Cause cause_of_presence(std::uint32_t n) const;
  [[nodiscard]] bool is_present(std::uint32_t n, const Mix& mix) const;
  [[nodiscard]] std::int64_t duration(std::uint32_t n, const Mix& mix) const;
  [[nodiscard]] std::int64_t begin_of(std::size_t rank, std::size_t step, const Mix& mix) const;
  [[nodiscard]] std::int64_t work_end_of(std::size_t rank, std::size_t step) const;
  [[nodiscard]] std::int64_t last_end_of(std::size_t rank, const Mix& mix) const;

  const PairGraph& graph_;
  const AllPieces& pieces_;
  std::vector<bool> communicates_;      // by node
  std::vector<bool> is_unmatched_;      // by node: communication of which no side knows the waits
  std::vector<std::int64_t> start_ns_;  // by node
  std::vector<std::int64_t> end_ns_;    // by node; kUnknownTime where the mix lacks it
  std::vector<std::int64_t> lane_ns_;   // by node: the end of the last one on its lane
  std::vector<std::int64_t> last_ns_;   // by rank: the end of all
};

}  // namespace assay::trace::attribution
