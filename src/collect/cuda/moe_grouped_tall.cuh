// How the grouped kernel writes tall tiles, whose rows are the tokens.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_grouped_sums.cuh"
#include "collect/cuda/moe_grouped_values.cuh"

namespace assay::collect {

__device__ inline void store_matrices(std::uint32_t address, const std::uint32_t (&parts)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(parts[0]), "r"(parts[1]), "r"(parts[2]), "r"(parts[3])
               : "memory");
}

// A warp writes its 16 tokens by itself. A row of 128 columns is 16 pieces of 16 bytes, or 8.
template <int kPieces>
__device__ std::uint32_t tall_piece(std::uint32_t staging, int token, int piece) {
  return staging + static_cast<std::uint32_t>((token * kPieces + (piece ^ (token & 7))) * 16);
}

template <bool kAdds>
__device__ void write_tall_bfloat16(const float* sums,
                                    std::uint32_t staging,
                                    const Multiplier& me,
                                    const GroupedTarget& target) {
  __syncwarp();
  const int matrix = me.lane / 8;
  const int token_of_lane = matrix % 2 * 8 + me.lane % 8;
#pragma unroll
  for (int j = 0; j < kHalfRows / 8; j += 2) {
    const float* sum = sums + 4 * j;
    const std::uint32_t parts[4] = {two_bfloat16(sum[0], sum[1]), two_bfloat16(sum[2], sum[3]),
                                    two_bfloat16(sum[4], sum[5]), two_bfloat16(sum[6], sum[7])};
    store_matrices(tall_piece<16>(staging, token_of_lane, j + matrix / 2), parts);
  }
  __syncwarp();
  const int piece = me.lane % 16;
  if (target.column + piece * 8 >= target.columns) return;
  char* to = target.output + (target.column + piece * 8) * 2;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int token = me.lane / 16 + 2 * i;
    if (token < target.rows)
      put_vector<kAdds>(target, to, token, shared_vector(tall_piece<16>(staging, token, piece)));
  }
}

// A warp multiplies its rows by their shares.
__device__ inline void share_tall_values(const GroupedTarget& target,
                                         const Multiplier& me,
                                         float* values) {
#pragma unroll
  for (int second = 0; second < 2; ++second) {
    const int token = me.lane / 4 + 8 * second;
    const float share = token < target.rows ? target.shares[token].share : 0;
#pragma unroll
    for (int i = 0; i < kHalfRows; i += 4) {
      values[i + 2 * second] *= share;
      values[i + 2 * second + 1] *= share;
    }
  }
}

// An element of 16 bits has two columns of one group of 8, and its neighbour those of the next.
__device__ inline uint4 groups_in_order(const uint4& mixed) {
  return {__byte_perm(mixed.x, mixed.y, 0x5410), __byte_perm(mixed.z, mixed.w, 0x5410),
          __byte_perm(mixed.x, mixed.y, 0x7632), __byte_perm(mixed.z, mixed.w, 0x7632)};
}

__device__ inline void write_tall_fp8(const float* values,
                                      std::uint32_t staging,
                                      const Multiplier& me,
                                      const GroupedTarget& target) {
  __syncwarp();
  const int matrix = me.lane / 8;
  const int token_of_lane = matrix % 2 * 8 + me.lane % 8;
#pragma unroll
  for (int j = 0; j < kHalfRows / 8; j += 4) {
    std::uint32_t parts[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* value = values + 4 * (j + i / 2 * 2) + i % 2 * 2;
      parts[i] = two_fp8(value[0], value[1]) | two_fp8(value[4], value[5]) << 16U;
    }
    store_matrices(tall_piece<8>(staging, token_of_lane, j / 2 + matrix / 2), parts);
  }
  __syncwarp();
  const int piece = me.lane % 8;
  if (target.column + piece * 16 >= target.columns) return;
  char* to = target.output + target.column + piece * 16;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int token = me.lane / 8 + 4 * i;
    if (token < target.rows)
      *reinterpret_cast<uint4*>(to + token * target.row_bytes) =
          groups_in_order(shared_vector(tall_piece<8>(staging, token, piece)));
  }
}

__device__ inline float maximum_of_four_lanes(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFU, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xFFFFFFFFU, value, 2));
}

// As scale_values(). `first_token` is the warp's first, in the tile.
template <class Kind>
__device__ void scale_tall_values(const GroupedBlock<Kind>& block,
                                  const GroupedItem& item,
                                  const Multiplier& me,
                                  int first_token,
                                  float* values) {
  const GroupedTile& tile = item.tile;
  const ExpertScales places{tile.begin, tile.end, block.arguments.columns};
#pragma unroll
  for (int second = 0; second < 2; ++second) {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kHalfRows / 2; i += 4)
      largest =
          fmaxf(largest, fmaxf(fabsf(values[i + 2 * second]), fabsf(values[i + 2 * second + 1])));
    const float scale = scale_of(__float_as_int(maximum_of_four_lanes(largest)));
    const float factor = 1.0F / scale;
#pragma unroll
    for (int i = 0; i < kHalfRows / 2; i += 4) {
      values[i + 2 * second] *= factor;
      values[i + 2 * second + 1] *= factor;
    }
    const int token = first_token + me.lane / 4 + 8 * second;
    if (me.lane % 4 == 0 && token < tile.rows)
      block.arguments.output_scales[places.at(tile.row + token, item.part * kHalfRows)] = scale;
  }
}

template <class Kind>
__device__ void multiply_tall(const GroupedBlock<Kind>& block,
                              const GroupedItem& item,
                              const Multiplier& me,
                              RingPlace<Kind>& place) {
  TallSums sums = {};
  if constexpr (Kind::kInBlocks) {
    sum_tall_in_blocks(block, item, me, place, sums);
  } else {
    sum_tall_whole(block, me, place, sums);
  }
  // The other warps may still read what a narrow tile left in the memory of this one.
  join_threads(2 + me.group, kGroupThreads);
  const GroupedArguments& arguments = block.arguments;
  const int first_token = me.group * kGroupRows + me.warp * 16;
  const std::uint32_t staging =
      block.shared + static_cast<std::uint32_t>(Kind::kStaging + me.group * Kind::kStagingBytes +
                                                me.warp * Kind::kStagingBytes / 4);
  const std::int64_t row_bytes = std::int64_t{arguments.columns} * Kind::kOutputBytes;
  GroupedTarget target{
      .output = static_cast<char*>(arguments.output) + (item.tile.row + first_token) * row_bytes,
      .row_bytes = row_bytes,
      .rows = item.tile.rows - first_token,
      .column = item.part * Kind::kTileColumns,
      .columns = arguments.columns};
  if constexpr (Kind::kAdds) {
    target.output = static_cast<char*>(arguments.output);
    target.shares = arguments.row_shares + item.tile.row + first_token;
    share_tall_values(target, me, sums.of);
  }
  if constexpr (!Kind::kActivates) {
    write_tall_bfloat16<Kind::kAdds>(sums.of, staging, me, target);
    target.column += kHalfRows;
    write_tall_bfloat16<Kind::kAdds>(sums.of + kHalfRows / 2, staging, me, target);
  } else {
#pragma unroll
    for (int i = 0; i < kHalfRows / 2; ++i)
      sums.of[i] = gated(sums.of[i], sums.of[kHalfRows / 2 + i]);
    if constexpr (Kind::kInBlocks) scale_tall_values(block, item, me, first_token, sums.of);
    if constexpr (Kind::kOutputBytes == 1) {
      write_tall_fp8(sums.of, staging, me, target);
    } else {
      write_tall_bfloat16<false>(sums.of, staging, me, target);
    }
  }
}

}  // namespace assay::collect
