// The rules by which NCCL cuts an operation into parts for its channels, chunks, slices, and bytes
// on the wire.
// Sources: NCCL 2.20.5 and 2.28.9, src/enqueue.cc and src/device/prims_*.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// The cut of an operation, which all its ranks share.
struct Cut {
  std::vector<model::ChannelPart> parts;
  std::uint32_t element_bytes = 1;
  std::uint32_t slices_per_chunk = 1;
  // The fewest elements of a slice, so that small chunks are not cut.
  std::uint64_t least_slice_count = 1;
  // Messages to another node are not cut into slices if this is true: a proxy sends whole chunks.
  bool whole_over_nodes = false;
  // The threads of a block wait for each other between slices if this is true.
  bool slices_wait = true;
  // The number of slices that a receiver has buffers for: slice i may arrive once slice i - slots
  // was taken out.
  std::uint32_t slots = 8;
};

enum class Distance { kSameNode, kOtherNode };

struct CutRequest {
  const model::Operation& operation;
  const std::vector<model::ChannelPart>& parts;  // recorded for its GPU; may be empty
  std::uint32_t num_ranks = 1;
  std::uint32_t num_nodes = 1;
  // First channel of the operation; ignored where `parts` are recorded.
  std::uint32_t first_channel = 0;
  Distance distance = Distance::kSameNode;  // distance to the peer of a send or receive
};

// Keeps recorded parts. Otherwise makes parts by NCCL's rules from the bytes and the number of
// channels (1 if unknown) of the operation.
Cut cut_operation(const CutRequest& request);

// Calls body(count) for the slices of a chunk, one after another.
template <class Body>
void for_each_slice(const Cut& cut, std::uint64_t chunk_count, Body body) {
  constexpr std::uint64_t kGrain = 16;
  const std::uint64_t cell = kGrain * cut.slices_per_chunk;
  const std::uint64_t even = (chunk_count + cell - 1) / cell * kGrain;
  const std::uint64_t slice = std::max(even, cut.least_slice_count);
  for (std::uint64_t offset = 0; offset < chunk_count; offset += slice) {
    body(std::min(slice, chunk_count - offset));
  }
}

// Returns the recorded protocol. Where none was recorded, this is Simple for collectives and the
// choice of p2p_protocol for sends and receives.
model::NcclProtocol protocol_of(const CutRequest& request);

// Returns the bytes that `bytes` of data take on a link: LL sends 8 bytes of flags with every 8 of
// data, LL128 sends 8 with every 120.
std::uint64_t wire_bytes(model::NcclProtocol protocol, std::uint64_t bytes);

// The rules by which NCCL cuts a Send and its Recv if the recording does not say how they were cut.
// The protocol, channels and chunks follow from the communicator as a whole: one that spans nodes
// has smaller chunks and fewer channels between any two ranks, even between ranks of one node.

// The number of channels that all sends and receives of a communicator share; a power of two.
inline constexpr std::uint32_t kP2pChannels = 32;

// Returns LL within a node up to NCCL_P2P_LL_THRESHOLD bytes for each channel that the two ranks
// may use, otherwise Simple: NCCL has no LL buffers for sends over the network unless
// NCCL_ALLOC_P2P_NET_LL_BUFFERS is set.
model::NcclProtocol p2p_protocol(const CutRequest& request);

// Returns the recorded number of channels, or else NCCL's choice for the bytes; at least 1.
std::uint32_t p2p_channels(const CutRequest& request);

// Returns parts whose counts are bytes; no parts for 0 bytes.
std::vector<model::ChannelPart> cut_point_to_point(const CutRequest& request);

}  // namespace assay::goal
