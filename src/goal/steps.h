// The steps of one GPU's part of an exchange, channel by channel.
#pragma once

#include <cstdint>

#include "goal/lowering.h"
#include "goal/resolve.h"

namespace assay::goal {

// Who takes part, seen from one GPU.
struct Part {
  std::uint32_t exchange = 0;
  const model::Operation* operation = nullptr;  // the GPU's own
  const Shape* shape = nullptr;
  const Topology* topology = nullptr;
  const model::Communicator* communicator = nullptr;
  std::int32_t rank = 0;  // of the GPU in the communicator

  // The GPU, which is the rank in the schedule, of a rank of the communicator.
  [[nodiscard]] std::uint32_t gpu(std::int32_t rank_of_communicator) const {
    return communicator->gpus[static_cast<std::size_t>(rank_of_communicator)];
  }
};

Part part_of(const Resolved& resolved, std::uint32_t gpu, const Call& call);

// Lowers one channel's part; `primitives` is cleared first. Nothing for a communicator of one.
void lower_channel(const Part& part, const model::ChannelPart& channel, Primitives& primitives);

}  // namespace assay::goal
