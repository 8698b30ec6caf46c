#include "store/systems/published_gpu.h"

#include <algorithm>
#include <array>

namespace assay::store {
namespace {

// Data sheets give tensor cores' rates with sparsity (but A100's, which gives both) and links' of
// both directions together: here are halves.
constexpr std::array<PublishedGpu, 3> kGpus = {{
    {.name = "NVIDIA H200",
     .document = "NVIDIA H200 Tensor Core GPU data sheet (SXM)",
     .sm_version = 90,
     .memory_bytes_per_s = 4.8e12,
     .memory_bytes = 141e9,
     .half_flops = 1979e12 / 2,
     .int8_flops = 3958e12 / 2,
     .fp8_flops = 3958e12 / 2,
     .watts = 700,
     .link_bytes_per_s = 900e9 / 2,
     .pcie_bytes_per_s = 128e9 / 2,
     .gpus_per_node = 8,
     .board = "NVIDIA HGX H200 data sheet (8 GPUs)"},
    {.name = "NVIDIA H100 80GB HBM3",
     .document = "NVIDIA H100 Tensor Core GPU data sheet (SXM)",
     .sm_version = 90,
     .memory_bytes_per_s = 3.35e12,
     .memory_bytes = 80e9,
     .half_flops = 1979e12 / 2,
     .int8_flops = 3958e12 / 2,
     .fp8_flops = 3958e12 / 2,
     .watts = 700,
     .link_bytes_per_s = 900e9 / 2,
     .pcie_bytes_per_s = 128e9 / 2,
     .gpus_per_node = 8,
     .board = "NVIDIA HGX H100 data sheet (8 GPUs)"},
    {.name = "NVIDIA A100-SXM4-80GB",
     .document = "NVIDIA A100 Tensor Core GPU data sheet (SXM, 80 GB)",
     .sm_version = 80,
     .memory_bytes_per_s = 2.039e12,
     .memory_bytes = 80e9,
     .half_flops = 312e12,
     .int8_flops = 624e12,
     .fp8_flops = 0,
     .watts = 400,
     .link_bytes_per_s = 600e9 / 2,
     .pcie_bytes_per_s = 64e9 / 2,
     .gpus_per_node = 8,
     .board = "NVIDIA HGX A100 data sheet (8 GPUs)"},
}};

}  // namespace

const PublishedGpu* find_published_gpu(std::string_view device) {
  const auto found = std::find_if(kGpus.begin(), kGpus.end(),
                                  [&](const PublishedGpu& gpu) { return gpu.name == device; });
  return found == kGpus.end() ? nullptr : &*found;
}

}  // namespace assay::store
