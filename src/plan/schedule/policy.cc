#include "plan/schedule/policy.h"

#include "core/check.h"

namespace assay::plan {

const Policy& policy_of(Engine engine) {
  for (const Policy* policy : core::Registry<Policy>::all())
    if (policy->engine == engine) return *policy;
  ASSAY_CHECK(false, "an engine without a policy");
}

std::vector<std::int64_t> graph_batches_to(std::int64_t most, std::int64_t step) {
  std::vector<std::int64_t> batches;
  for (const std::int64_t small : {1, 2, 4})
    if (small <= most && small < step) batches.push_back(small);
  for (std::int64_t batch = step; batch <= most; batch += step)
    batches.push_back(batch);
  return batches;
}

}  // namespace assay::plan
