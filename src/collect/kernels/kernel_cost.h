// The least that a kernel must move and compute, whatever its implementation, the memory that its
// buffers need, and the reasons why hardware or memory rules it out. Each byte that is read or
// written counts once, as if caches were unlimited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

struct Cost {
  double bytes = 0;
  double flops = 0;                     // a multiplication and an addition count 2
  DataType type = DataType::kBfloat16;  // the type of the products, which decides the peak
  double link_bytes = 0;                // that a rank sends over links; it receives as many
};

Cost cost_of(const KernelSpec& spec);

// The bytes of inputs, outputs and the data between kernels, for one copy.
double footprint_bytes(const KernelSpec& spec);

// The number of keys that the queries of one head attend to, summed over all queries.
double attended_keys(const AttentionSpec& spec);

// What the routing gives to the GPU that gets most tokens.
struct DrawnExperts {
  std::int64_t pairs = 0;    // of a token and an expert
  std::int64_t experts = 0;  // that have a token
};

DrawnExperts drawn_experts(const MoeSpec& spec);

// Why this kernel cannot run on the device, as far as that is known before anything is tried;
// std::nullopt if it may run. The device itself reports what a library refuses.
std::optional<std::string> limit_of(const KernelSpec& spec, const DeviceFacts& facts);

}  // namespace assay::collect
