#include "goal/synth/collective_choice.h"

#include <algorithm>
#include <cmath>

namespace assay::goal {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

// As NCCL 2.28 logs them for nodes of H200: of collectives within a node, and over nodes with a
// network card for each GPU.
constexpr std::uint32_t kChannelsInNode = 24;
constexpr std::uint32_t kChannelsOverNodes = 16;

// Of an H200 and an H100 (SXM), as the driver tells. Each channel is a block of threads with one to
// itself.
constexpr double kMultiprocessors = 132;

constexpr std::uint64_t kLeastChannelBytes = 32ULL << 10;
constexpr std::uint64_t kLlBytes = 2ULL << 10;
constexpr std::uint64_t kLl128Bytes = 32ULL << 10;
constexpr std::uint64_t kTreeBytesOfNode = 4ULL << 20;

// The largest buffer of a rank.
std::uint64_t whole_bytes(const CollectiveShape& shape) {
  const bool shares =
      shape.function == NcclFunction::kAllGather || shape.function == NcclFunction::kReduceScatter;
  return shares ? shape.bytes * shape.ranks : shape.bytes;
}

}  // namespace

CollectiveChoice choose_collective(const CollectiveShape& shape) {
  const std::uint64_t bytes = whole_bytes(shape);
  const std::uint32_t most = shape.nodes > 1 ? kChannelsOverNodes : kChannelsInNode;
  CollectiveChoice choice;
  choice.channels =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / kLeastChannelBytes, 1, most));
  const std::uint64_t part = bytes / shape.ranks / choice.channels;
  if (part < kLlBytes) {
    choice.protocol = NcclProtocol::kLl;
  } else if (part < kLl128Bytes) {
    choice.protocol = NcclProtocol::kLl128;
  }
  const bool is_small = bytes <= kTreeBytesOfNode * shape.nodes;
  if (shape.function == NcclFunction::kAllReduce && shape.nodes > 1 && is_small)
    choice.algorithm = NcclAlgorithm::kTree;
  return choice;
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
