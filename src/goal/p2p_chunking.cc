#include "goal/p2p_chunking.h"

#include <algorithm>

namespace assay::goal {
namespace {

using model::NcclProtocol;

constexpr std::uint64_t kLlThreshold = 16ULL << 10;   // NCCL_P2P_LL_THRESHOLD
constexpr std::uint64_t kLlStep = 64ULL << 10;        // with as many bytes of flags as of data
constexpr std::uint64_t kNvlinkStep = 512ULL << 10;   // NCCL_P2P_NVL_CHUNKSIZE
constexpr std::uint64_t kNetworkStep = 128ULL << 10;  // NCCL_P2P_NET_CHUNKSIZE
constexpr std::uint64_t kPartGrain = 4ULL << 10;

// Between two ranks, as NCCL logs them with NVLink inside the nodes.
constexpr std::uint32_t kChannelsPerPeerInNode = 32;
constexpr std::uint32_t kChannelsPerPeerOverNodes = 2;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

bool over_nodes(const CutRequest& request) {
  return request.num_nodes > 1 || request.distance == Distance::kOtherNode;
}

std::uint32_t most_channels(const CutRequest& request) {
  return over_nodes(request) ? kChannelsPerPeerOverNodes : kChannelsPerPeerInNode;
}

std::uint64_t step_bytes(const CutRequest& request) {
  if (protocol_of(request) == NcclProtocol::kLl) return kLlStep;
  return over_nodes(request) ? kNetworkStep : kNvlinkStep;
}

std::uint64_t chunk_bytes(const CutRequest& request) {
  const std::uint64_t step = step_bytes(request);
  if (protocol_of(request) == NcclProtocol::kLl) return step / 2;
  if (request.distance == Distance::kSameNode) return step;
  if (request.operation.bytes < step) return step / 4;
  return request.operation.bytes < 8 * step ? step / 2 : step;
}

}  // namespace

NcclProtocol p2p_protocol(const CutRequest& request) {
  const std::uint64_t channels = std::max(
      {request.operation.num_channels, request.operation.num_parts, most_channels(request)});
  const bool small = request.operation.bytes <= kLlThreshold * channels;
  return small && request.distance == Distance::kSameNode ? NcclProtocol::kLl
                                                          : NcclProtocol::kSimple;
}

std::uint32_t p2p_channels(const CutRequest& request) {
  if (request.operation.num_channels > 0) return request.operation.num_channels;
  const std::uint64_t bytes = request.operation.bytes;
  const std::uint64_t step = step_bytes(request);
  const std::uint64_t least_part = over_nodes(request) ? step / 2 : step / 8;
  const std::uint64_t most_part = over_nodes(request) ? step : step * 32;
  // Few enough that a rank can talk to all others at once.
  std::uint32_t channels = most_channels(request);
  while (channels > 1 && channels * request.num_ranks > kP2pChannels)
    channels /= 2;
  channels = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(divide_up(bytes, least_part), 1, channels));
  while (divide_up(bytes, channels) > most_part && channels <= most_channels(request) / 2)
    channels *= 2;
  return channels;
}

std::vector<model::ChannelPart> cut_point_to_point(const CutRequest& request) {
  const std::uint64_t bytes = request.operation.bytes;
  const std::uint64_t per_channel = divide_up(bytes, p2p_channels(request));
  const std::uint64_t per_part =
      std::max<std::uint64_t>(divide_up(per_channel, kPartGrain), 1) * kPartGrain;
  std::vector<model::ChannelPart> parts;
  for (std::uint64_t offset = 0; offset < bytes; offset += per_part) {
    model::ChannelPart& part = parts.emplace_back();
    part.channel = request.first_channel + static_cast<std::uint32_t>(parts.size() - 1);
    part.count = std::min(per_part, bytes - offset);
    part.chunk_count = chunk_bytes(request);
  }
  return parts;
}

}  // namespace assay::goal
