#include "allreduce/worker/device_buffers.h"

#include "allreduce/worker/cuda_status.h"

namespace assay::allreduce {
namespace {

// Registered memory cannot be given back cell by cell, so it grows in large steps.
std::size_t grown(std::size_t bytes) {
  std::size_t power = std::size_t{1} << 21U;
  while (power < bytes)
    power *= 2;
  return power;
}

}  // namespace

DeviceBuffers::~DeviceBuffers() {
  if (memory_ == Memory::kSymmetric) return;  // the communicator owns it
  for (Block& block : blocks_)
    cudaFree(block.memory);
}

core::Result<void*> DeviceBuffers::at_least(Block& block,
                                            std::size_t bytes,
                                            assay_allreduce_comm* comm) {
  if (block.bytes >= bytes) return block.memory;
  const std::size_t size = grown(bytes);
  if (memory_ == Memory::kSymmetric) {
    if (assay_allreduce_allocate(comm, size, &block.memory) != ASSAY_ALLREDUCE_OK ||
        assay_allreduce_register(comm, block.memory, size) != ASSAY_ALLREDUCE_OK)
      return core::Error{assay_allreduce_error()};
  } else {
    cudaFree(block.memory);
    block = {};
    ASSAY_TRY(cuda_status(cudaMalloc(&block.memory, size), "taking device memory"));
  }
  block.bytes = size;
  return block.memory;
}

core::Result<Buffers> DeviceBuffers::for_cell(const Cell& cell,
                                              const Variant& variant,
                                              assay_allreduce_comm* comm) {
  const OutputBytes bytes = output_bytes(cell, variant);
  const bool fused = cell.fusion != Fusion::kNone;
  const bool quantized = bytes.quantized > 0;
  Buffers buffers;
  buffers.input = ASSAY_TRY(at_least(blocks_[0], bytes.message, comm));
  if (!quantized || variant.keeps_normalized)
    buffers.output = ASSAY_TRY(at_least(blocks_[1], bytes.message + kCanaryBytes, comm));
  if (!fused) return buffers;
  if (variant.has_residual)
    buffers.residual_in = ASSAY_TRY(at_least(blocks_[2], bytes.message, comm));
  if (variant.keeps_residual)
    buffers.residual_out = ASSAY_TRY(at_least(blocks_[3], bytes.message + kCanaryBytes, comm));
  buffers.gamma = ASSAY_TRY(at_least(blocks_[4], bytes.gamma, comm));
  if (!quantized) return buffers;
  buffers.scale = static_cast<float*>(ASSAY_TRY(at_least(blocks_[5], sizeof(float), comm)));
  buffers.quantized = ASSAY_TRY(at_least(blocks_[6], bytes.quantized + kCanaryBytes, comm));
  if (bytes.scale_out > 0)
    buffers.scale_out = ASSAY_TRY(at_least(blocks_[7], bytes.scale_out + kCanaryBytes, comm));
  return buffers;
}

std::size_t DeviceBuffers::bytes_for(const Cell& cell, const Variant& variant) {
  const OutputBytes bytes = output_bytes(cell, variant);
  const bool lean = bytes.quantized > 0 && !variant.keeps_normalized;
  const std::size_t messages = cell.fusion == Fusion::kNone ? 2 : lean ? 3 : 4;
  return messages * grown(bytes.message + kCanaryBytes) + grown(bytes.quantized) +
         grown(bytes.scale_out) + grown(bytes.gamma);
}

}  // namespace assay::allreduce
