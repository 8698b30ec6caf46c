// The families of kernels, each in a file of its own. A new one is a maker here, and a line in
// device.cc for what it makes.
#pragma once

#include "collect/cuda/gpu.h"
#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

core::Result<MadeWork> make_gemm(Gpu& gpu, const GemmSpec& spec, model::L2State l2);
core::Result<MadeWork> make_memory(Gpu& gpu, const MemorySpec& spec, model::L2State l2);
core::Result<MadeWork> make_quantize(Gpu& gpu, const QuantizeSpec& spec, model::L2State l2);
core::Result<MadeWork> make_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);
// Has its kernel compiled while others run.
void expect_attention(Gpu& gpu, const AttentionSpec& spec);
core::Result<MadeWork> make_moe(Gpu& gpu, const MoeSpec& spec, model::L2State l2);
core::Result<MadeWork> make_transfer(Gpu& gpu, const TransferSpec& spec, model::L2State l2);

}  // namespace assay::collect
