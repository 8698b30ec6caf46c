// PAT ReduceScatter: the AllGather of pat_all_gather.cc backwards, with sums.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower(const ChannelTask& task, Primitives& primitives) {
  const std::int32_t n = task.num_ranks;
  std::int32_t farthest = 1;
  while (farthest * 2 < n)
    farthest *= 2;
  for_each_chunk(task, [&](std::uint64_t count) {
    for (std::int32_t distance = farthest; distance > 0 && n > 1; distance /= 2) {
      const std::int32_t to = (task.rank + distance) % n;
      const std::int32_t from = (task.rank + n - distance) % n;
      const auto parts = static_cast<std::uint64_t>(std::min(distance, n - distance));
      primitives.send(to, parts * count);
      primitives.recv_reduce_copy(from, parts * count);
    }
  });
}

const LoweringSpec kPatReduceScatter{.name = "pat_reduce_scatter",
                                     .function = model::NcclFunction::kReduceScatter,
                                     .algorithm = model::NcclAlgorithm::kPat,
                                     .lower = lower};
ASSAY_REGISTER(LoweringSpec, kPatReduceScatter);

}  // namespace
}  // namespace assay::goal
