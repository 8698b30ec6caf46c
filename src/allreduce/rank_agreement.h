// What the ranks of a communicator must have in common before any kernel runs. It knows no CUDA, so
// that it is tested without a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"

namespace assay::allreduce {

// What a rank tells of itself in its handle. All ranks see the same facts, so all judge alike.
struct RankFacts {
  std::uint64_t workspace_bytes;
  std::uint32_t magic;
  std::uint32_t library;       // a number for each version of the library
  std::uint32_t nccl_version;  // 22807 is 2.28.7; 0 without NCCL
  std::uint32_t table;         // of the hash of the loaded table; 0 without a table
  float deadline_seconds;
  std::uint32_t gpu;  // where it is on PCI: domain, bus and device
  std::uint16_t multiprocessors;
  std::uint16_t sm_version;
  std::uint8_t rank;
  std::uint8_t world_size;
  std::uint8_t is_deterministic;
  std::uint8_t unused;
};

constexpr std::uint32_t kHandleMagic = 0x41535233;  // "ASR3"

struct Agreement {
  // This is what the smallest GPU has, or a rank's part of it. Launch shapes must be the same on
  // all.
  int multiprocessors = 0;
  bool shares_gpus = false;  // whether several ranks run on one GPU
  std::string no_nccl = {};  // why NCCL is not used; empty where it is
};

// Fails with the rank and what differs where ranks cannot work together, and where two are on one
// GPU, unless that is allowed. Each then has a part of the GPU. SMs stay idle when all but one of
// these ranks wait, because a kernel that wants more shared memory than an SM is set to comes onto
// an idle one only. A rank without NCCL, or with another version of it, switches it off for all.
core::Result<Agreement> agree(std::span<const RankFacts> facts, bool may_share_gpus);

}  // namespace assay::allreduce
