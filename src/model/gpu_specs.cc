#include "model/gpu_specs.h"

#include <algorithm>
#include <array>

namespace assay::model {
namespace {

// NVIDIA's data sheets give tensor core rates with sparsity (except for the A100, which has both)
// and link rates for both directions together, so the figures here are half of those.
//
// Hopper: bf16, fp16, fp8 and int8 are from the H200 and H100 Tensor Core GPU data sheets. The data
// sheets round the other rates, so those are from the H100 Tensor Core GPU architecture white
// paper.
constexpr GpuPeaks kHopperMatrix = {.fp64 = 66.9,
                                    .fp32 = 494.7,
                                    .bf16 = 1979.0 / 2,
                                    .fp16 = 1979.0 / 2,
                                    .fp8 = 3958.0 / 2,
                                    .int8 = 3958.0 / 2};
constexpr GpuPeaks kHopperVector = {.fp64 = 33.5, .fp32 = 66.9, .bf16 = 133.8, .fp16 = 133.8};

// Source: the A100 Tensor Core GPU data sheet; for bf16 and fp16 outside tensor cores, the A100
// Tensor Core GPU architecture white paper.
constexpr GpuPeaks kAmpereMatrix = {
    .fp64 = 19.5, .fp32 = 156, .bf16 = 312, .fp16 = 312, .int8 = 624};
constexpr GpuPeaks kAmpereVector = {.fp64 = 9.7, .fp32 = 19.5, .bf16 = 39, .fp16 = 78};

// Source: AMD Instinct MI300X and MI325X data sheets.
constexpr GpuPeaks kCdna3Matrix = {
    .fp64 = 163.4, .fp32 = 163.4, .bf16 = 1307.4, .fp16 = 1307.4, .fp8 = 2614.9};
constexpr GpuPeaks kCdna3Vector = {.fp64 = 81.7, .fp32 = 163.4, .bf16 = 163.4, .fp16 = 163.4};

constexpr std::array kGpus = {
    GpuSpecs{.name = "H200",
             .memory_gbps = 4800,
             .matrix = kHopperMatrix,
             .vector = kHopperVector,
             .board = {.device = "NVIDIA H200",
                       .document = "NVIDIA H200 Tensor Core GPU data sheet (SXM)",
                       .sm_version = 90,
                       .memory_bytes = 141e9,
                       .watts = 700,
                       .link_gbps = 900.0 / 2,
                       .pcie_gbps = 128.0 / 2,
                       .gpus_per_node = 8,
                       .node_document = "NVIDIA HGX H200 data sheet (8 GPUs)"}},
    // Source: NVIDIA H100 Tensor Core GPU data sheet and architecture white paper.
    GpuSpecs{.name = "H100 PCIe",
             .memory_gbps = 2000,
             .matrix = {.fp64 = 51.2, .fp32 = 378, .bf16 = 756, .fp16 = 756, .fp8 = 1513},
             .vector = {.fp64 = 25.6, .fp32 = 51.2, .bf16 = 102.4, .fp16 = 102.4}},
    // Source: NVIDIA H100 NVL data sheet.
    GpuSpecs{.name = "H100 NVL",
             .memory_gbps = 3938,
             .matrix = {.fp64 = 60, .fp32 = 417.5, .bf16 = 835.5, .fp16 = 835.5, .fp8 = 1671},
             .vector = {.fp64 = 30, .fp32 = 60, .bf16 = 120, .fp16 = 120}},
    GpuSpecs{.name = "H100",
             .memory_gbps = 3350,
             .matrix = kHopperMatrix,
             .vector = kHopperVector,
             .board = {.device = "NVIDIA H100 80GB HBM3",
                       .document = "NVIDIA H100 Tensor Core GPU data sheet (SXM)",
                       .sm_version = 90,
                       .memory_bytes = 80e9,
                       .watts = 700,
                       .link_gbps = 900.0 / 2,
                       .pcie_gbps = 128.0 / 2,
                       .gpus_per_node = 8,
                       .node_document = "NVIDIA HGX H100 data sheet (8 GPUs)"}},
    GpuSpecs{.name = "A100-SXM4-40GB",
             .memory_gbps = 1555,
             .matrix = kAmpereMatrix,
             .vector = kAmpereVector},
    GpuSpecs{.name = "A100-PCIE-40GB",
             .memory_gbps = 1555,
             .matrix = kAmpereMatrix,
             .vector = kAmpereVector},
    GpuSpecs{.name = "A100 80GB PCIe",
             .memory_gbps = 1935,
             .matrix = kAmpereMatrix,
             .vector = kAmpereVector},
    GpuSpecs{.name = "A100",
             .memory_gbps = 2039,
             .matrix = kAmpereMatrix,
             .vector = kAmpereVector,
             .board = {.device = "NVIDIA A100-SXM4-80GB",
                       .document = "NVIDIA A100 Tensor Core GPU data sheet (SXM, 80 GB)",
                       .sm_version = 80,
                       .memory_bytes = 80e9,
                       .watts = 400,
                       .link_gbps = 600.0 / 2,
                       .pcie_gbps = 64.0 / 2,
                       .gpus_per_node = 8,
                       .node_document = "NVIDIA HGX A100 data sheet (8 GPUs)"}},
    // Source: NVIDIA HGX and DGX B200 data sheets.
    GpuSpecs{
        .name = "B200",
        .memory_gbps = 8000,
        .matrix = {.fp64 = 37, .fp32 = 1125, .bf16 = 2250, .fp16 = 2250, .fp8 = 4500, .fp4 = 9000},
        .vector = {.fp64 = 37, .fp32 = 75, .bf16 = 150, .fp16 = 150}},
    GpuSpecs{.name = "MI300X", .memory_gbps = 5300, .matrix = kCdna3Matrix, .vector = kCdna3Vector},
    GpuSpecs{.name = "MI325X", .memory_gbps = 6000, .matrix = kCdna3Matrix, .vector = kCdna3Vector},
};

// Returns whether the device's name contains that of the GPU, with no digit after it: "A100" does
// not match "RTX A1000".
bool names(std::string_view device, std::string_view gpu) {
  const std::size_t at = device.find(gpu);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + gpu.size();
  return end == device.size() || device[end] < '0' || device[end] > '9';
}

template <class Fits>
const GpuSpecs* first(Fits fits) {
  const auto* const found = std::find_if(kGpus.begin(), kGpus.end(), fits);
  return found == kGpus.end() ? nullptr : found;
}

}  // namespace

std::span<const GpuSpecs> all_gpu_specs() {
  return kGpus;
}

const GpuSpecs* find_gpu_specs(std::string_view device) {
  if (device.find("MIG") != std::string_view::npos) return nullptr;
  return first([&](const GpuSpecs& gpu) { return names(device, gpu.name); });
}

const GpuSpecs* find_gpu_board(std::string_view device) {
  if (device.empty()) return nullptr;
  return first([&](const GpuSpecs& gpu) { return gpu.board.device == device; });
}

}  // namespace assay::model
