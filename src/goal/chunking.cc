#include "goal/chunking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace assay::goal {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

// The buffers of a connection in one channel (NCCL's defaults), and the steps that each is divided
// into.
constexpr std::uint64_t kSteps = 8;
constexpr std::uint64_t kSimpleBuffer = 4ULL << 20;
constexpr std::uint64_t kLlBuffer = 512ULL * 8 * 8 * 16;
constexpr std::uint64_t kLl128Buffer = 120ULL * 640 * 8 * 8;

constexpr std::uint64_t kLeastTrafficPerChannel = 16ULL << 10;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

std::uint64_t round_up(std::uint64_t a, std::uint64_t b) {
  return divide_up(a, b) * b;
}

std::uint64_t step_bytes(const CutRequest& request) {
  if (request.operation.step_bytes > 0) return request.operation.step_bytes;
  switch (protocol_of(request)) {
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

Pipelining pipelining(const CutRequest& request) {
  const Operation& operation = request.operation;
  if (operation.chunk_steps > 0 && operation.slice_steps > 0) {
    return {operation.chunk_steps, operation.slice_steps};
  }
  const bool sliced = operation.function == NcclFunction::kAllReduce ||
                      operation.function == NcclFunction::kAllGather ||
                      operation.function == NcclFunction::kReduceScatter;
  if (sliced && operation.algorithm == NcclAlgorithm::kRing &&
      protocol_of(request) == NcclProtocol::kSimple) {
    return {4, 2};
  }
  return {};
}

std::uint64_t grain_bytes(NcclProtocol protocol) {
  if (protocol == NcclProtocol::kLl) return 16;
  return protocol == NcclProtocol::kLl128 ? 1920 : 512;
}

// Deep trees with few bytes are cut into smaller chunks so that their levels overlap.
std::uint64_t shrink_ll128_tree(std::uint64_t chunk, std::uint64_t bytes, const CutRequest& from) {
  const double ranks_per_node = static_cast<double>(from.num_ranks) / from.num_nodes;
  const double steps = 1 + std::floor(std::log2(from.num_nodes)) + 0.1 * ranks_per_node;
  const auto too_few = [&](double factor) {
    const std::uint64_t chunks = bytes / chunk;  // rounded down, as NCCL does
    return static_cast<double>(chunks) < steps * factor / ranks_per_node;
  };
  while (too_few(64) && chunk > 131072)
    chunk /= 2;
  while (too_few(16) && chunk > 32768)
    chunk /= 2;
  return chunk;
}

// PAT joins the parts of several ranks into one message when they are small. NCCL compares with the
// bytes of all ranks.
std::uint64_t shrink_pat(std::uint64_t chunk, std::uint64_t bytes, const CutRequest& from) {
  const std::uint64_t factor = from.operation.function == NcclFunction::kAllGather ? 32 : 16;
  while (chunk * factor > bytes * from.num_ranks && chunk > 65536)
    chunk /= 2;
  return chunk;
}

// Bytes of the largest buffers of a channel's part, which NCCL compares with what all heads move at
// a time.
std::uint64_t whole_bytes(std::uint64_t bytes, const CutRequest& from) {
  const NcclFunction function = from.operation.function;
  const bool of_all =
      function == NcclFunction::kAllGather || function == NcclFunction::kReduceScatter;
  return of_all ? bytes * from.num_ranks : bytes;
}

std::uint64_t heads(const CutRequest& from) {
  return std::max(from.num_ranks / std::max(from.num_nodes, 1U), 1U);
}

struct ShrinkRule {
  std::uint64_t chunks;  // that all heads should have at least
  std::uint64_t chunk;   // otherwise one of this size will do
};

std::uint64_t shrink_by(std::span<const ShrinkRule> rules,
                        std::uint64_t chunk,
                        std::uint64_t bytes,
                        const CutRequest& from) {
  for (const ShrinkRule& rule : rules) {
    const bool few = whole_bytes(bytes, from) < rule.chunks * heads(from) * chunk;
    if (few && chunk > rule.chunk) chunk = rule.chunk;
  }
  return chunk;
}

constexpr std::uint64_t kNvlsChunk = 128ULL << 10;  // NCCL_NVLS_CHUNKSIZE

std::uint64_t nvls_chunk(std::uint64_t chunk, std::uint64_t bytes, const CutRequest& from) {
  constexpr std::array<ShrinkRule, 3> kRules = {{{64, 65536}, {8, 32768}, {2, 16384}}};
  return shrink_by(kRules, std::min(chunk, kNvlsChunk), bytes, from);
}

std::uint64_t nvls_tree_chunk(std::uint64_t bytes, const CutRequest& from) {
  constexpr std::array<ShrinkRule, 4> kRules = {
      {{32, 262144}, {16, 131072}, {4, 65536}, {1, 32768}}};
  return shrink_by(kRules, from.num_nodes >= 4 ? kNvlsChunk / 2 : kNvlsChunk, bytes, from);
}

// Halves chunks until there are enough of them for the levels that they pass, each rule with the
// least chunk that it makes.
std::uint64_t halve_by(std::span<const ShrinkRule> rules,
                       std::uint64_t chunk,
                       std::uint64_t bytes) {
  for (const ShrinkRule& rule : rules) {
    while (bytes / chunk < rule.chunks && chunk > rule.chunk)
      chunk /= 2;
  }
  return chunk;
}

std::uint64_t collnet_direct_chunk(std::uint64_t chunk,
                                   std::uint64_t bytes,
                                   const CutRequest& from) {
  const std::uint64_t depth = heads(from) > 1 ? 2 : 1;
  const std::array<ShrinkRule, 3> rules = {
      {{depth * 64, 131072}, {depth * 8, 65536}, {depth * 8, 32768}}};
  return halve_by(rules, chunk, whole_bytes(bytes, from) / heads(from));
}

std::uint64_t collnet_chain_chunk(std::uint64_t chunk,
                                  std::uint64_t bytes,
                                  const CutRequest& from) {
  const std::uint64_t depth = heads(from);
  const std::array<ShrinkRule, 3> rules = {
      {{depth * 64, 131072}, {depth * 8, 65536}, {depth, 32768}}};
  return halve_by(rules, std::min<std::uint64_t>(chunk, 256ULL << 10), bytes);
}

// Returns `chunk` as the algorithm takes it for so many bytes in a channel.
std::uint64_t chunk_for(NcclAlgorithm algorithm,
                        std::uint64_t chunk,
                        std::uint64_t channel_bytes,
                        const CutRequest& request) {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      if (protocol_of(request) != NcclProtocol::kLl128) return chunk;
      return shrink_ll128_tree(chunk, channel_bytes, request);
    case NcclAlgorithm::kPat:
      return shrink_pat(chunk, channel_bytes, request);
    case NcclAlgorithm::kNvls:
      return nvls_chunk(chunk, channel_bytes, request);
    case NcclAlgorithm::kNvlsTree:
      return nvls_tree_chunk(channel_bytes, request);
    case NcclAlgorithm::kCollnetDirect:
      return collnet_direct_chunk(chunk, channel_bytes, request);
    case NcclAlgorithm::kCollnetChain:
      return collnet_chain_chunk(chunk, channel_bytes, request);
    default:
      return chunk;
  }
}

std::uint64_t chunk_bytes(const CutRequest& request, std::uint64_t channel_bytes) {
  const NcclProtocol protocol = protocol_of(request);
  std::uint64_t chunk = step_bytes(request) * pipelining(request).chunk_steps;
  if (protocol == NcclProtocol::kLl) chunk /= 2;
  if (protocol == NcclProtocol::kLl128) chunk = chunk / 16 * 15;
  chunk = chunk_for(request.operation.algorithm, chunk, channel_bytes, request);
  const std::uint64_t grain = grain_bytes(protocol);
  return std::max(chunk / grain * grain, grain);
}

// Returns the bytes on the wire per byte of the call's count.
std::uint64_t traffic_per_byte(const CutRequest& request) {
  std::uint64_t traffic = 1;
  const NcclFunction function = request.operation.function;
  if (function == NcclFunction::kAllReduce) traffic = 2;
  if (function == NcclFunction::kAllGather || function == NcclFunction::kReduceScatter) {
    traffic = request.num_ranks;
  }
  return protocol_of(request) == NcclProtocol::kLl ? 4 * traffic : traffic;
}

// Returns whether a switch of the network takes part: then the channels take turns.
bool through_network_switch(const CutRequest& request) {
  const NcclAlgorithm algorithm = request.operation.algorithm;
  return algorithm == NcclAlgorithm::kCollnetDirect || algorithm == NcclAlgorithm::kCollnetChain ||
         (algorithm == NcclAlgorithm::kNvls && request.num_nodes > 1);
}

// The channels take turns: in each loop, one after the other takes a chunk for each head.
std::vector<model::ChannelPart> cut_in_turns(const CutRequest& request,
                                             std::uint64_t element_bytes) {
  const Operation& operation = request.operation;
  const std::uint64_t channels = std::max(operation.num_channels, 1U);
  const std::uint64_t count = operation.bytes / element_bytes;
  const std::uint64_t chunk = std::max<std::uint64_t>(
      chunk_bytes(request, divide_up(operation.bytes, channels)) / element_bytes, 1);
  const bool one_head = operation.algorithm == NcclAlgorithm::kCollnetChain ||
                        operation.function != NcclFunction::kAllReduce;
  const std::uint64_t turn = chunk * (one_head ? 1 : heads(request));
  const std::uint64_t loops = count / (channels * turn);
  const std::uint64_t rest = count % (channels * turn);
  std::vector<model::ChannelPart> parts;
  for (std::uint64_t i = 0; i < channels; ++i) {
    const std::uint64_t before = std::min(rest, i * turn);
    const std::uint64_t own = loops * turn + std::min(rest - before, turn);
    if (own == 0) break;
    parts.push_back({.channel = request.first_channel + static_cast<std::uint32_t>(i),
                     .count = own,
                     .chunk_count = chunk});
  }
  return parts;
}

// Each channel gets whole cells; the last channel takes the rest.
std::vector<model::ChannelPart> cut_collective(const CutRequest& request,
                                               std::uint64_t element_bytes) {
  if (through_network_switch(request)) return cut_in_turns(request, element_bytes);
  const Operation& operation = request.operation;
  const std::uint64_t channels = std::max(operation.num_channels, 1U);
  const std::uint64_t cell_bytes =
      round_up(divide_up(kLeastTrafficPerChannel, traffic_per_byte(request)), 16);
  const std::uint64_t cell = std::max<std::uint64_t>(cell_bytes / element_bytes, 1);
  const std::uint64_t count = operation.bytes / element_bytes;
  const std::uint64_t per_channel = divide_up(divide_up(count, cell), channels) * cell;
  std::vector<model::ChannelPart> parts;
  for (std::uint64_t offset = 0; offset < count; offset += per_channel) {
    model::ChannelPart& part = parts.emplace_back();
    part.channel = request.first_channel + static_cast<std::uint32_t>(parts.size() - 1);
    part.count = std::min(per_channel, count - offset);
    part.chunk_count = std::max<std::uint64_t>(
        chunk_bytes(request, part.count * element_bytes) / element_bytes, 1);
  }
  return parts;
}

bool over_nodes(const CutRequest& request) {
  return request.num_nodes > 1 || request.distance == Distance::kOtherNode;
}

// With LL and LL128 a rank passes on what has come while the rest is still under way, since each
// line has its flag, and the threads that copy a part of a send put it on the link meanwhile. A
// slice is what the threads of a block move at once: 16 bytes each of a line, of which LL has 8 of
// data and LL128 15, or eight times 16 with Simple. A few are enough to show how much overlaps.
void cut_by_passes(NcclProtocol protocol, Cut& cut) {
  constexpr std::uint32_t kMostPasses = 16;
  constexpr std::array<std::uint64_t, 3> kPassBytes = {512 * 8, 640 * 15, 512 * 8 * 16};
  const std::uint64_t bytes = kPassBytes[static_cast<std::size_t>(protocol) % kPassBytes.size()];
  cut.slices_per_chunk = kMostPasses;
  cut.least_slice_count = std::max<std::uint64_t>(bytes / cut.element_bytes, 1);
  cut.slices_wait = false;
}

// Chunks from a root or to it pass the ranks of a node one after another, so that it counts how
// much of them overlaps. Around a ring all ranks send at once, between nodes as slowly as over the
// network, and slices would be many more messages.
bool is_chain_over_nodes(const CutRequest& request) {
  const NcclFunction function = request.operation.function;
  const bool has_root = function == NcclFunction::kBroadcast || function == NcclFunction::kReduce;
  return has_root && over_nodes(request);
}

// NCCL counts in bytes where it only moves data. Recorded parts count elements of the call.
std::uint32_t element_bytes(const CutRequest& request) {
  const NcclFunction function = request.operation.function;
  const bool moves = function == NcclFunction::kAllGather || function == NcclFunction::kBroadcast;
  if (is_point_to_point(function) || (moves && request.parts.empty())) return 1;
  return std::max(request.operation.element_bytes, 1U);
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
  cut.element_bytes = element_bytes(request);
  const Pipelining steps = pipelining(request);
  if (!p2p && protocol_of(request) == NcclProtocol::kSimple) {
    cut.slices_per_chunk = std::max(steps.chunk_steps / steps.slice_steps, 1U);
    cut.least_slice_count = std::max<std::uint64_t>(
        step_bytes(request) * steps.slice_steps / 32 / cut.element_bytes, 1);
  } else if (!over_nodes(request) || is_chain_over_nodes(request)) {
    cut_by_passes(protocol_of(request), cut);
    cut.whole_over_nodes = is_chain_over_nodes(request);
  }
  cut.slots = std::max(static_cast<std::uint32_t>(kSteps) / steps.slice_steps, 1U);
  if (!request.parts.empty()) {
    cut.parts = request.parts;
  } else {
    cut.parts = p2p ? cut_point_to_point(request) : cut_collective(request, cut.element_bytes);
  }
  repair(cut.parts);
  return cut;
}

NcclProtocol protocol_of(const CutRequest& request) {
  if (request.operation.protocol != NcclProtocol::kNone) return request.operation.protocol;
  const bool p2p = is_point_to_point(request.operation.function);
  return p2p ? p2p_protocol(request) : NcclProtocol::kSimple;
}

std::uint64_t wire_bytes(NcclProtocol protocol, std::uint64_t bytes) {
  if (protocol == NcclProtocol::kLl) return divide_up(bytes, 8) * 16;
  if (protocol == NcclProtocol::kLl128) return divide_up(bytes, 120) * 128;
  return bytes;
}

namespace {

using model::NcclProtocol;

constexpr std::uint64_t kLlThreshold = 16ULL << 10;   // NCCL_P2P_LL_THRESHOLD
constexpr std::uint64_t kP2pLlStep = 64ULL << 10;     // with as many bytes of flags as of data
constexpr std::uint64_t kNvlinkStep = 512ULL << 10;   // NCCL_P2P_NVL_CHUNKSIZE
constexpr std::uint64_t kNetworkStep = 128ULL << 10;  // NCCL_P2P_NET_CHUNKSIZE
constexpr std::uint64_t kPartGrain = 4ULL << 10;

// Channels between two ranks, as NCCL logs them for nodes with NVLink.
constexpr std::uint32_t kChannelsPerPeerInNode = 32;
constexpr std::uint32_t kChannelsPerPeerOverNodes = 2;

std::uint32_t most_channels(const CutRequest& request) {
  return over_nodes(request) ? kChannelsPerPeerOverNodes : kChannelsPerPeerInNode;
}

std::uint64_t p2p_step_bytes(const CutRequest& request) {
  if (protocol_of(request) == NcclProtocol::kLl) return kP2pLlStep;
  return over_nodes(request) ? kNetworkStep : kNvlinkStep;
}

std::uint64_t p2p_chunk_bytes(const CutRequest& request) {
  const std::uint64_t step = p2p_step_bytes(request);
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
  const std::uint64_t step = p2p_step_bytes(request);
  const std::uint64_t least_part = over_nodes(request) ? step / 2 : step / 8;
  const std::uint64_t most_part = over_nodes(request) ? step : step * 32;
  // Reduces the channels until a rank can talk to all others at once.
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
    part.chunk_count = p2p_chunk_bytes(request);
  }
  return parts;
}

}  // namespace assay::goal
