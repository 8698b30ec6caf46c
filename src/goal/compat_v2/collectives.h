// Lowers NCCL's operations to primitives as the public generator does, one channel of one rank at a
// time. A channel is a fork: its chunks and steps run side by side, and only the messages keep the
// order of a ring.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/compat_v2/primitives.h"
#include "model/job.h"

namespace assay::goal::compat_v2 {

// The neighbours of a rank in one channel, as ranks of the communicator; -1 for none.
struct Neighbours {
  std::int32_t previous = -1;
  std::int32_t next = -1;
  std::int32_t up = -1;
  std::vector<std::int32_t> down = {};
};

struct ChannelWork {
  const model::Operation& operation;
  const model::ChannelPart& part;
  const model::Communicator& communicator;
  std::int32_t rank = 0;
  Neighbours neighbours = {};
  Slicing slicing = {};
};

// Finds the GPUs of ranks, and the links to and from them.
class Peers {
 public:
  Peers(const model::Job& job, std::uint32_t gpu) : job_(&job), gpu_(gpu) {}

  [[nodiscard]] Link to(GraphWriter& writer,
                        const model::Communicator& communicator,
                        std::int32_t rank) const {
    const std::uint32_t peer = communicator.gpus[static_cast<std::size_t>(rank)];
    return writer.send_link(peer, same_node(peer));
  }

  [[nodiscard]] Link from(GraphWriter& writer,
                          const model::Communicator& communicator,
                          std::int32_t rank) const {
    const std::uint32_t peer = communicator.gpus[static_cast<std::size_t>(rank)];
    return writer.receive_link(peer, same_node(peer));
  }

 private:
  [[nodiscard]] bool same_node(std::uint32_t peer) const {
    return job_->gpus[peer].node == job_->gpus[gpu_].node;
  }

  const model::Job* job_;
  std::uint32_t gpu_;
};

// Returns whether the generator can lower the operation.
bool is_known(const model::Operation& operation);

// Writes one channel of a collective. All that it needs of the communicator must be recorded.
Ends write_channel(const ChannelWork& work, const Peers& peers, GraphWriter& writer);

// Writes one channel's part of a send or receive.
Ends write_transfer(const ChannelWork& work, const Peers& peers, GraphWriter& writer);

}  // namespace assay::goal::compat_v2
