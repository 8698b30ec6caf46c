// The attention of a warp of our decoding to its tiles of the cache.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "collect/cuda/attention_decode_stream.cuh"
#include "collect/cuda/vectors.cuh"

namespace assay::collect::decode {

__device__ inline std::uint32_t as_bfloat16(std::uint32_t bytes) {
  const std::uint32_t tiny = tiny_bfloat16(bytes);
  const std::uint32_t factor = kTwoTo120;
  const __nv_bfloat162 product = __hmul2(reinterpret_cast<const __nv_bfloat162&>(tiny),
                                         reinterpret_cast<const __nv_bfloat162&>(factor));
  return reinterpret_cast<const std::uint32_t&>(product);
}

__device__ inline std::uint32_t bfloat16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

// The same byte of two keys' values.
template <class Bytes>
__device__ std::uint32_t column_of(const Bytes& first, const Bytes& second, int byte) {
  const int word = byte / 4;
  const unsigned of_both = 0x4400U + static_cast<unsigned>(byte % 4) * 0x1111U;
  return as_bfloat16(__byte_perm(reinterpret_cast<const std::uint32_t*>(&first)[word],
                                 reinterpret_cast<const std::uint32_t*>(&second)[word], of_both));
}

// to [16, 8] += a [16, 16] b [16, 8]
__device__ inline void multiply(float (&to)[4],
                                const std::uint32_t (&a)[4],
                                std::uint32_t b_low,
                                std::uint32_t b_high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

// The four lanes that share a row.
template <class Combine>
__device__ float over_row(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(kAllLanes, value, 1));
  return combine(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// A lane's part of a warp's attention: of rows lane / 4 and, in the second places, 8 rows below.
template <int kHeadDim>
class WarpAttention {
 public:
  using Its = Size<kHeadDim>;

  __device__ WarpAttention(const DecodeArguments& with, const Part& part)
      : visible_(part.visible),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        scale_(1.4426950408889634F * rsqrtf(static_cast<float>(kHeadDim)) * with.scales[0]) {
    load_query(with, part, 0);
    load_query(with, part, 1);
  }

  __device__ void add(const Tiles<kHeadDim>& tiles, int n) {
    float scores[2][4] = {};
    multiply_keys(tiles, n, scores);
    mask(tiles.first_key(n), scores);
    const float largest[2] = {larger_score(scores, 0), larger_score(scores, 1)};
    scale_down(largest);
    weigh(scores);
    multiply_values(tiles, n, scores);
  }

  // Sums of the block's rows [16, columns] and their statistics [16, 2].
  __device__ void write(float* sums, float* statistics) const {
#pragma unroll
    for (int tile = 0; tile < kHeadDim / 8; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[row(i / 2) * kHeadDim + output_column(lane_, tile, i, kHeadDim)] = output_[tile][i];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weights = over_row(weights_[half], Plus{});
      if (lane_ % 4 == 0) {
        statistics[row(half) * 2] = largest_[half];
        statistics[row(half) * 2 + 1] = weights;
      }
    }
  }

 private:
  [[nodiscard]] __device__ int row(int half) const {
    return half * 8 + lane_ / 4;
  }

  // Rows that there are not are 0.
  __device__ void load_query(const DecodeArguments& with, const Part& part, int half) {
    const bool exists = row(half) < part.rows;
    const auto* from = static_cast<const __nv_bfloat16*>(with.query) +
                       part.batch * with.layout.query[0] +
                       (part.first_head + row(half)) * with.layout.query[1];
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      const int column = loaded_key_column(lane_, step / 4) + step % 4 * 4;
      const uint2 four = exists ? *reinterpret_cast<const uint2*>(from + column) : uint2{0, 0};
      query_[step][half] = four.x;
      query_[step][2 + half] = four.y;
    }
  }

  __device__ void multiply_keys(const Tiles<kHeadDim>& tiles, int n, float (&scores)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int chunk = 0; chunk < Its::kKeyChunks; ++chunk) {
        const uint4 loaded = tiles.keys(n, half, chunk);
        const std::uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          multiply(scores[half], query_[chunk * 4 + word],
                   as_bfloat16(__byte_perm(words[word], 0, 0x1100)),
                   as_bfloat16(__byte_perm(words[word], 0, 0x3322)));
        }
      }
    }
  }

  // Also scales them, so that weights are powers of 2.
  __device__ void mask(int first_key, float (&scores)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first_key + score_key(lane_, half, i);
        const bool seen = key >= visible_.begin && key < visible_.end;
        scores[half][i] = seen ? scores[half][i] * scale_ : -INFINITY;
      }
    }
  }

  // Not -infinity: each tile has a key that is seen.
  [[nodiscard]] __device__ float larger_score(const float (&scores)[2][4], int half) const {
    float largest = largest_[half];
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i)
      largest = fmaxf(largest, fmaxf(scores[0][i], scores[1][i]));
    return over_row(largest, Larger{});
  }

  // To the new largest scores, if they are new.
  __device__ void scale_down(const float (&largest)[2]) {
    const bool is_new = largest[0] > largest_[0] || largest[1] > largest_[1];
    if (!__any_sync(kAllLanes, is_new)) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = exp2f(largest_[half] - largest[half]);
      largest_[half] = largest[half];
      weights_[half] *= factor;
#pragma unroll
      for (int tile = 0; tile < kHeadDim / 8; ++tile) {
        output_[tile][2 * half] *= factor;
        output_[tile][2 * half + 1] *= factor;
      }
    }
  }

  __device__ void weigh(float (&scores)[2][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[half][i] = exp2f(scores[half][i] - largest_[i / 2]);
        weights_[i / 2] += scores[half][i];
      }
    }
  }

  __device__ void multiply_values(const Tiles<kHeadDim>& tiles,
                                  int n,
                                  const float (&weights)[2][4]) {
    const std::uint32_t a[4] = {
        bfloat16_pair(weights[0][0], weights[0][1]), bfloat16_pair(weights[0][2], weights[0][3]),
        bfloat16_pair(weights[1][0], weights[1][1]), bfloat16_pair(weights[1][2], weights[1][3])};
#pragma unroll
    for (int chunk = 0; chunk < Its::kValueChunks; ++chunk) {
      typename Its::Bytes loaded[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        loaded[i] = tiles.values(n, i, chunk);
#pragma unroll
      for (int byte = 0; byte < Its::kValueBytes; ++byte) {
        multiply(output_[chunk * Its::kValueBytes + byte], a, column_of(loaded[0], loaded[1], byte),
                 column_of(loaded[2], loaded[3], byte));
      }
    }
  }

  const VisibleKeys visible_;
  int lane_;
  float scale_;
  std::uint32_t query_[kHeadDim / 16][4];
  float output_[kHeadDim / 8][4] = {};
  float largest_[2] = {-INFINITY, -INFINITY};
  float weights_[2] = {};
};

}  // namespace assay::collect::decode
