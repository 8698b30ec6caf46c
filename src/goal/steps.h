// Lowers the part of one GPU in an exchange to steps, channel by channel, and counts its messages.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "goal/costs.h"
#include "goal/lowering.h"
#include "goal/resolve.h"

namespace assay::goal {

// An exchange as one GPU sees it.
struct Part {
  std::uint32_t exchange = 0;
  const model::Operation* operation = nullptr;  // the GPU's own
  const Shape* shape = nullptr;
  const Topology* topology = nullptr;
  const model::Communicator* communicator = nullptr;
  std::int32_t rank = 0;  // rank of the GPU in the communicator

  // Returns the GPU of a rank of the communicator. It is the rank in the schedule.
  [[nodiscard]] std::uint32_t gpu(std::int32_t rank_of_communicator) const {
    return communicator->gpus[static_cast<std::size_t>(rank_of_communicator)];
  }
};

Part part_of(const Resolved& resolved, std::uint32_t gpu, const Call& call);

// The launch of a kernel: that of the slowest protocol among its calls, and none of a computation.
std::uint64_t launch_ns(const Resolved& resolved,
                        std::uint32_t gpu,
                        const Launch& launch,
                        const Costs& costs);

// Lowers the part of one channel. Clears `primitives` first, and adds nothing for a communicator of
// one rank.
void lower_channel(const Part& part, const model::ChannelPart& channel, Primitives& primitives);

// Calls body(count) for the slices of a step, one after another.
template <class Body>
void for_each_slice(const Part& part, const Step& step, Body body) {
  if (!step.whole) return for_each_slice(part.shape->cut, step.count, body);
  body(step.count);
}

// The number of messages that a GPU exchanges with each peer is known before any is made; the tags
// are planned from it.
struct PeerMessages {
  std::uint32_t peer = 0;  // GPU
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
};

// Counts messages of one GPU's exchanges. Exchanges of the same shape are counted once.
class MessageCounter {
 public:
  MessageCounter(const Resolved& resolved, std::uint32_t gpu) : resolved_(resolved), gpu_(gpu) {}

  // Returns the counts in no particular order, without peers that exchange nothing. Valid until the
  // next call.
  const std::vector<PeerMessages>& count(const Call& call);

 private:
  void add_channel(const Part& part, std::vector<PeerMessages>& counts);

  const Resolved& resolved_;
  std::uint32_t gpu_;
  Primitives primitives_;
  std::unordered_map<std::uint64_t, std::vector<PeerMessages>> known_;  // by shape and peer
};

}  // namespace assay::goal
