// The shapes of the self-test, which together reach each path of each family of kernels.
#pragma once

#include <string>
#include <vector>

#include "collect/kernels/kernels.h"
#include "model/perf.h"

namespace assay::collect {

struct SelfTestShape {
  std::string name;
  KernelSpec spec;
  model::L2State l2 = model::L2State::kHot;
  double bytes = 0;  // the fewest that must be moved
  double flops = 0;
};

std::vector<SelfTestShape> self_test_shapes();

// Attentions of all kinds, small enough to check each of them in a moment.
std::vector<AttentionSpec> attention_examples();

}  // namespace assay::collect
