// What both ways of writing a tile of the grouped kernel share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "collect/cuda/moe_grouped_block.cuh"
#include "collect/cuda/quantize_kernels.h"

namespace assay::collect {

__device__ inline float gated(float gate, float up) {
  return __fdividef(gate, 1.0F + __expf(-gate)) * up;
}

__device__ inline std::uint32_t two_bfloat16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

__device__ inline std::uint32_t two_fp8(float low, float high) {
  return __nv_cvt_float2_to_fp8x2({low, high}, __NV_SATFINITE, __NV_E4M3);
}

// Where a warpgroup's 64 columns of a tile go.
struct GroupedTarget {
  char* output;
  std::int64_t row_bytes;
  int rows;    // of the tile
  int column;  // the first of the 64
  int columns;
  // Of the tile's rows, if they are added to those of their tokens.
  const RowShare* shares = nullptr;
};

__device__ inline void add_vector(char* to, const uint4& values) {
  asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(to),
               "r"(values.x), "r"(values.y), "r"(values.z), "r"(values.w)
               : "memory");
}

// Writes 16 bytes of a row, or adds them. `to` is their place in the first row.
template <bool kAdds>
__device__ void put_vector(const GroupedTarget& target, char* to, int row, const uint4& values) {
  if constexpr (kAdds) {
    add_vector(to + target.shares[row].token * target.row_bytes, values);
  } else {
    *reinterpret_cast<uint4*>(to + row * target.row_bytes) = values;
  }
}

__device__ inline float scale_of(int largest_bits) {
  return fmaxf(__int_as_float(largest_bits), kLeastMaximum) / kLargestFp8;
}

}  // namespace assay::collect
