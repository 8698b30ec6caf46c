// The kernels of the CPU device. Each maker is one file; oneDNN's exceptions end here.
#pragma once

#include <cstdint>

#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

// `copies` of everything that is read, which launches take in turn.
using Copies = std::int64_t;

core::Result<MadeWork> make_gemm(const GemmSpec& spec, Copies copies);
core::Result<MadeWork> make_attention(const AttentionSpec& spec, Copies copies);
core::Result<MadeWork> make_memory_op(const MemorySpec& spec, Copies copies);

}  // namespace assay::collect
