// Which operations of the GPUs belong together, and which of these are whole and agree.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/job.h"

namespace assay::goal {

// One AllReduce of a whole communicator, one Send with its Recv.
struct Exchange {
  model::NcclFunction function = model::NcclFunction::kAllReduce;  // kSendRecv for the latter
  std::uint32_t communicator = 0;
  std::int32_t source = -1;  // of a send, ranks of the communicator
  std::int32_t destination = -1;
  std::uint64_t sequence = 0;
  std::uint32_t shape = 0;  // index into Resolved::shapes
  // One of its operations, which stands for all.
  std::uint32_t gpu = 0;
  std::uint32_t operation = 0;
};

// What to do with exchanges that do not fit together.
enum class Misfits { kLeaveOut, kFail };

inline constexpr std::uint32_t kNoExchange = 0xFFFFFFFF;

struct Joined {
  std::vector<Exchange> exchanges;                      // without their shapes
  std::vector<bool> keep;                               // by exchange; false: left out
  std::vector<std::vector<std::uint32_t>> exchange_of;  // by GPU, operation; or kNoExchange
};

// Counts in `warnings` what is left out. Fails when nothing can be joined at all, or with kFail at
// the first misfit.
core::Result<Joined> join_operations(const model::Job& job,
                                     Misfits misfits,
                                     model::Warnings& warnings);

}  // namespace assay::goal
