// The evidence of an attribution: which kernels, messages and ranks contribute to each cause.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/attribution/attribution.h"
#include "trace/attribution/durations.h"
#include "trace/attribution/pair_graph.h"

namespace assay::trace::attribution {

class DetailCounter {
 public:
  // Adds a pair of runs. `weight` is its share in the attribution.
  void add(const PairGraph& graph, const AllPieces& pieces, double weight);

  // Returns for each cause the details with the largest changes.
  [[nodiscard]] std::vector<Detail> largest() &&;

 private:
  struct Sum {
    std::array<double, 2> ms = {};        // by side
    std::array<double, 2> count = {};     // works, per step and rank
    std::array<double, 2> bytes = {};     // of collectives: what bus bandwidth counts
    std::array<double, 2> total_ms = {};  // of the works themselves
    std::array<std::uint32_t, 2> channels = {};
    std::string operator_name = {};
  };

  void add_node(const PairGraph& graph,
                const PairNode& node,
                const std::array<Pieces, 2>& pieces,
                double share);

  Sum& sum(Cause cause, const std::string& name) {
    return sums_[{static_cast<std::size_t>(cause), name}];
  }

  static std::string words(Cause cause, const Sum& sum);

  std::map<std::pair<std::size_t, std::string>, Sum> sums_;
};

}  // namespace assay::trace::attribution
