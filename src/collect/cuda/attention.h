// Attention on CUDA: cuDNN's kernels, else a composition of library kernels.
#pragma once

#include "collect/cuda/gpu.h"
#include "collect/device.h"
#include "collect/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

core::Result<MadeWork> make_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);

// One attempt of the above each.
core::Result<MadeWork> make_cudnn_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2);
core::Result<MadeWork> make_composed_attention(Gpu& gpu,
                                               const AttentionSpec& spec,
                                               model::L2State l2);

}  // namespace assay::collect
