// The sums over k of the grouped kernel with 4-bit weights, which become bfloat16 in registers.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "collect/cuda/moe_grouped_sums.cuh"

namespace assay::collect {

__device__ inline std::uint32_t two_scaled(std::uint32_t two, std::uint32_t factors) {
  const __nv_bfloat162 product = __hmul2(reinterpret_cast<const __nv_bfloat162&>(two),
                                         reinterpret_cast<const __nv_bfloat162&>(factors));
  return reinterpret_cast<const std::uint32_t&>(product);
}

// Makes bfloat16 of the pairs of a word of packed_place(). The bits of e2m1 become the low bits of
// the exponent and the first of the mantissa, which makes the number 2^126 times too small; the
// factors of rows r and r + 8 mend this, too.
__device__ inline void unpack(std::uint32_t word,
                              std::uint32_t upper_factor,
                              std::uint32_t lower_factor,
                              std::uint32_t (&pairs)[4]) {
  constexpr std::uint32_t kBits = 0x81C081C0U;  // where bfloat16 has those of the first pair
  pairs[0] = two_scaled(word & kBits, upper_factor);
  pairs[1] = two_scaled(word << 3U & kBits, lower_factor);
  pairs[2] = two_scaled(word << 6U & kBits, upper_factor);
  const std::uint32_t last =
      (word << 1U & 0x80008000U) | (word >> 5U & 0x01000100U) | (word >> 4U & 0x00C000C0U);
  pairs[3] = two_scaled(last, lower_factor);
}

// Two times 2^126 2^(e - 127) as bfloat16, for the scale e in a byte of the word.
__device__ inline std::uint32_t two_factors(std::uint32_t word, int byte) {
  constexpr std::uint32_t kTwoOnes = 0x00800080U;  // the lowest bits of two exponents
  return (word >> (8 * byte) & 0xFFU) * kTwoOnes + 126U * kTwoOnes;
}

using UnpackedStep = std::uint32_t[kStepBytes / 32][4];

// What a thread unpacks for a step of a half.
struct PackedStep {
  uint4 words;
  std::uint32_t scales;
};

template <class Kind>
__device__ PackedStep
packed_step(const GroupedBlock<Kind>& block, const Multiplier& me, int stage, int half) {
  const int warp = me.group * 4 + me.warp;
  return {shared_vector(block.weight_at(stage, half) +
                        static_cast<std::uint32_t>(warp * 512 + me.lane * 16)),
          __float_as_uint(shared_number(
              block.scales_at(stage) +
              static_cast<std::uint32_t>(half * kPackedScaleBytes + warp * 32 + me.lane / 4 * 4)))};
}

__device__ inline void unpack_step(const PackedStep& packed, UnpackedStep& unpacked) {
  const std::uint32_t words[4] = {packed.words.x, packed.words.y, packed.words.z, packed.words.w};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    unpack(words[i], two_factors(packed.scales, i / 2), two_factors(packed.scales, 2 + i / 2),
           unpacked[i]);
}

__device__ inline void hold_step(UnpackedStep& unpacked) {
#pragma unroll
  for (auto& pairs : unpacked) {
#pragma unroll
    for (std::uint32_t& pair : pairs)
      asm volatile("" : "+r"(pair)::"memory");
  }
}

template <int kWidth>
__device__ void multiply_packed(const UnpackedStep& unpacked,
                                std::uint64_t input,
                                float (&sums)[kWidth / 2]) {
  begin_products();
#pragma unroll
  for (int i = 0; i < kStepBytes / 32; ++i)
    product_bfloat16(sums, unpacked[i], input + 2 * i, 1);
  commit_products();
}

using UnpackedHalves = UnpackedStep[2];

template <class Kind>
__device__ void unpack_halves(const GroupedBlock<Kind>& block,
                              const Multiplier& me,
                              const RingPlace<Kind>& place,
                              UnpackedHalves& unpacked) {
  block.wait_until_full(place);
  const PackedStep first = packed_step(block, me, place.stage, 0);
  const PackedStep second = packed_step(block, me, place.stage, 1);
  unpack_step(first, unpacked[0]);
  unpack_step(second, unpacked[1]);
}

// Multiplies a step, and unpacks the next one meanwhile. The last step is unpacked once more
// instead: products under way across a branch would be serialised by the assembler.
template <class Kind, int kWidth>
__device__ void multiply_and_unpack(const GroupedBlock<Kind>& block,
                                    const Multiplier& me,
                                    bool is_last,
                                    RingPlace<Kind>& place,
                                    UnpackedHalves& unpacked,
                                    UnpackedHalves& next,
                                    GroupedSums<kWidth>& sums) {
  const int stage = place.stage;
  const std::uint64_t input = matrix_descriptor(block.input_at(stage));
  multiply_packed<kWidth>(unpacked[0], input, sums.of[0]);
  multiply_packed<kWidth>(unpacked[1], input, sums.of[1]);
  RingPlace<Kind> next_place = place;
  next_place.advance();
  if (is_last) next_place = place;
  unpack_halves(block, me, next_place, next);
  wait_for_products<0>();
  hold_step(unpacked[0]);
  hold_step(unpacked[1]);
  hold(sums.of[0]);
  hold(sums.of[1]);
  if (me.lane == 0) arrive(block.empty(stage));
  place.advance();
}

template <class Kind, int kWidth>
__device__ void sum_packed(const GroupedBlock<Kind>& block,
                           const Multiplier& me,
                           RingPlace<Kind>& place,
                           GroupedSums<kWidth>& sums) {
  const int steps = block.steps();
  UnpackedHalves even;
  UnpackedHalves odd;
  unpack_halves(block, me, place, even);
  for (int step = 0; step < steps; step += 2) {
    multiply_and_unpack<Kind, kWidth>(block, me, step + 1 == steps, place, even, odd, sums);
    if (step + 1 == steps) break;
    multiply_and_unpack<Kind, kWidth>(block, me, step + 2 == steps, place, odd, even, sums);
  }
}

}  // namespace assay::collect
