// How NCCL cuts a Send with its Recv, where a recording does not say: its protocol, channels and
// chunks. They follow from the communicator as a whole: one that spans nodes has smaller chunks and
// fewer channels between any two ranks, also those of one node.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/chunking.h"

namespace assay::goal {

// The channels that all sends and receives of a communicator share; a power of two.
inline constexpr std::uint32_t kP2pChannels = 32;

// LL within a node up to NCCL_P2P_LL_THRESHOLD for each channel that the two ranks may use, else
// Simple: over the network NCCL has no LL buffers for sends unless NCCL_ALLOC_P2P_NET_LL_BUFFERS is
// set.
model::NcclProtocol p2p_protocol(const CutRequest& request);

// The recorded number of channels, or NCCL's choice by the bytes; at least 1.
std::uint32_t p2p_channels(const CutRequest& request);

// Counts are bytes. Nothing for no bytes.
std::vector<model::ChannelPart> cut_point_to_point(const CutRequest& request);

}  // namespace assay::goal
