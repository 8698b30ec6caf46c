#include "goal/synth/collective_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "model/nccl_choice.h"

namespace assay::goal {
namespace {

using model::NcclFunction;

// Of an H200 and an H100 (SXM), as the driver tells. Each channel is a block of threads with one to
// itself.
constexpr double kMultiprocessors = 132;

// The largest buffer of a rank.
std::uint64_t whole_bytes(const CollectiveShape& shape) {
  const bool shares =
      shape.function == NcclFunction::kAllGather || shape.function == NcclFunction::kReduceScatter;
  return shares ? shape.bytes * shape.ranks : shape.bytes;
}

// A job has few kinds of communicators and thousands of calls.
const model::NcclTopology& topology_of(std::uint32_t ranks, std::uint32_t nodes) {
  thread_local std::map<std::pair<std::uint32_t, std::uint32_t>, model::NcclTopology> known;
  const auto [found, is_new] = known.try_emplace({ranks, nodes});
  if (is_new) {
    found->second = model::nccl_topology(
        {.num_ranks = static_cast<int>(ranks), .num_nodes = static_cast<int>(nodes)});
  }
  return found->second;
}

}  // namespace

CollectiveChoice choose_collective(const CollectiveShape& shape) {
  const model::NcclChoice choice =
      model::choose({.function = shape.function, .bytes = shape.bytes},
                    topology_of(shape.ranks, std::max(shape.nodes, 1U)));
  return {choice.algorithm, choice.protocol, choice.channels};
}

double held_share(const CollectiveShape& shape) {
  return choose_collective(shape).channels / kMultiprocessors;
}

std::int64_t estimated_ns(const CollectiveShape& shape) {
  constexpr double kBytesPerNsInNode = 350;
  constexpr double kBytesPerNsOfCard = 48;
  constexpr double kStepNsInNode = 1000;
  constexpr double kStepNsOverNodes = 4000;
  constexpr double kLaunchNs = 8000;
  const bool crosses = shape.nodes > 1;
  // Rings leave a node by the cards of all its GPUs.
  const double cards = std::max(1.0, static_cast<double>(shape.ranks) / shape.nodes);
  const double over_nodes = std::min(kBytesPerNsInNode, cards * kBytesPerNsOfCard);
  const double factor = model::bus_factor(shape.function, static_cast<int>(shape.ranks));
  const double bytes = static_cast<double>(whole_bytes(shape)) * factor;
  const double steps = std::ceil(std::log2(std::max(shape.ranks, 2U)));
  return std::llround(kLaunchNs + steps * (crosses ? kStepNsOverNodes : kStepNsInNode) +
                      bytes / (crosses ? over_nodes : kBytesPerNsInNode));
}

}  // namespace assay::goal
