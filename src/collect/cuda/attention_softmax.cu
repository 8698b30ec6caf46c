#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "collect/cuda/attention_softmax.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 32;

__device__ float larger(float a, float b) {
  return fmaxf(a, b);
}

__device__ float sum(float a, float b) {
  return a + b;
}

// Of all threads' values, for all threads.
template <class Combine>
__device__ float over_block(float value, Combine combine) {
  __shared__ float parts[kThreads / kLanes];
  for (int half = kLanes / 2; half > 0; half /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, half));
  __syncthreads();  // the parts of an earlier call have been read
  if (threadIdx.x % kLanes == 0) parts[threadIdx.x / kLanes] = value;
  __syncthreads();
  float all = parts[0];
  for (int i = 1; i < kThreads / kLanes; ++i)
    all = combine(all, parts[i]);
  return all;
}

// A block for each row, which is read thrice: its later readings come from the cache.
template <class T>
__global__ void softmax_rows(SoftmaxArguments arguments) {
  const AttentionSpec& spec = arguments.spec;
  const std::int64_t row = blockIdx.x;
  const VisibleKeys visible = visible_keys(spec, row / spec.heads % spec.query_length);
  const float* scores = arguments.scores + row * arguments.pitch;
  T* weights = static_cast<T*>(arguments.weights) + row * arguments.pitch;
  const float scale = 1.4426950408889634F * rsqrtf(static_cast<float>(spec.head_dim));
  float largest = -INFINITY;
  for (std::int64_t key = visible.begin + threadIdx.x; key < visible.end; key += kThreads)
    largest = fmaxf(largest, scores[key]);
  largest = over_block(largest, larger) * scale;
  float total = 0;
  for (std::int64_t key = visible.begin + threadIdx.x; key < visible.end; key += kThreads)
    total += exp2f(scores[key] * scale - largest);
  const float factor = 1 / over_block(total, sum);
  for (std::int64_t key = threadIdx.x; key < spec.kv_length; key += kThreads) {
    const bool seen = key >= visible.begin && key < visible.end;
    weights[key] = T(seen ? exp2f(scores[key] * scale - largest) * factor : 0.0F);
  }
}

}  // namespace

cudaError_t attention_softmax(const SoftmaxArguments& arguments, cudaStream_t stream) {
  const AttentionSpec& spec = arguments.spec;
  const auto rows = static_cast<unsigned>(spec.batch * spec.query_length * spec.heads);
  if (spec.type == DataType::kFloat16) {
    softmax_rows<__half><<<rows, kThreads, 0, stream>>>(arguments);
  } else {
    softmax_rows<__nv_bfloat16><<<rows, kThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

}  // namespace assay::collect
