// How the fusions round to e4m3 and e2m1, and the scales and their layouts. The kernels use it, and
// the host, which tests it.
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "allreduce/row_division.h"
#include "allreduce/strategies/arguments.h"

namespace assay::allreduce {

// Rounds to the nearest e4m3 value, ties to even. Finite values beyond 448 become 448; NaN stays
// NaN.
__host__ __device__ inline std::uint8_t to_e4m3(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}

__host__ __device__ inline float from_e4m3(std::uint8_t bits) {
  const __half_raw half = __nv_cvt_fp8_to_halfraw(bits, __NV_E4M3);
  return __half2float(__half(half));
}

// Rounds to the nearest e2m1 value (0, 0.5, 1, 1.5, 2, 3, 4, 6), ties to even, saturated. NaN
// becomes 6, as with the instruction of SM 100. The result has four bits, of which the highest is
// the sign.
__host__ __device__ inline std::uint32_t to_e2m1(float value) {
  const float size = value < 0 ? -value : value;
  const std::uint32_t magnitude =
      static_cast<std::uint32_t>(size > 0.25F) + static_cast<std::uint32_t>(size >= 0.75F) +
      static_cast<std::uint32_t>(size > 1.25F) + static_cast<std::uint32_t>(size >= 1.75F) +
      static_cast<std::uint32_t>(size > 2.5F) + static_cast<std::uint32_t>(size >= 3.5F) +
      static_cast<std::uint32_t>(size > 5.0F);
  if (value != value) return 7;

  union {
    float as_float;
    std::uint32_t as_bits;
  } const bits{value};

  return magnitude | (bits.as_bits >> 31U) << 3U;
}

// Returns the scale of elements whose largest magnitude is given: it maps that to e4m3's largest.
__host__ __device__ inline float fp8_scale(float largest) {
  return largest / 448.0F;
}

// Returns the factor by which elements are multiplied before they are rounded. Elements whose scale
// is below float32's normal numbers become 0, because the factor would be beyond them.
__host__ __device__ inline float fp8_factor(float scale) {
  return scale < 0x1p-126F ? 0.0F : 1.0F / scale;
}

// Returns the e4m3 scale of a group of elements, computed from the group's largest magnitude.
__host__ __device__ inline std::uint8_t nvfp4_scale(float largest, float global_scale) {
  return to_e4m3(global_scale * (largest / 6.0F));
}

// Returns the factor by which the group's elements are multiplied before they are rounded.
__host__ __device__ inline float nvfp4_factor(std::uint8_t scale, float global_scale) {
  const float value = from_e4m3(scale);
  return value == 0 ? 0.0F : global_scale / value;
}

// Returns the offset in bytes of the scale of a row's group.
//
// In blocks of 128 rows by 4 groups, 512 bytes each, rows that are 32 apart are neighbours. In
// blocks of 8 rows by 4 groups the rows follow each other.
__host__ __device__ inline std::int64_t nvfp4_scale_offset(ScaleLayout layout,
                                                           std::int64_t row,
                                                           std::int64_t group,
                                                           std::int64_t hidden_size) {
  if (layout == ScaleLayout::kLinear) return row * (hidden_size / kNvfp4Group) + group;
  const std::int64_t blocks_of_row = (hidden_size + 63) / 64;
  if (layout == ScaleLayout::kBlocks8x4)
    return (row / 8 * blocks_of_row + group / 4) * 32 + row % 8 * 4 + group % 4;
  return (row / 128 * blocks_of_row + group / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 +
         group % 4;
}

// Returns the bytes of all scales, padded to whole blocks.
__host__ __device__ inline std::int64_t nvfp4_scale_bytes(ScaleLayout layout,
                                                          std::int64_t rows,
                                                          std::int64_t hidden_size) {
  if (layout == ScaleLayout::kLinear) return rows * (hidden_size / kNvfp4Group);
  const std::int64_t block_rows = layout == ScaleLayout::kBlocks8x4 ? 8 : 128;
  return (rows + block_rows - 1) / block_rows * ((hidden_size + 63) / 64) * block_rows * 4;
}

}  // namespace assay::allreduce
