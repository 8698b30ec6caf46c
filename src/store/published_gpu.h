// What makers publish of their GPUs. A new one is an entry of the table in published_gpu.cc.
#pragma once

#include <string_view>

namespace assay::store {

struct PublishedGpu {
  std::string_view name;      // as CUDA calls the device
  std::string_view document;  // that says all this
  int sm_version = 0;
  double memory_bytes_per_s = 0;
  double memory_bytes = 0;
  double half_flops = 0;  // tensor cores, dense: float16 and bfloat16, per second
  double int8_flops = 0;
  double fp8_flops = 0;  // 0: it has none
  double watts = 0;
  double link_bytes_per_s = 0;  // NVLink, one direction
  double pcie_bytes_per_s = 0;  // one direction
  int gpus_per_node = 0;        // on the maker's own board
};

// Null: not in the table.
const PublishedGpu* find_published_gpu(std::string_view device);

}  // namespace assay::store
