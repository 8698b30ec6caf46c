// Ring AllGather: every rank's part travels around the ring once.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower_ring_all_gather(const ChannelTask& task, Primitives& primitives) {
  for_each_chunk(task, [&](std::uint64_t count) {
    primitives.send(task.ring_next, count);
    for (std::int32_t j = 1; j + 1 < task.num_ranks; ++j) {
      primitives.recv_copy_send(task.ring_previous, task.ring_next, count);
    }
    primitives.recv(task.ring_previous, count);
  });
}

const LoweringSpec kRingAllGather{.name = "ring_all_gather",
                                  .function = model::NcclFunction::kAllGather,
                                  .algorithm = model::NcclAlgorithm::kRing,
                                  .lower = lower_ring_all_gather};
ASSAY_REGISTER(LoweringSpec, kRingAllGather);

}  // namespace
}  // namespace assay::goal
