// How NCCL cuts an operation: into parts for its channels, chunks, slices, and bytes on the wire.
// Sources: NCCL 2.20.5 and 2.28.9, src/enqueue.cc and src/device/prims_*.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// An operation as all its ranks see it.
struct Cut {
  std::vector<model::ChannelPart> parts;
  std::uint32_t element_bytes = 1;
  std::uint32_t slices_per_chunk = 1;
  // Elements that a slice has at least, so that small chunks are not cut.
  std::uint64_t least_slice_count = 1;
  // Slices that a receiver has buffers for: slice i may come when slice i - slots was taken out.
  std::uint32_t slots = 8;
};

enum class Distance { kSameNode, kOtherNode };

struct CutRequest {
  const model::Operation& operation;
  const std::vector<model::ChannelPart>& parts;  // those recorded of its GPU; may be none
  std::uint32_t num_ranks = 1;
  std::uint32_t num_nodes = 1;
  std::uint32_t first_channel = 0;          // where the operation's channels begin; without `parts`
  Distance distance = Distance::kSameNode;  // to the peer of a send or receive
};

// Recorded parts are kept as they are; others are made by NCCL's rules from the operation's bytes
// and number of channels (1 if unknown).
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

// The recorded protocol, or where none was Simple for collectives and NCCL's choice for sends and
// receives (goal/p2p_chunking.h).
model::NcclProtocol protocol_of(const CutRequest& request);

// What `bytes` of data are on a link: LL sends 8 bytes of flags with 8 of data, LL128 8 with 120.
std::uint64_t wire_bytes(model::NcclProtocol protocol, std::uint64_t bytes);

}  // namespace assay::goal
