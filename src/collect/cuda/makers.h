// The makers of works. Each family of kernels has a file with its maker. A new family needs a maker
// here and a function in Maker of device.cc.
#pragma once

#include <functional>
#include <vector>

#include "collect/cuda/gpu.h"
#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

using MakeKernel = std::function<core::Result<MadeWork>(const KernelSpec& spec)>;

core::Result<MadeWork> make_gemm(Gpu& gpu, const GemmSpec& spec, model::L2State l2);
core::Result<MadeWork> make_memory(Gpu& gpu, const MemorySpec& spec, model::L2State l2);
core::Result<MadeWork> make_quantize(Gpu& gpu, const QuantizeSpec& spec, model::L2State l2);
core::Result<MadeWork> make_delta_net(Gpu& gpu, const DeltaNetSpec& spec, model::L2State l2);
core::Result<MadeWork> make_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);
// Begins to compile the kernel of this attention while others run.
void expect_attention(Gpu& gpu, const AttentionSpec& spec);
core::Result<MadeWork> make_moe(Gpu& gpu, const MoeSpec& spec, model::L2State l2);
core::Result<MadeWork> make_transfer(Gpu& gpu, const TransferSpec& spec, model::L2State l2);

// Makes each of the kernels by `make`, for a work that launches them in their order.
core::Result<MadeWork> make_sequence(Gpu& gpu,
                                     const std::vector<KernelSpec>& specs,
                                     model::L2State l2,
                                     const MakeKernel& make);

// make_attention() tries those of these ways that can do the case, and takes the fastest. This one
// is a plan of cuDNN.
core::Result<MadeWork> make_cudnn_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);

// The same over in_whole_tiles(), for lengths for which cuDNN has only slower kernels.
core::Result<MadeWork> make_padded_cudnn_attention(Gpu& gpu,
                                                   const AttentionSpec& spec,
                                                   model::L2State l2);

// Two products of cuBLASLt with Assay's softmax between them.
core::Result<MadeWork> make_composed_attention(Gpu& gpu,
                                               const AttentionSpec& spec,
                                               model::L2State l2);

// Assay's kernel for one query and a cache of bfloat16 or fp8.
core::Result<MadeWork> make_decode_attention(Gpu& gpu,
                                             const AttentionSpec& spec,
                                             model::L2State l2);

// Assay's kernel for one query and MLA's cache of latents.
core::Result<MadeWork> make_mla_decode(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);

// Assay's kernel for few new tokens.
core::Result<MadeWork> make_short_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);

// Assay's kernel for new tokens in fp8.
core::Result<MadeWork> make_context_attention(Gpu& gpu,
                                              const AttentionSpec& spec,
                                              model::L2State l2);

}  // namespace assay::collect
