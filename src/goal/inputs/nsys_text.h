// Reads the NVTX texts of an instrumented NCCL (2.20 and 2.28) in place.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/job.h"

namespace assay::goal {

enum class NvtxKind : std::uint8_t {
  kOther,
  kCommunicator,  // "commHash 0x.. commId 0x.. rank R nranks N pid P"
  kRing,          // "commHash 0x.. Rings [C] PREV->ME->NEXT pid P"
  kTree,          // "commHash 0x.. Trees [C] D0/D1/D2->ME->UP pid P"
  kGroupStart,
  kGroupEnd,
  kLaunch,            // "ncclLaunchKernel(): pid P"
  kCall,              // "ncclAllReduce(): commHash 0x.., stream 0x.., data_size B, .. pid P"
  kCollective,        // "collType F .. pid P": what NCCL chose for a collective
  kCollectivePart,    // "nWarps n count c .. pid P": one channel's share of it
  kPointToPointPart,  // "Bytes b nWarps n p2pType t peer r .. pid P"
  kWindowStart,       // "nsys profiling start, pid: P"
  kWindowStop,        // "nsys profiling stopped, pid: P"
};

// The kind determines which members a text sets; the others keep these values.
struct NvtxText {
  NvtxKind kind = NvtxKind::kOther;
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  model::NcclAlgorithm algorithm = model::NcclAlgorithm::kNone;
  model::NcclProtocol protocol = model::NcclProtocol::kNone;
  std::int64_t process_id = 0;
  std::uint64_t communicator_hash = 0;
  std::uint64_t communicator_id = 0;  // 0: the text does not say
  std::uint64_t stream = 0;
  std::int32_t rank = -1;
  std::uint32_t num_ranks = 0;
  std::uint32_t channel = 0;
  model::ChannelLinks links = {};  // kRing sets the ring, kTree sets the tree
  std::int32_t root = -1;
  std::int32_t peer = -1;
  std::uint64_t bytes = 0;
  std::uint32_t element_bytes = 1;
  std::uint32_t chunk_steps = 0;
  std::uint32_t slice_steps = 0;
  std::uint32_t step_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t work_count = 0;
  std::uint64_t last_chunk_count = 0;
  std::uint64_t work_offset = 0;
  std::uint64_t send_buffer = 0;
  std::uint64_t receive_buffer = 0;
};

// Returns whether the first bytes of a text fit one of the kinds. This is a cheap test.
bool may_be_nccl_text(std::string_view text);

// Returns kOther also for a text that begins like one of NCCL's but lacks a field of its kind.
NvtxText read_nvtx_text(std::string_view text);

}  // namespace assay::goal
