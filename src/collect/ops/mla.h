// Multi-head latent attention as DeepSeek-V3 has it: 128 heads, of which a GPU has 128 / tp_size.
#pragma once

#include <vector>

#include "collect/ops/values.h"

namespace assay::collect {

constexpr std::int64_t kMlaNopeDim = 128;    // of a query and key, without position
constexpr std::int64_t kMlaRopeDim = 64;     // with position, one for all heads
constexpr std::int64_t kMlaValueDim = 128;   // of a head
constexpr std::int64_t kMlaLatentDim = 512;  // what the cache holds instead of keys and values

// mla_dtype, kv_cache_dtype, num_heads, batch_size, isl, tp_size, step.
std::vector<Axis> mla_axes(Axis batch_size, Axis isl, Axis step);
std::vector<AxisGroup> mla_groups();

}  // namespace assay::collect
