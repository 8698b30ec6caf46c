// The ways of an attention on CUDA; make_attention() in makers.h takes the first that can, or
// the faster where both are worth trying.
#pragma once

#include "collect/cuda/gpu.h"
#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

// A plan of cuDNN.
core::Result<MadeWork> make_cudnn_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);

// Two products of cuBLASLt and a softmax of our own.
core::Result<MadeWork> make_composed_attention(Gpu& gpu,
                                               const AttentionSpec& spec,
                                               model::L2State l2);

// A kernel of our own, for one query and a cache of fp8.
core::Result<MadeWork> make_decode_attention(Gpu& gpu,
                                             const AttentionSpec& spec,
                                             model::L2State l2);

}  // namespace assay::collect
