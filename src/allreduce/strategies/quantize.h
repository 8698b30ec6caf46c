// How the fusions round to e4m3 and e2m1, and the layout of NVFP4 scales. The kernels use it, and
// the host, which tests it.
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

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

constexpr int kNvfp4Group = 16;  // elements that share a scale

// Returns the e4m3 scale of a group of elements, computed from the group's largest magnitude.
__host__ __device__ inline std::uint8_t nvfp4_scale(float largest, float global_scale) {
  return to_e4m3(global_scale * (largest / 6.0F));
}

// Returns the factor by which the group's elements are multiplied before they are rounded.
__host__ __device__ inline float nvfp4_factor(std::uint8_t scale, float global_scale) {
  const float value = from_e4m3(scale);
  return value == 0 ? 0.0F : global_scale / value;
}

// Returns the offset in bytes of the scale of a row's group. Scales lie in blocks of 128 rows by 4
// groups, 512 bytes each, in which rows that are 32 apart are neighbours.
__host__ __device__ inline std::int64_t nvfp4_scale_offset(std::int64_t row,
                                                           std::int64_t group,
                                                           std::int64_t hidden_size) {
  const std::int64_t blocks_of_row = (hidden_size + 63) / 64;
  return (row / 128 * blocks_of_row + group / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 +
         group % 4;
}

// Returns the bytes of all scales, padded to whole blocks.
__host__ __device__ inline std::int64_t nvfp4_scale_bytes(std::int64_t rows,
                                                          std::int64_t hidden_size) {
  return (rows + 127) / 128 * ((hidden_size + 63) / 64) * 512;
}

}  // namespace assay::allreduce
