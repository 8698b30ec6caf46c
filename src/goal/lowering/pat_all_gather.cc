// PAT (parallel aggregated trees) AllGather, which NCCL 2.23 and later use with one GPU a node:
// log2(n) exchanges; at distance d a rank sends on up to d parts that it has. NCCL exchanges over
// the far distances first and cuts the aggregates to its buffers; the messages at each distance
// are the same in number and bytes as here, where an aggregate goes chunk by chunk.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower(const ChannelTask& task, Primitives& primitives) {
  const std::int32_t n = task.num_ranks;
  for_each_chunk(task, [&](std::uint64_t count) {
    for (std::int32_t distance = 1; distance < n; distance *= 2) {
      const std::int32_t to = (task.rank + n - distance) % n;
      const std::int32_t from = (task.rank + distance) % n;
      const auto parts = static_cast<std::uint64_t>(std::min(distance, n - distance));
      primitives.send(to, parts * count);
      primitives.recv(from, parts * count);
    }
  });
}

const LoweringSpec kPatAllGather{.name = "pat_all_gather",
                                 .function = model::NcclFunction::kAllGather,
                                 .algorithm = model::NcclAlgorithm::kPat,
                                 .lower = lower};
ASSAY_REGISTER(LoweringSpec, kPatAllGather);

}  // namespace
}  // namespace assay::goal
