// A collective among the GPUs of several nodes, which no row was measured with: its part within a
// node as rows of a node's GPUs tell it, and its part between nodes by the links' figures.
//
// - All-reduce, all-gather and reduce-scatter: each GPU exchanges its share of the message with
//   the GPUs of its place in the other nodes, by its own network card. It sends the bus factor of
//   so many nodes (model/collective.h) times its share, in as many rounds as a tree has levels:
//   twice for an all-reduce.
// - All-to-all: each GPU sends what is for GPUs of other nodes by its own card; what stays in a
//   node is a smaller message there.
//
// How near that is was not judged: no table has collectives between nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "model/collective.h"
#include "model/serving/uses.h"

namespace assay::plan {

// How GPUs are joined.
struct NodeLinks {
  std::int64_t gpus_per_node = 8;
  double latency_s = 0;  // of a message between nodes
  // Of one GPU in one direction, between two of so many that communicate; 0: unknown.
  std::function<double(std::int64_t gpus)> bytes_per_s = nullptr;
};

struct CrossingUse {
  serving::OperatorUse within;  // the same among the GPUs of one node
  double within_share = 1;      // of the message, that is exchanged there
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;

  // The time between nodes for a message of so many bytes.
  [[nodiscard]] double between_ms(double bytes, const NodeLinks& links) const;
};

// One sigma of the logarithm that such prices are given. Nothing measured tells it: it is what
// scaled rows of all-to-alls have (scaled_collective.h), the largest that is known.
inline constexpr double kCrossingSigma = 0.25;

// std::nullopt: the use is no collective, lies within a node, or in parts of nodes.
std::optional<CrossingUse> crossing_use(const serving::OperatorUse& use, const NodeLinks& links);

}  // namespace assay::plan
