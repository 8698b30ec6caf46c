// Loads and stores of 16 bytes at a time, which let kernels reach the memory bandwidth.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace assay::collect {

template <class T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / sizeof(T);
  T values[kSize];
};

template <class T>
__device__ Vector<T> load_vector(const T* from, std::int64_t vector) {
  const uint4 bits = reinterpret_cast<const uint4*>(from)[vector];
  return reinterpret_cast<const Vector<T>&>(bits);
}

template <class T>
__device__ void store_vector(T* to, std::int64_t vector, const Vector<T>& values) {
  reinterpret_cast<uint4*>(to)[vector] = reinterpret_cast<const uint4&>(values);
}

__device__ inline float as_float(float value) {
  return value;
}

__device__ inline float as_float(__half value) {
  return __half2float(value);
}

__device__ inline float as_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class T>
__device__ T from_float(float value) {
  return T(value);
}

__device__ inline float silu(float x) {
  return x / (1.0F + expf(-x));
}

// Combines the values of all threads of a block by `combine`, and returns the result to all of
// them.
template <class Combine>
__device__ float block_reduce(float value, Combine combine) {
  __shared__ float parts[32];
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, offset));
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0) parts[warp] = value;
  __syncthreads();
  value = parts[0];
  for (unsigned i = 1; i < warps; ++i)
    value = combine(value, parts[i]);
  __syncthreads();  // the next reduction writes to the same memory
  return value;
}

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

}  // namespace assay::collect
