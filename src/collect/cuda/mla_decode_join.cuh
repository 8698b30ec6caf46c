// Blocks of MLA's decoding wait here for the other parts of their sequence, and join some heads.
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>

#include "collect/cuda/mla_decode_block.cuh"

namespace assay::collect::mla {

// Counts this part, and waits until all of the sequence have been counted. They are, if all blocks
// run at a time. The counter goes twice around, so that it needs no reset.
__device__ inline void await_all_parts(unsigned* counter, unsigned parts) {
  __threadfence();
  const bool first_time_around = atomicInc(counter, 2 * parts - 1) < parts;
  unsigned counted = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(counted) : "l"(counter) : "memory");
  } while ((counted < parts) == first_time_around);
}

// The weights of the parts of one head of one sequence, in a warp: lane l has those of the parts
// l, l + 32, ...
class PartFactors {
 public:
  static constexpr int kOfLane = kMostSplits / 32;

  __device__ PartFactors(const float2* statistics, int splits, int lane) {
    float2 of[kOfLane];
    float largest = -INFINITY;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int split = i * 32 + lane;
      of[i] = split < splits ? __ldcg(statistics + split) : float2{-INFINITY, 0};
      largest = fmaxf(largest, of[i].x);
    }
    for (int step = 16; step > 0; step /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, step));
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      factors_[i] = exp2f(of[i].x - largest);
      weights_ += of[i].y * factors_[i];
    }
    for (int step = 16; step > 0; step /= 2)
      weights_ += __shfl_xor_sync(0xFFFFFFFFU, weights_, step);
  }

  [[nodiscard]] __device__ float factor(int i) const {
    return factors_[i];
  }

  [[nodiscard]] __device__ float weights() const {
    return weights_;
  }

 private:
  float factors_[kOfLane];
  float weights_ = 0;
};

__device__ inline void add_part(float4 part, float factor, float4& sum) {
  sum = {fmaf(part.x, factor, sum.x), fmaf(part.y, factor, sum.y), fmaf(part.z, factor, sum.z),
         fmaf(part.w, factor, sum.w)};
}

inline constexpr int kVectors = kValueDim / 4;  // of four columns, of a head

__device__ inline void write_vector(const MlaDecodeArguments& arguments,
                                    std::int64_t row,
                                    int vector,
                                    const float4& sum,
                                    float by) {
  static_cast<uint2*>(arguments.output)[row * kVectors + vector] = {
      packed<false>(sum.x * by, sum.y * by), packed<false>(sum.z * by, sum.w * by)};
}

__device__ inline PartFactors factors_of_row(const MlaDecodeArguments& arguments,
                                             std::int64_t row) {
  const auto splits = static_cast<int>(arguments.splits);
  return PartFactors(reinterpret_cast<const float2*>(arguments.statistics) + row * splits, splits,
                     static_cast<int>(threadIdx.x % 32));
}

// With many heads, each warp of the sequence's blocks joins all parts of a quarter of a head.
__device__ inline void join_by_warps(const MlaDecodeArguments& arguments,
                                     const Part& part,
                                     int warp,
                                     int warps,
                                     float* factors,
                                     float scale) {
  constexpr int kQuarters = kVectors / 32;
  const auto splits = static_cast<int>(arguments.splits);
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int item = part.split + warp * splits; item < part.heads * kQuarters;
       item += warps * splits) {
    const std::int64_t row = part.batch * arguments.heads + part.first_head + item / kQuarters;
    const int vector = item % kQuarters * 32 + lane;
    const PartFactors of_parts = factors_of_row(arguments, row);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < PartFactors::kOfLane; ++i)
      factors[i * 32 + lane] = of_parts.factor(i);
    __syncwarp();
    const auto* from =
        reinterpret_cast<const float4*>(arguments.sums) + row * splits * kVectors + vector;
    float4 sum{};
#pragma unroll 8
    for (int split = 0; split < splits; ++split)
      add_part(__ldcg(from + split * kVectors), factors[split], sum);
    write_vector(arguments, row, vector, sum, scale / of_parts.weights());
  }
}

// With few heads, each block joins some columns of a head, and its threads share the parts.
template <int kThreads, int kMeet>
__device__ void join_by_blocks(
    const MlaDecodeArguments& arguments, const Part& part, int thread, char* shared, float scale) {
  constexpr int kMostChunks = 16;
  auto* factors = reinterpret_cast<float*>(shared);
  auto* sums = reinterpret_cast<float4*>(shared + kMostSplits * 4);
  const auto splits = static_cast<int>(arguments.splits);
  int chunks = 1;
  while (chunks < kMostChunks && part.heads * chunks * 2 <= splits)
    chunks *= 2;
  const int vectors = kVectors / chunks;
  const int joiners = kThreads / vectors;
  for (int item = part.split; item < part.heads * chunks; item += splits) {
    const std::int64_t row = part.batch * arguments.heads + part.first_head + item / chunks;
    const int vector = item % chunks * vectors + thread % vectors;
    const PartFactors of_parts = factors_of_row(arguments, row);
    if (thread < 32) {
#pragma unroll
      for (int i = 0; i < PartFactors::kOfLane; ++i)
        factors[i * 32 + thread] = of_parts.factor(i);
    }
    join_threads(kMeet, kThreads);
    const auto* from =
        reinterpret_cast<const float4*>(arguments.sums) + row * splits * kVectors + vector;
    float4 sum{};
#pragma unroll 8
    for (int split = thread / vectors; split < splits; split += joiners)
      add_part(__ldcg(from + split * kVectors), factors[split], sum);
    sums[thread] = sum;
    join_threads(kMeet, kThreads);
    if (thread >= vectors) continue;
    for (int other = 1; other < joiners; ++other)
      add_part(sums[other * vectors + thread], 1, sum);
    write_vector(arguments, row, vector, sum, scale / of_parts.weights());
  }
}

// All threads that write sums call it when they have; those of the scorers have met them since
// statistics were written.
template <bool kFp8, int kHeads>
__device__ void join_with_others(const MlaDecodeArguments& arguments,
                                 const Part& part,
                                 char* shared) {
  if (arguments.splits == 1 || arguments.counters == nullptr) return;
  using Its = Size<kFp8, kHeads>;
  constexpr int kMeet = 1;
  constexpr int kThreads = (kFp8 || Its::kHasLoader ? 2 : 1) * kGroupThreads;
  const int thread = static_cast<int>(threadIdx.x) - Its::kFirstOutput * kGroupThreads;
  join_threads(kMeet, kThreads);
  if (thread == 0) {
    const auto head_blocks = (static_cast<int>(arguments.heads) + kMostHeads - 1) / kMostHeads;
    await_all_parts(arguments.counters + part.batch * head_blocks + part.first_head / kMostHeads,
                    static_cast<unsigned>(arguments.splits));
  }
  join_threads(kMeet, kThreads);
  constexpr int kWarps = kThreads / 32;
  const float scale = kFp8 ? arguments.scale[0] : 1.0F;
  if (part.heads * 4 >= arguments.splits * kWarps) {
    auto* factors = reinterpret_cast<float*>(shared) + thread / 32 * kMostSplits;
    join_by_warps(arguments, part, thread / 32, kWarps, factors, scale);
  } else {
    join_by_blocks<kThreads, kMeet>(arguments, part, thread, shared, scale);
  }
}

}  // namespace assay::collect::mla
