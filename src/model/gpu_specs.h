// Published specifications of GPUs. To add a GPU, add an entry in gpu_specs.cc.
#pragma once

#include <span>
#include <string_view>

namespace assay::model {

inline constexpr std::string_view kComputeCapabilities = "NVIDIA, CUDA GPU compute capability";

// Rates at boost clock without sparsity, in 1e12 operations per second; 0 if the GPU has no such
// unit.
struct GpuPeaks {
  double fp64 = 0;
  double fp32 = 0;  // products of fp32 operands run at the TF32 rate on NVIDIA's tensor cores
  double bf16 = 0;
  double fp16 = 0;
  double fp8 = 0;
  double fp4 = 0;
  double int8 = 0;
};

// The board and the host that the GPU is sold in. `device` is empty where this table does not know
// it.
struct GpuBoard {
  std::string_view device;    // CUDA's name of the GPU: "NVIDIA H200"
  std::string_view document;  // the source of all figures of the GPU except the compute capability
  int sm_version = 0;         // source: kComputeCapabilities
  double memory_bytes = 0;
  double watts = 0;
  double link_gbps = 0;  // NVLink, one direction, 1e9 bytes per second
  double pcie_gbps = 0;  // one direction, 1e9 bytes per second
  int gpus_per_node = 0;
  std::string_view node_document;  // the source of gpus_per_node
};

struct GpuSpecs {
  std::string_view name;   // a part of the device's name
  double memory_gbps = 0;  // 1e9 bytes per second
  GpuPeaks matrix;
  GpuPeaks vector;
  GpuBoard board = {};
};

// The first matching entry counts, so variants stand before the plain name.
std::span<const GpuSpecs> all_gpu_specs();

// Returns the GPU that a device's name means: "NVIDIA H200", "AMD Instinct MI300X". Null for other
// GPUs and for a part of a GPU (MIG).
const GpuSpecs* find_gpu_specs(std::string_view device);

// Returns a GPU only where its board is also known; `device` must be CUDA's name of it.
const GpuSpecs* find_gpu_board(std::string_view device);

}  // namespace assay::model
