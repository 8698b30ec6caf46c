// Whether the kernels are right on this GPU, without the rest of assay:
// `assay-worker collect --self-test [--gpus 0]`.
#pragma once

#include <vector>

namespace assay::collect {

// Checks and times some shapes of each family of kernels, a line each. Returns the exit code: 1 if
// one is wrong or fails.
int run_self_test(const std::vector<int>& gpus);

}  // namespace assay::collect
