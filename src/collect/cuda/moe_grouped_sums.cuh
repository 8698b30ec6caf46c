// The sums over k of the grouped kernel, for tiles whose narrow side are the tokens and for tall
// ones.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_grouped_block.cuh"
#include "collect/cuda/wgmma.cuh"

namespace assay::collect {

template <int kWidth>
struct GroupedSums {
  float of[2][kWidth / 2];  // of both halves
};

template <class Kind, int kWidth>
__device__ void multiply_step(float (&sums)[kWidth / 2],
                              std::uint32_t weight,
                              std::uint32_t input,
                              int accumulate) {
  const std::uint64_t a = matrix_descriptor(weight);
  const std::uint64_t b = matrix_descriptor(input);
#pragma unroll
  for (int i = 0; i < kStepBytes / 32; ++i) {
    if constexpr (Kind::kElementBytes == 1) {
      product_fp8(sums, a + 2 * i, b + 2 * i, accumulate | i);
    } else {
      product_bfloat16(sums, a + 2 * i, b + 2 * i, accumulate | i);
    }
  }
}

// The scales of the weight's rows of both halves.
template <class Kind>
struct WeightScaleRows {
  const float* rows[2];

  __device__ WeightScaleRows(const GroupedBlock<Kind>& block, const GroupedItem& item) {
    const GroupedArguments& arguments = block.arguments;
    const WeightScales layout{arguments.n, arguments.k};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(block.half_row(item.part, half), arguments.n - 1);
      rows[half] = arguments.weight_scales + item.tile.expert * layout.count() + layout.at(row, 0);
    }
  }

  [[nodiscard]] __device__ float at(int half, int step) const {
    return __ldg(rows[half] + step);
  }
};

// Hopper's sums of fp8 products have about 14 bits, therefore each 128 of k are added in float32.
template <class Kind, int kWidth>
__device__ void sum_in_blocks(const GroupedBlock<Kind>& block,
                              const GroupedItem& item,
                              const Multiplier& me,
                              RingPlace<Kind>& place,
                              GroupedSums<kWidth>& sums) {
  const WeightScaleRows<Kind> scale_rows(block, item);
  float next[2] = {scale_rows.at(0, 0), scale_rows.at(1, 0)};
  const int steps = block.steps();
  const auto group_offset = static_cast<std::uint32_t>(me.group * kGroupRows * kStepBytes);
  for (int step = 0; step < steps; ++step) {
    const float scale[2] = {next[0], next[1]};
    if (step + 1 < steps) {
      next[0] = scale_rows.at(0, step + 1);
      next[1] = scale_rows.at(1, step + 1);
    }
    block.wait_until_full(place);
    const std::uint32_t token_scales =
        block.scales_at(place.stage) + static_cast<std::uint32_t>(me.pair()) * 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float products[kWidth / 2];
      begin_products();
      multiply_step<Kind, kWidth>(products, block.weight_at(place.stage, half) + group_offset,
                                  block.input_at(place.stage), 0);
      commit_products();
      wait_for_products<0>();
      hold(products);
#pragma unroll
      for (int j = 0; j < kWidth / 8; ++j) {
        const float2 pair = shared_pair(token_scales + j * 32);
        const float first = scale[half] * pair.x;
        const float second = scale[half] * pair.y;
        float* sum = sums.of[half] + 4 * j;
        sum[0] += products[4 * j] * first;
        sum[1] += products[4 * j + 1] * second;
        sum[2] += products[4 * j + 2] * first;
        sum[3] += products[4 * j + 3] * second;
      }
    }
    __syncwarp();
    if (me.lane == 0) arrive(block.empty(place.stage));
    place.advance();
  }
}

template <class Kind, int kWidth>
__device__ void sum_whole(const GroupedBlock<Kind>& block,
                          const Multiplier& me,
                          RingPlace<Kind>& place,
                          GroupedSums<kWidth>& sums) {
  const auto group_offset = static_cast<std::uint32_t>(me.group * kGroupRows * kStepBytes);
  const int steps = block.steps();
  int before = 0;
  for (int step = 0; step < steps; ++step) {
    block.wait_until_full(place);
    begin_products();
#pragma unroll
    for (int half = 0; half < 2; ++half)
      multiply_step<Kind, kWidth>(sums.of[half], block.weight_at(place.stage, half) + group_offset,
                                  block.input_at(place.stage), 1);
    commit_products();
    wait_for_products<1>();
    if (step > 0 && me.lane == 0) arrive(block.empty(before));
    before = place.stage;
    place.advance();
  }
  wait_for_products<0>();
  hold(sums.of[0]);
  hold(sums.of[1]);
  if (me.lane == 0) arrive(block.empty(before));
}

// A tile of more than 64 tokens has the tokens as rows of the product: a warpgroup has 64 of them
// and all 256 rows of the weight, whose products read less shared memory. A thread has two tokens.
struct TallSums {
  float of[2 * kHalfRows / 2];  // of both halves
};

template <class Kind>
__device__ void sum_tall_in_blocks(const GroupedBlock<Kind>& block,
                                   const GroupedItem& item,
                                   const Multiplier& me,
                                   RingPlace<Kind>& place,
                                   TallSums& sums) {
  const WeightScaleRows<Kind> scale_rows(block, item);
  float next[2] = {scale_rows.at(0, 0), scale_rows.at(1, 0)};
  const int steps = block.steps();
  const auto group_offset = static_cast<std::uint32_t>(me.group * kGroupRows * kStepBytes);
  const auto token = static_cast<std::uint32_t>(me.group * kGroupRows + me.warp * 16 + me.lane / 4);
  for (int step = 0; step < steps; ++step) {
    const float scale[2] = {next[0], next[1]};
    if (step + 1 < steps) {
      next[0] = scale_rows.at(0, step + 1);
      next[1] = scale_rows.at(1, step + 1);
    }
    block.wait_until_full(place);
    const float first_token = shared_number(block.scales_at(place.stage) + token * 4);
    const float second_token = shared_number(block.scales_at(place.stage) + token * 4 + 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float products[kHalfRows / 2];
      begin_products();
      multiply_step<Kind, kHalfRows>(products, block.input_at(place.stage) + group_offset,
                                     block.weight_at(place.stage, half), 0);
      commit_products();
      wait_for_products<0>();
      hold(products);
      if (half == 1) {
        __syncwarp();
        if (me.lane == 0) arrive(block.empty(place.stage));
      }
      const float first = scale[half] * first_token;
      const float second = scale[half] * second_token;
#pragma unroll
      for (int i = 0; i < kHalfRows / 2; ++i)
        sums.of[half * kHalfRows / 2 + i] += products[i] * (i % 4 < 2 ? first : second);
    }
    place.advance();
  }
}

template <class Kind>
__device__ void sum_tall_whole(const GroupedBlock<Kind>& block,
                               const Multiplier& me,
                               RingPlace<Kind>& place,
                               TallSums& sums) {
  const auto group_offset = static_cast<std::uint32_t>(me.group * kGroupRows * kStepBytes);
  const int steps = block.steps();
  int before = 0;
  for (int step = 0; step < steps; ++step) {
    block.wait_until_full(place);
    begin_products();
    multiply_step<Kind, 2 * kHalfRows>(sums.of, block.input_at(place.stage) + group_offset,
                                       block.weight_at(place.stage, 0), 1);
    commit_products();
    wait_for_products<1>();
    if (step > 0 && me.lane == 0) arrive(block.empty(before));
    before = place.stage;
    place.advance();
  }
  wait_for_products<0>();
  hold(sums.of);
  if (me.lane == 0) arrive(block.empty(before));
}

}  // namespace assay::collect
