// What the kernels that gather tokens share.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_kernels.h"

namespace assay::collect {

inline constexpr int kMostChoices = 64;

template <class T>
struct alignas(8 * sizeof(T)) Eight {
  T values[8];
};

// The next row of the expert that was chosen at `at` of [tokens, top_k]; -1: it is not a local one.
__device__ inline int claim_row(const MoeArguments& with, std::int64_t at) {
  const int expert = with.chosen[at];
  const int row = expert < with.local_experts ? atomicAdd(&with.cursors[expert], 1) : -1;
  with.positions[at] = row;
  return row;
}

}  // namespace assay::collect
