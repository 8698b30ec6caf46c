// PAT AllGather: see pat.h.
#include "goal/lowering/pat.h"

namespace assay::goal {
namespace {

void lower(const ChannelTask& task, Primitives& primitives) {
  const std::int32_t n = task.num_ranks;
  const PatPlan plan = plan_pat(task);
  for_each_chunk(task, [&](std::uint64_t count) {
    for (const PatStep& step : plan.steps) {
      const std::int32_t to = (task.rank + n - step.distance) % n;
      const std::int32_t from = (task.rank + step.distance) % n;
      for_each_message(plan, step,
                       [&](std::uint64_t parts) { primitives.send(to, parts * count); });
      for_each_message(plan, step,
                       [&](std::uint64_t parts) { primitives.recv(from, parts * count); });
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
