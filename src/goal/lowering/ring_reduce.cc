// Reduce along the ring from the rank after the root to the root.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower_ring_reduce(const ChannelTask& task, Primitives& primitives) {
  for_each_chunk(task, [&](std::uint64_t count) {
    if (task.ring_previous == task.root) {
      primitives.send(task.ring_next, count);
    } else if (task.rank == task.root) {
      primitives.recv_reduce_copy(task.ring_previous, count);
    } else {
      primitives.recv_reduce_send(task.ring_previous, task.ring_next, count);
    }
  });
}

const LoweringSpec kRingReduce{.name = "ring_reduce",
                               .function = model::NcclFunction::kReduce,
                               .algorithm = model::NcclAlgorithm::kRing,
                               .lower = lower_ring_reduce};
ASSAY_REGISTER(LoweringSpec, kRingReduce);

}  // namespace
}  // namespace assay::goal
