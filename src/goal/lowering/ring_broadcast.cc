// Broadcast along the ring from the root to the rank before it.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower_ring_broadcast(const ChannelTask& task, Primitives& primitives) {
  for_each_chunk(task, [&](std::uint64_t count) {
    if (task.rank == task.root) {
      primitives.send(task.ring_next, count);
    } else if (task.ring_next == task.root) {
      primitives.recv(task.ring_previous, count);
    } else {
      primitives.recv_copy_send(task.ring_previous, task.ring_next, count);
    }
  });
}

const LoweringSpec kRingBroadcast{.name = "ring_broadcast",
                                  .function = model::NcclFunction::kBroadcast,
                                  .algorithm = model::NcclAlgorithm::kRing,
                                  .lower = lower_ring_broadcast};
ASSAY_REGISTER(LoweringSpec, kRingBroadcast);

}  // namespace
}  // namespace assay::goal
