// The gates of the gated delta rule.
#pragma once

#include "collect/cuda/delta_net_kernels.h"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {

inline constexpr float kNormEpsilon = 1e-6F;  // added to the squares of a query's or key's elements

struct DeltaGates {
  float decay_log;  // of the state; at most 0
  float rate;       // of the update, between 0 and 1
};

__device__ inline DeltaGates delta_gates(const DeltaNetArguments& arguments,
                                         std::int64_t token,
                                         std::int64_t head) {
  const std::int64_t at = token * arguments.spec.value_heads + head;
  const float x =
      as_float(static_cast<const __nv_bfloat16*>(arguments.alpha)[at]) + arguments.step_bias[head];
  const float softplus = x > 20.0F ? x : log1pf(expf(x));
  const float beta = as_float(static_cast<const __nv_bfloat16*>(arguments.beta)[at]);
  return {.decay_log = -expf(arguments.rate_log[head]) * softplus,
          .rate = 1.0F / (1.0F + expf(-beta))};
}

}  // namespace assay::collect
