// What makers publish of their GPUs. A new one is an entry of the table in published_gpu.cc.
#pragma once

#include <string_view>

namespace assay::store {

inline constexpr std::string_view kComputeCapabilities = "NVIDIA, CUDA GPU compute capability";

struct PublishedGpu {
  std::string_view name;      // as CUDA calls the device
  std::string_view document;  // that says all but the two that name another
  int sm_version = 0;         // kComputeCapabilities
  double memory_bytes_per_s = 0;
  double memory_bytes = 0;
  double half_flops = 0;  // tensor cores, dense: float16 and bfloat16, per second
  double int8_flops = 0;
  double fp8_flops = 0;  // 0: it has none
  double watts = 0;
  double link_bytes_per_s = 0;  // NVLink, one direction
  double pcie_bytes_per_s = 0;  // one direction
  int gpus_per_node = 0;        // `board`
  std::string_view board;       // document of the board that carries as many
};

// Null: not in the table.
const PublishedGpu* find_published_gpu(std::string_view device);

}  // namespace assay::store
