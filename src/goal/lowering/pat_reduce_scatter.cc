// The AllGather of pat_all_gather.cc backwards, with sums.
#include <algorithm>

#include "goal/lowering/pat.h"

namespace assay::goal {
namespace {

void lower(const ChannelTask& task, Primitives& primitives) {
  const std::int32_t n = task.num_ranks;
  PatPlan plan = plan_pat(task);
  std::reverse(plan.steps.begin(), plan.steps.end());
  for_each_chunk(task, [&](std::uint64_t count) {
    for (const PatStep& step : plan.steps) {
      const std::int32_t to = (task.rank + step.distance) % n;
      const std::int32_t from = (task.rank + n - step.distance) % n;
      for_each_message(plan, step,
                       [&](std::uint64_t parts) { primitives.send(to, parts * count); });
      for_each_message(plan, step, [&](std::uint64_t parts) {
        primitives.recv_reduce_copy(from, parts * count);
      });
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
