#include <cuda_bf16.h>

#include "collect/cuda/moe_logits.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t this_thread() {
  return blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
}

__global__ void write_low(RouterLogits with) {
  const std::int64_t at = this_thread();
  if (at >= with.tokens * with.experts) return;
  static_cast<__nv_bfloat16*>(with.logits)[at] =
      __float2bfloat16(router_logit(at / with.experts, at % with.experts, false));
}

__global__ void write_chosen(RouterLogits with) {
  const std::int64_t at = this_thread();
  if (at >= with.tokens * with.top_k) return;
  const std::int64_t token = at / with.top_k;
  const std::int64_t expert = with.chosen[at];
  static_cast<__nv_bfloat16*>(with.logits)[token * with.experts + expert] =
      __float2bfloat16(router_logit(token, expert, true));
}

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>((items + kThreads - 1) / kThreads);
}

}  // namespace

cudaError_t write_logits(const RouterLogits& with, cudaStream_t stream) {
  write_low<<<blocks_for(with.tokens * with.experts), kThreads, 0, stream>>>(with);
  write_chosen<<<blocks_for(with.tokens * with.top_k), kThreads, 0, stream>>>(with);
  return cudaGetLastError();
}

}  // namespace assay::collect
