#include <cuda_fp8.h>

#include "collect/cuda/expert_rows.cuh"
#include "collect/cuda/moe_block_kernels.h"
#include "collect/cuda/moe_rows.cuh"
#include "collect/cuda/quantize_kernels.h"
#include "collect/cuda/vectors.cuh"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 16;  // half a warp has a block of 128 elements, a lane 8 of them
constexpr int kGroups = kThreads / kLanes;
constexpr int kBlock = kScaleBlock;

struct Quantised {
  Eight<__nv_fp8_e4m3> values;
  float scale;
};

// Of what the 16 lanes pass together.
__device__ Quantised quantised(const float (&values)[8]) {
  float largest = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    largest = fmaxf(largest, fabsf(values[j]));
  const unsigned lanes = 0xFFFFU << (threadIdx.x & kLanes);  // the other half may have ended
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(lanes, largest, offset));
  Quantised result;
  result.scale = fmaxf(largest, kLeastMaximum) / kLargestFp8;
  const float factor = 1.0F / result.scale;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    result.values.values[j] = __nv_fp8_e4m3(values[j] * factor);
  return result;
}

// A thread block for each token, which it writes once for each local expert.
__global__ void __launch_bounds__(kThreads) gather_blocks(MoeArguments with) {
  __shared__ int rows[kMostChoices];
  __shared__ int experts[kMostChoices];
  const std::int64_t token = blockIdx.x;
  const auto choice = static_cast<int>(threadIdx.x);
  if (choice < with.top_k) {
    const std::int64_t at = token * with.top_k + choice;
    rows[choice] = claim_row(with, at);
    experts[choice] = with.chosen[at];
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t vectors = with.hidden / 8;
  const auto* input = static_cast<const __nv_bfloat16*>(with.input);
  auto* gathered = static_cast<Eight<__nv_fp8_e4m3>*>(with.gathered);
  for (int block = static_cast<int>(threadIdx.x) / kLanes; block < with.hidden / kBlock;
       block += kGroups) {
    const int vector = block * kLanes + lane;
    const Vector<__nv_bfloat16> loaded = load_vector(input, token * vectors + vector);
    float values[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      values[j] = as_float(loaded.values[j]);
    const Quantised result = quantised(values);
    for (int j = 0; j < with.top_k; ++j) {
      if (rows[j] >= 0) gathered[rows[j] * vectors + vector] = result.values;
    }
    for (int j = lane; j < with.top_k; j += kLanes) {
      if (rows[j] < 0) continue;
      const ExpertScales scales = expert_scales(with.offsets, experts[j], with.hidden);
      with.gathered_scales[scales.at(rows[j], block * kBlock)] = result.scale;
    }
  }
}

// The last expert that begins at this row or before it: those before it at the same row are empty.
__device__ int expert_of(const MoeArguments& with, std::int64_t row) {
  int low = 0;
  int high = with.local_experts;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (with.offsets[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kThreads) activate_blocks(MoeArguments with) {
  const int blocks = with.intermediate / kBlock;
  const std::int64_t group = blockIdx.x * std::int64_t{kGroups} + threadIdx.x / kLanes;
  const std::int64_t row = group / blocks;
  if (row >= with.local_rows) return;
  const int expert = expert_of(with, row);
  if (row - with.offsets[expert] >= with.counts[expert]) return;  // filling
  const auto block = static_cast<int>(group % blocks);
  const int vector = block * kLanes + static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t vectors = with.intermediate / 8;
  const auto* gated = static_cast<const __nv_bfloat16*>(with.gated);
  const Vector<__nv_bfloat16> gate = load_vector(gated, 2 * row * vectors + vector);
  const Vector<__nv_bfloat16> up = load_vector(gated, (2 * row + 1) * vectors + vector);
  float values[8];
#pragma unroll
  for (int j = 0; j < 8; ++j)
    values[j] = silu(as_float(gate.values[j])) * as_float(up.values[j]);
  const Quantised result = quantised(values);
  static_cast<Eight<__nv_fp8_e4m3>*>(with.activated)[row * vectors + vector] = result.values;
  if (threadIdx.x % kLanes != 0) return;
  const ExpertScales scales = expert_scales(with.offsets, expert, with.intermediate);
  with.activated_scales[scales.at(row, block * kBlock)] = result.scale;
}

}  // namespace

void gather_in_blocks(const MoeArguments& with, cudaStream_t stream) {
  gather_blocks<<<static_cast<unsigned>(with.tokens), kThreads, 0, stream>>>(with);
}

void activate_in_blocks(const MoeArguments& with, cudaStream_t stream) {
  const std::int64_t groups = std::int64_t{with.local_rows} * (with.intermediate / kBlock);
  const auto blocks = static_cast<unsigned>((groups + kGroups - 1) / kGroups);
  activate_blocks<<<blocks, kThreads, 0, stream>>>(with);
}

}  // namespace assay::collect
