// What is fused behind the sum: residual, RMS norm, quantisation. Formulas: assay/allreduce.h.
#pragma once

#include <cooperative_groups.h>

#include "allreduce/strategies/device.cuh"
#include "allreduce/strategies/quantize.h"
#include "allreduce/strategy.h"

namespace assay::allreduce {

constexpr int kWarp = 32;

// The threads that hold a row between them: part of a warp, a block, or the blocks of a cluster.
// `threads` is of this block: a power of two up to 32, or all of the block's, a multiple of 32.
class RowGroup {
 public:
  __device__ explicit RowGroup(int threads) : threads_(threads) {}

  // The sum over the row's threads, the same bits for each of them. By all threads of the block.
  __device__ float sum(float value) {
    for (int distance = min(threads_, kWarp) / 2; distance > 0; distance /= 2)
      value += __shfl_xor_sync(0xFFFFFFFFU, value, distance);
    return threads_ <= kWarp && one_block() ? value : sum_of_warps(value);
  }

 private:
  __device__ static bool one_block() {
    return cooperative_groups::this_cluster().num_blocks() == 1;
  }

  __device__ float sum_of_warps(float of_warp) {
    // Two sets in turn: a fast warp may be a row ahead of a slow one.
    __shared__ float of_warps[2][kWarp];
    __shared__ float of_blocks[2][kMaxClusterBlocks];
    const unsigned set = row_++ & 1U;
    const unsigned lane = threadIdx.x % kWarp;
    if (lane == 0) of_warps[set][threadIdx.x / kWarp] = of_warp;
    __syncthreads();
    float total = lane < blockDim.x / kWarp ? of_warps[set][lane] : 0.0F;
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      total += __shfl_xor_sync(0xFFFFFFFFU, total, distance);
    const auto cluster = cooperative_groups::this_cluster();
    if (cluster.num_blocks() == 1) return total;
    if (threadIdx.x < cluster.num_blocks())
      cluster.map_shared_rank(of_blocks[set], threadIdx.x)[cluster.block_rank()] = total;
    cluster.sync();
    total = 0;
    for (unsigned block = 0; block < cluster.num_blocks(); ++block)
      total += of_blocks[set][block];
    return total;
  }

  static constexpr int kMaxClusterBlocks = 8;

  int threads_;
  unsigned row_ = 0;
};

// One vector of a row on its way through the fused operators; packed, because a thread may hold
// one of every rank's slice.
template <class T>
struct FusedVector {
  static constexpr int kCount = Elements<T>::kCount;
  uint4 value{};  // the residual, then its sum with the message
  uint4 gamma{};

  // The loads, early: they overlap with the wait for other GPUs.
  __device__ void fetch(const Arguments& a, std::int64_t row, int column) {
    value = a.residual_in[row * a.row_vectors + column];
    gamma = a.gamma[column];
  }

  // Returns the vector's part of the row's sum of squares.
  __device__ float add_residual(const Arguments& a, std::int64_t row, int column, uint4 sum) {
    float sums[kCount];
    float values[kCount];
    Elements<T>::unpack(sum, sums);
    Elements<T>::unpack(value, values);
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      values[i] += sums[i];
    value = Elements<T>::pack(values);
    a.residual_out[row * a.row_vectors + column] = value;
    Elements<T>::unpack(value, values);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      squares += values[i] * values[i];
    return squares;
  }

  // By all threads of a warp, `active` or not: neighbours may share a scale.
  template <Fusion kFusion>
  __device__ void finish(
      const Arguments& a, std::int64_t row, int column, float factor, bool active) const {
    const std::int64_t vector = row * a.row_vectors + column;
    float values[kCount];
    const uint4 normalized = normalize(factor, values);
    if (active && a.output != nullptr) a.output[vector] = normalized;
    if constexpr (kFusion == Fusion::kResidualRmsNormQuantFp8) {
      if (active) write_fp8(a, vector, values);
    }
    if constexpr (kFusion == Fusion::kResidualRmsNormQuantNvfp4)
      write_nvfp4(a, row, column, values, active);
  }

 private:
  // Returns the normalised vector, rounded; `values` get the same.
  __device__ uint4 normalize(float factor, float (&values)[kCount]) const {
    float gammas[kCount];
    Elements<T>::unpack(value, values);
    Elements<T>::unpack(gamma, gammas);
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      values[i] = values[i] * factor * gammas[i];
    const uint4 packed = Elements<T>::pack(values);
    Elements<T>::unpack(packed, values);
    return packed;
  }

  __device__ static void write_fp8(const Arguments& a,
                                   std::int64_t vector,
                                   const float (&values)[kCount]) {
    const float factor = 1.0F / *a.scale;
    std::uint32_t words[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      words[i / 4] |= static_cast<std::uint32_t>(to_e4m3(values[i] * factor)) << 8U * (i % 4);
    if constexpr (kCount == 8) {
      static_cast<uint2*>(a.quantized)[vector] = {words[0], words[1]};
    } else {
      static_cast<std::uint32_t*>(a.quantized)[vector] = words[0];
    }
  }

  __device__ static void write_nvfp4(const Arguments& a,
                                     std::int64_t row,
                                     int column,
                                     const float (&values)[kCount],
                                     bool active) {
    constexpr int kThreads = kNvfp4Group / kCount;  // of a group: 2 or 4
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      largest = fmaxf(largest, fabsf(values[i]));
#pragma unroll
    for (int distance = 1; distance < kThreads; distance *= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, distance));
    if (!active) return;
    const float global_scale = *a.scale;
    const std::uint8_t scale = nvfp4_scale(largest, global_scale);
    const float factor = nvfp4_factor(scale, global_scale);
    std::uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      word |= to_e2m1(values[i] * factor) << 4U * i;
    const std::int64_t vector = row * a.row_vectors + column;
    if constexpr (kCount == 8) {
      static_cast<std::uint32_t*>(a.quantized)[vector] = word;
    } else {
      static_cast<std::uint16_t*>(a.quantized)[vector] = static_cast<std::uint16_t>(word);
    }
    if (column % kThreads != 0) return;
    const std::int64_t hidden_size = static_cast<std::int64_t>(a.row_vectors) * kCount;
    a.scale_out[nvfp4_scale_offset(row, column / kThreads, hidden_size)] = scale;
  }
};

__device__ inline float norm_factor(float squares, const Arguments& a) {
  const float elements = static_cast<float>(a.row_vectors * a.elements_of_vector);
  return rsqrtf(squares / elements + a.epsilon);
}

}  // namespace assay::allreduce
