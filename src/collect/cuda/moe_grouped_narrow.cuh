// How the grouped kernel writes tiles whose narrow side are the tokens.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_grouped_packed.cuh"
#include "collect/cuda/moe_grouped_values.cuh"

namespace assay::collect {

__device__ inline void store_transposed(std::uint32_t address, const std::uint32_t (&parts)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(parts[0]), "r"(parts[1]), "r"(parts[2]), "r"(parts[3])
      : "memory");
}

// The 64 columns of a token are 8 pieces of 16 bytes, whose places depend on the token so that no
// two of a matrix share a bank.
__device__ inline std::uint32_t wide_piece(std::uint32_t staging, int token, int piece) {
  return staging + static_cast<std::uint32_t>(token * 128 + (piece ^ (token & 7)) * 16);
}

template <int kWidth, bool kAdds>
__device__ void write_bfloat16(const float (&sums)[kWidth / 2],
                               std::uint32_t staging,
                               const Multiplier& me,
                               const GroupedTarget& target) {
  join_threads(2 + me.group, kGroupThreads);
  const int matrix = me.lane / 8;
#pragma unroll
  for (int j = 0; j < kWidth / 8; j += 2) {
    const float* sum = sums + 4 * j;
    const std::uint32_t parts[4] = {two_bfloat16(sum[0], sum[1]), two_bfloat16(sum[2], sum[3]),
                                    two_bfloat16(sum[4], sum[5]), two_bfloat16(sum[6], sum[7])};
    const int token = 8 * (j + matrix / 2) + me.lane % 8;
    store_transposed(wide_piece(staging, token, me.warp * 2 + matrix % 2), parts);
  }
  join_threads(2 + me.group, kGroupThreads);
  const int piece = me.thread % 8;
  if (target.column + piece * 8 >= target.columns) return;
  char* to = target.output + (target.column + piece * 8) * 2;
#pragma unroll 4
  for (int token = me.thread / 8; token < target.rows; token += kGroupThreads / 8)
    put_vector<kAdds>(target, to, token, shared_vector(wide_piece(staging, token, piece)));
}

// Multiplies the tokens' values by their shares.
template <int kWidth>
__device__ void share_values(const GroupedTarget& target,
                             const Multiplier& me,
                             GroupedSums<kWidth>& sums) {
#pragma unroll
  for (int i = 0; i < kWidth / 4; ++i) {
    const int token = i / 2 * 8 + me.pair() + i % 2;
    const float share = token < target.rows ? target.shares[token].share : 0;
#pragma unroll
    for (auto& half : sums.of) {
      half[i / 2 * 4 + i % 2] *= share;
      half[i / 2 * 4 + i % 2 + 2] *= share;
    }
  }
}

// As above, with 4 pieces.
__device__ inline std::uint32_t narrow_piece(std::uint32_t staging, int token, int piece) {
  return staging + static_cast<std::uint32_t>(token * 64 + (piece ^ (token / 2 & 3)) * 16);
}

// A matrix of 16 bits has a row and the row 8 further down in an element. Returns 16 bytes in the
// order of rows.
__device__ inline uint4 rows_in_order(const uint4& pairs) {
  return {__byte_perm(pairs.x, pairs.y, 0x6420), __byte_perm(pairs.z, pairs.w, 0x6420),
          __byte_perm(pairs.x, pairs.y, 0x7531), __byte_perm(pairs.z, pairs.w, 0x7531)};
}

template <int kWidth>
__device__ void write_fp8(const float (&values)[kWidth / 2],
                          std::uint32_t staging,
                          const Multiplier& me,
                          const GroupedTarget& target) {
  join_threads(2 + me.group, kGroupThreads);
  constexpr int kGroupsOfEight = kWidth / 8;
  const int matrix = me.lane / 8;
#pragma unroll
  for (int j = 0; j < kGroupsOfEight; j += 4) {
    std::uint32_t parts[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (j + i >= kGroupsOfEight) {
        parts[i] = 0;
        continue;
      }
      const float* value = values + 4 * (j + i);
      parts[i] = two_fp8(value[0], value[2]) | two_fp8(value[1], value[3]) << 16U;
    }
    // With fewer than 4 groups the rest of the staging memory takes what is too much.
    const int token = 8 * (j + matrix) + me.lane % 8;
    store_transposed(narrow_piece(staging, token, me.warp), parts);
  }
  join_threads(2 + me.group, kGroupThreads);
  const int piece = me.thread % 4;
  if (target.column + piece * 16 >= target.columns) return;
  char* to = target.output + target.column + piece * 16;
#pragma unroll 4
  for (int token = me.thread / 4; token < target.rows; token += kGroupThreads / 4)
    *reinterpret_cast<uint4*>(to + token * target.row_bytes) =
        rows_in_order(shared_vector(narrow_piece(staging, token, piece)));
}

// Combines the values of 8 lanes, which have the same columns, so that each lane ends with the
// maxima of kCount / 8 columns (at least one) from `first` on.
template <int kCount>
__device__ int spread_maxima(float (&values)[kCount], int lane) {
  int first = 0;
  int width = kCount;
#pragma unroll
  for (int mask = 16; mask >= 4; mask /= 2) {
    if (width == 1) {
      values[0] = fmaxf(values[0], __shfl_xor_sync(0xFFFFFFFFU, values[0], mask));
      continue;
    }
    width /= 2;
    const bool upper = (lane & mask) != 0;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      if (i >= width) break;
      const float given = upper ? values[i] : values[i + width];
      const float kept = upper ? values[i + width] : values[i];
      values[i] = fmaxf(kept, __shfl_xor_sync(0xFFFFFFFFU, given, mask));
    }
    if (upper) first += width;
  }
  return first;
}

// Divides the values by the scale of their token, which both warpgroups find together, and writes
// the scales. `turn` counts the items of this block.
template <class Kind, int kWidth>
__device__ void scale_values(const GroupedBlock<Kind>& block,
                             const GroupedItem& item,
                             const Multiplier& me,
                             int turn,
                             float (&values)[kWidth / 2]) {
  extern __shared__ char memory[];
  int* const all = reinterpret_cast<int*>(memory + Kind::kMaximaAt);
  int* const maxima = all + turn % kMaxima * kTileTokens;
  constexpr int kColumns = kWidth / 4;
  float largest[kColumns];
#pragma unroll
  for (int j = 0; j < kWidth / 8; ++j) {
    largest[2 * j] = fmaxf(fabsf(values[4 * j]), fabsf(values[4 * j + 2]));
    largest[2 * j + 1] = fmaxf(fabsf(values[4 * j + 1]), fabsf(values[4 * j + 3]));
  }
  const int first = spread_maxima(largest, me.lane);
  constexpr int kKept = kColumns >= 8 ? kColumns / 8 : 1;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int column = (first + i) / 2 * 8 + me.pair() + (first + i) % 2;
    atomicMax(&maxima[column], __float_as_int(largest[i]));
  }
  join_threads(1, kMultipliers * kGroupThreads);
#pragma unroll
  for (int j = 0; j < kWidth / 8; ++j) {
    const int2 pair = *reinterpret_cast<const int2*>(&maxima[8 * j + me.pair()]);
    const float first_factor = 1.0F / scale_of(pair.x);
    const float second_factor = 1.0F / scale_of(pair.y);
    values[4 * j] *= first_factor;
    values[4 * j + 1] *= second_factor;
    values[4 * j + 2] *= first_factor;
    values[4 * j + 3] *= second_factor;
  }
  if (me.group != 0) return;
  const GroupedTile& tile = item.tile;
  if (me.thread < tile.rows) {
    const ExpertScales places{tile.begin, tile.end, block.arguments.columns};
    block.arguments.output_scales[places.at(tile.row + me.thread, item.part * kHalfRows)] =
        scale_of(maxima[me.thread]);
  }
  // Cleared after this barrier and before the next, for the item after the next.
  all[(turn + 2) % kMaxima * kTileTokens + me.thread] = 0;
}

template <class Kind, int kWidth>
__device__ void finish_item(const GroupedBlock<Kind>& block,
                            const GroupedItem& item,
                            const Multiplier& me,
                            int turn,
                            GroupedSums<kWidth>& sums) {
  const GroupedArguments& arguments = block.arguments;
  const std::uint32_t staging =
      block.shared + static_cast<std::uint32_t>(Kind::kStaging + me.group * Kind::kStagingBytes);
  const std::int64_t row_bytes = std::int64_t{arguments.columns} * Kind::kOutputBytes;
  GroupedTarget target{.output = static_cast<char*>(arguments.output) + item.tile.row * row_bytes,
                       .row_bytes = row_bytes,
                       .rows = item.tile.rows,
                       .column = item.part * Kind::kTileColumns + me.group * kGroupRows,
                       .columns = arguments.columns};
  if constexpr (Kind::kAdds) {
    target.output = static_cast<char*>(arguments.output);
    target.shares = arguments.row_shares + item.tile.row;
    share_values<kWidth>(target, me, sums);
  }
  if constexpr (!Kind::kActivates) {
    write_bfloat16<kWidth, Kind::kAdds>(sums.of[0], staging, me, target);
    target.column += kHalfRows;
    write_bfloat16<kWidth, Kind::kAdds>(sums.of[1], staging, me, target);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i)
      sums.of[0][i] = gated(sums.of[0][i], sums.of[1][i]);
    if constexpr (Kind::kInBlocks) scale_values<Kind, kWidth>(block, item, me, turn, sums.of[0]);
    if constexpr (Kind::kOutputBytes == 1) {
      write_fp8<kWidth>(sums.of[0], staging, me, target);
    } else {
      write_bfloat16<kWidth, false>(sums.of[0], staging, me, target);
    }
  }
}

template <class Kind, int kWidth>
__device__ void multiply_item(const GroupedBlock<Kind>& block,
                              const GroupedItem& item,
                              const Multiplier& me,
                              int turn,
                              RingPlace<Kind>& place) {
  GroupedSums<kWidth> sums = {};
  if constexpr (Kind::kInBlocks) {
    sum_in_blocks<Kind, kWidth>(block, item, me, place, sums);
  } else if constexpr (Kind::kIsPacked) {
    sum_packed<Kind, kWidth>(block, me, place, sums);
  } else {
    sum_whole<Kind, kWidth>(block, me, place, sums);
  }
  finish_item<Kind, kWidth>(block, item, me, turn, sums);
}

}  // namespace assay::collect
