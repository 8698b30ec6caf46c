#include <cuda_fp8.h>

#include <algorithm>
#include <climits>

#include "collect/cuda/moe_block_kernels.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/moe_rows.cuh"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 32;

// A warp for each token; a lane holds every 32nd expert's logit.
template <int kPerLane>
__global__ void __launch_bounds__(kThreads) choose(MoeArguments with) {
  const int token = static_cast<int>(blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes);
  if (token >= with.tokens) return;
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const auto* logits = static_cast<const __nv_bfloat16*>(with.logits) +
                       static_cast<std::int64_t>(token) * with.experts;
  float values[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = i * kLanes + lane;
    values[i] = expert < with.experts ? as_float(logits[expert]) : -INFINITY;
  }
  float first = 0;
  float sum = 0;
  const std::int64_t row = static_cast<std::int64_t>(token) * with.top_k;
  for (int choice = 0; choice < with.top_k; ++choice) {
    float best = -INFINITY;
    int expert = INT_MAX;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (values[i] > best) {
        best = values[i];
        expert = i * kLanes + lane;
      }
    }
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xFFFFFFFFU, best, offset);
      const int other_expert = __shfl_xor_sync(0xFFFFFFFFU, expert, offset);
      if (other > best || (other == best && other_expert < expert)) {
        best = other;
        expert = other_expert;
      }
    }
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (i * kLanes + lane == expert) values[i] = -INFINITY;
    }
    if (choice == 0) first = best;
    const float share = expf(best - first);
    sum += share;
    if (lane != 0) continue;
    with.chosen[row + choice] = expert;
    with.shares[row + choice] = share;
    if (expert < with.local_experts) atomicAdd(&with.counts[expert], 1);
  }
  if (lane != 0) return;
  for (int choice = 0; choice < with.top_k; ++choice)
    with.shares[row + choice] /= sum;
}

// One block: experts are few.
__global__ void __launch_bounds__(kMostExperts) find_offsets(MoeArguments with) {
  __shared__ int sums[kMostExperts];
  const int expert = static_cast<int>(threadIdx.x);
  const int count = expert < with.local_experts ? with.counts[expert] : 0;
  const int rows = (count + with.row_multiple - 1) / with.row_multiple * with.row_multiple;
  sums[expert] = rows;
  __syncthreads();
  for (int distance = 1; distance < kMostExperts; distance *= 2) {
    const int before = expert >= distance ? sums[expert - distance] : 0;
    __syncthreads();
    sums[expert] += before;
    __syncthreads();
  }
  if (expert >= with.local_experts) return;
  with.offsets[expert] = sums[expert] - rows;
  with.cursors[expert] = sums[expert] - rows;
  if (expert == with.local_experts - 1) with.offsets[expert + 1] = sums[expert];
}

// A block for each token, which it writes once for each local expert.
template <class T, class To>
__global__ void __launch_bounds__(kThreads) gather(MoeArguments with) {
  __shared__ int rows[kMostChoices];
  const std::int64_t token = blockIdx.x;
  const auto choice = static_cast<int>(threadIdx.x);
  if (choice < with.top_k) rows[choice] = claim_row(with, token * with.top_k + choice);
  __syncthreads();
  const int vectors = with.hidden / 8;
  const auto* input = static_cast<const T*>(with.input);
  auto* gathered = static_cast<Eight<To>*>(with.gathered);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    const Vector<T> loaded = load_vector(input, token * vectors + i);
    Eight<To> converted;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      converted.values[j] = To(as_float(loaded.values[j]));
    for (int j = 0; j < with.top_k; ++j) {
      if (rows[j] >= 0) gathered[static_cast<std::int64_t>(rows[j]) * vectors + i] = converted;
    }
  }
}

template <class T, class To>
__global__ void __launch_bounds__(kThreads) gated_silu(MoeArguments with) {
  const std::int64_t vectors = with.intermediate / 8;
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= with.local_rows * vectors) return;
  const std::int64_t gate_at = i + i / vectors * vectors;
  const auto* gated = static_cast<const T*>(with.gated);
  const Vector<T> gate = load_vector(gated, gate_at);
  const Vector<T> up = load_vector(gated, gate_at + vectors);
  Eight<To> result;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    result.values[j] = To(silu(as_float(gate.values[j])) * as_float(up.values[j]));
  static_cast<Eight<To>*>(with.activated)[i] = result;
}

template <class T>
__global__ void __launch_bounds__(kThreads) weighted_sum(MoeArguments with) {
  const std::int64_t token = blockIdx.x;
  const int vectors = with.hidden / 8;
  const auto* rows = static_cast<const T*>(with.expert_output);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    float sums[8] = {};
    for (int choice = 0; choice < with.top_k; ++choice) {
      const std::int64_t at = token * with.top_k + choice;
      const int row = with.positions[at];
      if (row < 0) continue;
      const float share = with.shares[at];
      const Vector<T> loaded = load_vector(rows, static_cast<std::int64_t>(row) * vectors + i);
#pragma unroll
      for (int j = 0; j < 8; ++j)
        sums[j] += share * as_float(loaded.values[j]);
    }
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      result.values[j] = from_float<T>(sums[j]);
    store_vector(static_cast<T*>(with.output), token * vectors + i, result);
  }
}

void launch_choose(const MoeArguments& with, cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>((with.tokens + kThreads / kLanes - 1) / (kThreads / kLanes));
  if (with.experts <= kLanes) {
    choose<1><<<blocks, kThreads, 0, stream>>>(with);
  } else if (with.experts <= 4 * kLanes) {
    choose<4><<<blocks, kThreads, 0, stream>>>(with);
  } else if (with.experts <= 8 * kLanes) {
    choose<8><<<blocks, kThreads, 0, stream>>>(with);
  } else {
    choose<16><<<blocks, kThreads, 0, stream>>>(with);
  }
}

bool is_fp8(const MoeArguments& with) {
  return with.product_type == DataType::kFp8;
}

}  // namespace

cudaError_t route_and_gather(const MoeArguments& with, cudaStream_t stream) {
  const cudaError_t cleared = cudaMemsetAsync(
      with.counts, 0, static_cast<std::size_t>(with.local_experts) * sizeof(std::int32_t), stream);
  if (cleared != cudaSuccess) return cleared;
  launch_choose(with, stream);
  find_offsets<<<1, kMostExperts, 0, stream>>>(with);
  const auto blocks = static_cast<unsigned>(with.tokens);
  if (with.product_type == DataType::kFp8Block) {
    gather_in_blocks(with, stream);
  } else if (is_fp8(with)) {
    gather<__nv_bfloat16, __nv_fp8_e4m3><<<blocks, kThreads, 0, stream>>>(with);
  } else if (with.type == DataType::kFloat16) {
    gather<__half, __half><<<blocks, kThreads, 0, stream>>>(with);
  } else {
    gather<__nv_bfloat16, __nv_bfloat16><<<blocks, kThreads, 0, stream>>>(with);
  }
  return cudaGetLastError();
}

cudaError_t activate(const MoeArguments& with, cudaStream_t stream) {
  if (with.product_type == DataType::kFp8Block) {
    activate_in_blocks(with, stream);
    return cudaGetLastError();
  }
  const std::int64_t vectors = std::int64_t{with.local_rows} * (with.intermediate / 8);
  const auto blocks = static_cast<unsigned>((vectors + kThreads - 1) / kThreads);
  if (is_fp8(with)) {
    gated_silu<__nv_bfloat16, __nv_fp8_e4m3><<<blocks, kThreads, 0, stream>>>(with);
  } else if (with.type == DataType::kFloat16) {
    gated_silu<__half, __half><<<blocks, kThreads, 0, stream>>>(with);
  } else {
    gated_silu<__nv_bfloat16, __nv_bfloat16><<<blocks, kThreads, 0, stream>>>(with);
  }
  return cudaGetLastError();
}

cudaError_t combine(const MoeArguments& with, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(with.tokens);
  if (with.type == DataType::kFloat16) {
    weighted_sum<__half><<<blocks, kThreads, 0, stream>>>(with);
  } else {
    weighted_sum<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(with);
  }
  return cudaGetLastError();
}

}  // namespace assay::collect
