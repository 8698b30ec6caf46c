// What a kernel must move and compute at least, whatever its implementation, and the memory that
// its buffers need. Each byte that is read or written counts once, as if caches were boundless.
#pragma once

#include <cstdint>

#include "collect/kernels/kernels.h"

namespace assay::collect {

// What a launch must move and compute at least.
struct Cost {
  double bytes = 0;
  double flops = 0;                     // multiplications and additions, 2 for a fused pair
  DataType type = DataType::kBfloat16;  // of the products: which peak counts
  double link_bytes = 0;                // a rank sends them over links and receives as many
};

Cost cost_of(const KernelSpec& spec);

// Of inputs, outputs and what lies between kernels; one copy.
double footprint_bytes(const KernelSpec& spec);

// Keys that the queries of one head attend to, all queries together.
double attended_keys(const AttentionSpec& spec);

// (token, expert) pairs on the GPU that has most of them, at least.
std::int64_t least_pairs(const MoeSpec& spec);

// Experts of that GPU that have a token, at least.
std::int64_t least_experts(const MoeSpec& spec);

}  // namespace assay::collect
