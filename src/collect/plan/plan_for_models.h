// The cases that serving models needs.
#pragma once

#include <string>
#include <vector>

#include "collect/plan/plan.h"
#include "model/serving/needs.h"

namespace assay::collect {

// A use that no operator of this program measures, or one with a value that its operator does not
// take.
struct Unmeasured {
  std::string operator_name;
  std::string reason;
  std::int64_t uses = 0;
};

struct ModelsPlan {
  Plan plan;
  std::vector<Unmeasured> unmeasured;
};

// Each use gives the cases of its operator that have its key, with the sizes of options.grid
// between which a store interpolates. options.operators limits the plan to these operators;
// options.overrides has no meaning.
//
// The plan also has the decoding layers of those of the models that ship with assay: each as
// decode_layer's sweep takes it, as far as the request has its quantization and its number of GPUs.
ModelsPlan plan_for_models(const serving::NeedsRequest& request,
                           const std::vector<serving::Need>& needs,
                           const PlanOptions& options);

}  // namespace assay::collect
