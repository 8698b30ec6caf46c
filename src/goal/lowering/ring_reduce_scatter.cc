// Ring ReduceScatter: every rank's part is summed on its way around the ring.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower_ring_reduce_scatter(const ChannelTask& task, Primitives& primitives) {
  for_each_chunk(task, [&](std::uint64_t count) {
    primitives.send(task.ring_next, count);
    for (std::int32_t j = 1; j + 1 < task.num_ranks; ++j) {
      primitives.recv_reduce_send(task.ring_previous, task.ring_next, count);
    }
    primitives.recv_reduce_copy(task.ring_previous, count);
  });
}

const LoweringSpec kRingReduceScatter{.name = "ring_reduce_scatter",
                                      .function = model::NcclFunction::kReduceScatter,
                                      .algorithm = model::NcclAlgorithm::kRing,
                                      .lower = lower_ring_reduce_scatter};
ASSAY_REGISTER(LoweringSpec, kRingReduceScatter);

}  // namespace
}  // namespace assay::goal
