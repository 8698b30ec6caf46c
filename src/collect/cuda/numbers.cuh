// Reading and writing numbers of all data types as float64, to make and check data.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "collect/kernels/kernels.h"

namespace assay::collect {

__device__ inline double load_number(DataType type, const void* from, std::int64_t at) {
  switch (type) {
    case DataType::kFloat32:
      return static_cast<const float*>(from)[at];
    case DataType::kFloat16:
      return static_cast<double>(__half2float(static_cast<const __half*>(from)[at]));
    case DataType::kBfloat16:
    case DataType::kMxfp4:
      return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(from)[at]));
    case DataType::kFp8:
    case DataType::kFp8Block:
      return static_cast<double>(static_cast<float>(static_cast<const __nv_fp8_e4m3*>(from)[at]));
    case DataType::kInt8:
      return static_cast<const std::int8_t*>(from)[at];
  }
  return 0;
}

// Returns the distance from a number of about this size to the next one of this type.
__device__ inline double spacing_of(DataType type, double value) {
  int mantissa_bits = 23;
  int smallest_exponent = -149;
  switch (type) {
    case DataType::kFloat32:
      break;
    case DataType::kFloat16:
      mantissa_bits = 10;
      smallest_exponent = -24;
      break;
    case DataType::kBfloat16:
    case DataType::kMxfp4:
      mantissa_bits = 7;
      smallest_exponent = -133;
      break;
    case DataType::kFp8:
    case DataType::kFp8Block:
      mantissa_bits = 3;
      smallest_exponent = -9;
      break;
    case DataType::kInt8:
      return 1;
  }
  const double size = fabs(value);
  if (!(size > 0) || isinf(size)) return ldexp(1.0, smallest_exponent);
  return ldexp(1.0, max(ilogb(size) - mantissa_bits, smallest_exponent));
}

// Mixes 64 bits well enough for test data. It is the finaliser of D. Stafford's variant 13.
__host__ __device__ inline std::uint64_t mixed_bits(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

}  // namespace assay::collect
