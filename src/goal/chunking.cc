#include "goal/chunking.h"

#include <algorithm>
#include <cmath>

namespace assay::goal {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

// Buffers of a channel and connection, NCCL's defaults, and the steps that they are cut into.
constexpr std::uint64_t kSteps = 8;
constexpr std::uint64_t kSimpleBuffer = 4ULL << 20;
constexpr std::uint64_t kLlBuffer = 512ULL * 8 * 8 * 16;
constexpr std::uint64_t kLl128Buffer = 120ULL * 640 * 8 * 8;

constexpr std::uint64_t kLeastTrafficPerChannel = 16ULL << 10;
constexpr std::uint64_t kP2pPartGrain = 4ULL << 10;
constexpr std::uint64_t kP2pLlThreshold = 16ULL << 10;  // NCCL_P2P_LL_THRESHOLD
constexpr std::uint64_t kP2pChunkNvlink = 512ULL << 10;
constexpr std::uint64_t kP2pChunkNetwork = 128ULL << 10;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

std::uint64_t round_up(std::uint64_t a, std::uint64_t b) {
  return divide_up(a, b) * b;
}

std::uint64_t step_bytes(const Operation& operation) {
  if (operation.step_bytes > 0) return operation.step_bytes;
  switch (protocol_of(operation)) {
    case NcclProtocol::kLl:
      return kLlBuffer / kSteps;
    case NcclProtocol::kLl128:
      return kLl128Buffer / kSteps;
    default:
      return kSimpleBuffer / kSteps;
  }
}

struct Pipelining {
  std::uint32_t chunk_steps = 1;
  std::uint32_t slice_steps = 1;
};

Pipelining pipelining(const Operation& operation) {
  if (operation.chunk_steps > 0 && operation.slice_steps > 0) {
    return {operation.chunk_steps, operation.slice_steps};
  }
  const bool sliced = operation.function == NcclFunction::kAllReduce ||
                      operation.function == NcclFunction::kAllGather ||
                      operation.function == NcclFunction::kReduceScatter;
  if (sliced && operation.algorithm == NcclAlgorithm::kRing &&
      protocol_of(operation) == NcclProtocol::kSimple) {
    return {4, 2};
  }
  return {};
}

std::uint64_t grain_bytes(NcclProtocol protocol) {
  if (protocol == NcclProtocol::kLl) return 16;
  return protocol == NcclProtocol::kLl128 ? 1920 : 512;
}

// Deep trees with few bytes are cut finer so that their levels overlap.
std::uint64_t shrink_ll128_tree(std::uint64_t chunk, std::uint64_t bytes, const CutRequest& from) {
  const double ranks_per_node = static_cast<double>(from.num_ranks) / from.num_nodes;
  const double steps = 1 + std::floor(std::log2(from.num_nodes)) + 0.1 * ranks_per_node;
  const auto too_few = [&](double factor) {
    return static_cast<double>(bytes / chunk) < steps * factor / ranks_per_node;
  };
  while (too_few(64) && chunk > 131072)
    chunk /= 2;
  while (too_few(16) && chunk > 32768)
    chunk /= 2;
  return chunk;
}

// PAT aggregates over log2(n) exchanges in the same buffers.
std::uint64_t shrink_pat(std::uint64_t chunk, std::uint64_t bytes, NcclFunction function) {
  const std::uint64_t factor = function == NcclFunction::kAllGather ? 32 : 16;
  while (chunk * factor > bytes && chunk > 65536)
    chunk /= 2;
  return chunk;
}

std::uint64_t chunk_bytes(const CutRequest& request, std::uint64_t channel_bytes) {
  const Operation& operation = request.operation;
  std::uint64_t chunk = step_bytes(operation) * pipelining(operation).chunk_steps;
  if (protocol_of(operation) == NcclProtocol::kLl) chunk /= 2;
  if (protocol_of(operation) == NcclProtocol::kLl128) chunk = chunk / 128 * 120;
  if (operation.algorithm == NcclAlgorithm::kTree &&
      protocol_of(operation) == NcclProtocol::kLl128) {
    chunk = shrink_ll128_tree(chunk, channel_bytes, request);
  }
  if (operation.algorithm == NcclAlgorithm::kPat) {
    chunk = shrink_pat(chunk, channel_bytes, operation.function);
  }
  const std::uint64_t grain = grain_bytes(protocol_of(operation));
  return std::max(chunk / grain * grain, grain);
}

// Bytes on the wire for a byte of the call's count.
std::uint64_t traffic_per_byte(const CutRequest& request) {
  std::uint64_t traffic = 1;
  const NcclFunction function = request.operation.function;
  if (function == NcclFunction::kAllReduce) traffic = 2;
  if (function == NcclFunction::kAllGather || function == NcclFunction::kReduceScatter) {
    traffic = request.num_ranks;
  }
  return protocol_of(request.operation) == NcclProtocol::kLl ? 4 * traffic : traffic;
}

// Whole cells for each channel; the last takes what is left.
std::vector<model::ChannelPart> cut_collective(const CutRequest& request) {
  const Operation& operation = request.operation;
  const std::uint64_t channels = std::max(operation.num_channels, 1U);
  const std::uint64_t cell_bytes =
      round_up(divide_up(kLeastTrafficPerChannel, traffic_per_byte(request)), 16);
  const std::uint64_t cell = std::max<std::uint64_t>(cell_bytes / operation.element_bytes, 1);
  const std::uint64_t count = operation.bytes / operation.element_bytes;
  const std::uint64_t per_channel = divide_up(divide_up(count, cell), channels) * cell;
  std::vector<model::ChannelPart> parts;
  for (std::uint64_t offset = 0; offset < count; offset += per_channel) {
    model::ChannelPart& part = parts.emplace_back();
    part.channel = request.first_channel + static_cast<std::uint32_t>(parts.size() - 1);
    part.count = std::min(per_channel, count - offset);
    part.chunk_count = std::max<std::uint64_t>(
        chunk_bytes(request, part.count * operation.element_bytes) / operation.element_bytes, 1);
  }
  return parts;
}

std::uint64_t p2p_chunk_bytes(const CutRequest& request) {
  const bool network = request.distance == Distance::kOtherNode;
  std::uint64_t chunk = network ? kP2pChunkNetwork : kP2pChunkNvlink;
  if (protocol_of(request.operation) == NcclProtocol::kLl) return kLlBuffer / kSteps / 2;
  const std::uint64_t step = kSimpleBuffer / kSteps;
  if (network && request.operation.bytes < step) {
    chunk /= 4;
  } else if (network && request.operation.bytes < 8 * step) {
    chunk /= 2;
  }
  return chunk;
}

std::vector<model::ChannelPart> cut_point_to_point(const CutRequest& request) {
  const std::uint64_t bytes = request.operation.bytes;
  const std::uint64_t channels = std::max(request.operation.num_channels, 1U);
  const std::uint64_t per_part =
      std::max(round_up(divide_up(bytes, channels), kP2pPartGrain), kP2pPartGrain);
  std::vector<model::ChannelPart> parts;
  for (std::uint64_t offset = 0; offset < bytes; offset += per_part) {
    model::ChannelPart& part = parts.emplace_back();
    part.channel = request.first_channel + static_cast<std::uint32_t>(parts.size() - 1);
    part.count = std::min(per_part, bytes - offset);
    part.chunk_count = p2p_chunk_bytes(request);
  }
  return parts;
}

void repair(std::vector<model::ChannelPart>& parts) {
  for (model::ChannelPart& part : parts) {
    if (part.chunk_count == 0) part.chunk_count = std::max<std::uint64_t>(part.count, 1);
  }
}

}  // namespace

Cut cut_operation(const CutRequest& request) {
  const Operation& operation = request.operation;
  Cut cut;
  const bool p2p = is_point_to_point(operation.function);
  cut.element_bytes = p2p ? 1 : std::max(operation.element_bytes, 1U);
  const Pipelining steps = pipelining(operation);
  if (!p2p && protocol_of(operation) == NcclProtocol::kSimple) {
    cut.slices_per_chunk = std::max(steps.chunk_steps / steps.slice_steps, 1U);
    cut.least_slice_count = std::max<std::uint64_t>(
        step_bytes(operation) * steps.slice_steps / 32 / cut.element_bytes, 1);
  }
  cut.slots = std::max(static_cast<std::uint32_t>(kSteps) / steps.slice_steps, 1U);
  if (!request.parts.empty()) {
    cut.parts = request.parts;
  } else {
    cut.parts = p2p ? cut_point_to_point(request) : cut_collective(request);
  }
  repair(cut.parts);
  return cut;
}

NcclProtocol protocol_of(const Operation& operation) {
  if (operation.protocol != NcclProtocol::kNone) return operation.protocol;
  const std::uint64_t channels = std::max({operation.num_channels, operation.num_parts, 1U});
  const bool small =
      is_point_to_point(operation.function) && operation.bytes <= kP2pLlThreshold * channels;
  return small ? NcclProtocol::kLl : NcclProtocol::kSimple;
}

std::uint64_t wire_bytes(NcclProtocol protocol, std::uint64_t bytes) {
  if (protocol == NcclProtocol::kLl) return divide_up(bytes, 8) * 16;
  if (protocol == NcclProtocol::kLl128) return divide_up(bytes, 120) * 128;
  return bytes;
}

}  // namespace assay::goal
