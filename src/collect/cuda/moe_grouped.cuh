// The kernel of moe_grouped.h. Two warpgroups multiply and one warp copies: a tile has 256 rows of
// the weight in two halves of 128 (with an activation, gate and up of the same columns), and each
// multiplying warpgroup has 64 rows of both, so that gate and up of an element meet in a thread.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "collect/cuda/moe_grouped.h"
#include "collect/cuda/moe_packed.h"
#include "collect/cuda/quantize_kernels.h"
#include "collect/cuda/tma.cuh"
#include "collect/cuda/wgmma.cuh"
#include "collect/kernels/block_scales.h"

namespace assay::collect {

constexpr int kGroupThreads = 128;
constexpr int kMultipliers = 2;  // warpgroups
constexpr int kGroupedThreads = (1 + kMultipliers) * kGroupThreads;
constexpr int kHalfRows = 128;
constexpr int kGroupRows = 64;   // rows of a half that a warpgroup has
constexpr int kStepBytes = 128;  // of k
constexpr int kHalfBytes = kHalfRows * kStepBytes;
constexpr int kInputBytes = kTileTokens * kStepBytes;
constexpr int kScaleBytes = kTileTokens * 4;
constexpr int kMaxima = 3;  // sets of maxima, used in turn

// The kinds of products that the kernel is compiled for.
template <DataType kType, GroupedEpilogue kEpilogue>
struct GroupedKind {
  static constexpr bool kInBlocks = kType == DataType::kFp8Block;
  static constexpr bool kActivates = kEpilogue == GroupedEpilogue::kActivate;
  // 4-bit weights, which become bfloat16 in registers.
  static constexpr bool kIsPacked = kType == DataType::kMxfp4;
  static constexpr int kElementBytes = kType == DataType::kBfloat16 || kIsPacked ? 2 : 1;
  static constexpr int kStages = kIsPacked ? 7 : 4;
  static constexpr int kWeightBytes = kIsPacked ? kPackedTileBytes : kHalfBytes;  // of a half
  static constexpr int kOutputBytes = kActivates ? kElementBytes : 2;
  static constexpr int kStepElements = kStepBytes / kElementBytes;
  static constexpr int kTileColumns = kActivates ? kHalfRows : 2 * kHalfRows;

  // Offsets in shared memory.
  static constexpr int kInputs = kStages * 2 * kWeightBytes;
  static constexpr int kStaging = kInputs + kStages * kInputBytes;
  static constexpr int kStagingBytes = kGroupRows * kTileTokens * kOutputBytes;  // of a warpgroup
  static constexpr int kScales = kStaging + kMultipliers * kStagingBytes;
  // Scales of tokens, or of packed weights.
  static constexpr int kStageScaleBytes =
      kIsPacked ? 2 * kPackedScaleBytes : (kInBlocks ? kScaleBytes : 0);
  static constexpr int kMaximaAt = kScales + kStages * kStageScaleBytes;
  static constexpr int kBarriers =
      kMaximaAt + (kInBlocks && kActivates ? kMaxima * kScaleBytes : 0);
  static constexpr int kSharedBytes = kBarriers + kStages * 2 * 8;
};

// The place in the ring of stages.
template <class Kind>
struct RingPlace {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++stage < Kind::kStages) return;
    stage = 0;
    parity ^= 1U;
  }
};

// What a block works on at a time: a tile of an expert's rows, and 256 rows of its weight.
struct GroupedItem {
  GroupedTile tile;
  int part;  // of the weight
};

// The items of a tile's weight part follow each other, so that blocks that run at the same time
// read the same weight. Every `slot` is a tile of the right expert, because the items of an expert
// are its tiles times the parts.
__device__ inline GroupedItem item_at(const GroupedArguments& arguments, int parts, int item) {
  const GroupedTile found = arguments.tiles[item / parts];
  const int nth = item - found.first * parts;
  if (found.tiles == 1) return {found, nth};
  return {arguments.tiles[found.first + nth % found.tiles], nth / found.tiles};
}

__device__ inline int width_index(int rows) {
  int index = 0;
  while (kTileTokens >> (kTileWidths.size() - 1 - index) < rows)
    ++index;
  return index;
}

template <class Kind>
struct GroupedBlock {
  const GroupedArguments& arguments;
  std::uint32_t shared;

  [[nodiscard]] __device__ std::uint32_t weight_at(int stage, int half) const {
    return shared + static_cast<std::uint32_t>((2 * stage + half) * Kind::kWeightBytes);
  }

  [[nodiscard]] __device__ std::uint32_t input_at(int stage) const {
    return shared + static_cast<std::uint32_t>(Kind::kInputs + stage * kInputBytes);
  }

  [[nodiscard]] __device__ std::uint32_t scales_at(int stage) const {
    return shared + static_cast<std::uint32_t>(Kind::kScales + stage * Kind::kStageScaleBytes);
  }

  [[nodiscard]] __device__ std::uint32_t full(int stage) const {
    return shared + static_cast<std::uint32_t>(Kind::kBarriers + stage * 8);
  }

  [[nodiscard]] __device__ std::uint32_t empty(int stage) const {
    return shared + static_cast<std::uint32_t>(Kind::kBarriers + (Kind::kStages + stage) * 8);
  }

  [[nodiscard]] __device__ int parts() const {
    return (arguments.columns + Kind::kTileColumns - 1) / Kind::kTileColumns;
  }

  [[nodiscard]] __device__ int steps() const {
    return (arguments.k + Kind::kStepElements - 1) / Kind::kStepElements;
  }

  // The row of an expert's weight at which a half of a part begins.
  [[nodiscard]] __device__ int half_row(int part, int half) const {
    return part * Kind::kTileColumns + half * (Kind::kActivates ? arguments.columns : kHalfRows);
  }
};

// What the copying thread copies for an item.
template <class Kind>
class ItemCopy {
 public:
  __device__ ItemCopy(const GroupedBlock<Kind>& block, const GroupedItem& item)
      : block_(block),
        item_(item),
        width_(width_index(item.tile.rows)),
        tokens_(kTileTokens >> (kTileWidths.size() - 1 - width_)),
        scales_(Kind::kInBlocks ? min(tokens_, item.tile.end - item.tile.row) : 0) {}

  __device__ void copy_weight(int step, const RingPlace<Kind>& place) const {
    const int stage = place.stage;
    wait_for_phase(block_.empty(stage), place.parity ^ 1U);
    const std::uint32_t full = block_.full(stage);
    constexpr int kPackedScales = Kind::kIsPacked ? Kind::kStageScaleBytes : 0;
    arrive_and_expect(full, static_cast<std::uint32_t>(2 * Kind::kWeightBytes + kPackedScales +
                                                       tokens_ * kStepBytes + scales_ * 4));
    if constexpr (Kind::kIsPacked) return copy_packed(step, stage);
    const int first_row = item_.tile.expert * block_.arguments.n;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      copy_box(block_.weight_at(stage, half), block_.arguments.weight, step * Kind::kStepElements,
               first_row + block_.half_row(item_.part, half), full);
  }

  __device__ void copy_input(int step, const RingPlace<Kind>& place) const {
    const int stage = place.stage;
    const GroupedTile& tile = item_.tile;
    const int column = step * Kind::kStepElements;
    copy_box(block_.input_at(stage), block_.arguments.inputs[width_], column, tile.row,
             block_.full(stage));
    if constexpr (Kind::kInBlocks) {
      const ExpertScales places{tile.begin, tile.end, block_.arguments.k};
      copy_bytes(block_.scales_at(stage),
                 block_.arguments.input_scales + places.at(tile.row, column),
                 static_cast<std::uint32_t>(scales_) * 4, block_.full(stage));
    }
  }

 private:
  __device__ void copy_packed(int step, int stage) const {
    const GroupedArguments& arguments = block_.arguments;
    const PackedWeight weight{arguments.columns, Kind::kActivates ? 2 : 1, arguments.k};
    const auto tiles = static_cast<int>(weight.tiles_of_part());
    const std::uint32_t full = block_.full(stage);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A half of which no row is needed takes another one's.
      const int tile =
          Kind::kActivates ? item_.part + half * tiles : min(2 * item_.part + half, tiles - 1);
      const std::int64_t nth =
          item_.tile.expert * weight.blocks() + std::int64_t{tile} * weight.steps() + step;
      copy_bytes(block_.weight_at(stage, half), arguments.packed_weight + nth * kPackedTileBytes,
                 kPackedTileBytes, full);
      copy_bytes(block_.scales_at(stage) + static_cast<std::uint32_t>(half * kPackedScaleBytes),
                 arguments.packed_scales + nth * kPackedScaleBytes, kPackedScaleBytes, full);
    }
  }

  const GroupedBlock<Kind>& block_;
  const GroupedItem& item_;
  int width_;
  int tokens_;
  int scales_;
};

__device__ inline float2 shared_pair(std::uint32_t address) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(address));
  return pair;
}

__device__ inline float shared_number(std::uint32_t address) {
  float number;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(number) : "r"(address));
  return number;
}

__device__ inline uint4 shared_vector(std::uint32_t address) {
  uint4 vector;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
               : "r"(address));
  return vector;
}

// The place of a thread among those that multiply.
struct Multiplier {
  int group;  // 0 or 1
  int warp;   // in the warpgroup
  int lane;
  int thread;  // in the warpgroup

  // Its first column in each group of 8.
  [[nodiscard]] __device__ int pair() const { return lane % 4 * 2; }
};

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
    wait_for_phase(block.full(place.stage), place.parity);
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
    wait_for_phase(block.full(place.stage), place.parity);
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
  constexpr std::uint32_t kSign = 0x80008000U;
  constexpr std::uint32_t kNumber = 0x01C001C0U;
  pairs[0] = two_scaled((word << 12U & kSign) | (word << 6U & kNumber), upper_factor);
  pairs[1] = two_scaled((word << 8U & kSign) | (word << 2U & kNumber), lower_factor);
  pairs[2] = two_scaled((word << 4U & kSign) | (word >> 2U & kNumber), upper_factor);
  pairs[3] = two_scaled((word & kSign) | (word >> 6U & kNumber), lower_factor);
}

// Two times 2^126 2^(e - 127) as bfloat16, for the scale e in a byte of the word.
__device__ inline std::uint32_t two_factors(std::uint32_t word, int byte) {
  const std::uint32_t exponent = (word >> (8 * byte) & 0xFFU) + 126;
  return exponent * 0x00800080U;
}

using UnpackedStep = std::uint32_t[kStepBytes / 32][4];

template <class Kind>
__device__ void unpack_step(const GroupedBlock<Kind>& block,
                            const Multiplier& me,
                            int stage,
                            int half,
                            UnpackedStep& unpacked) {
  const int warp = me.group * 4 + me.warp;
  const uint4 packed = shared_vector(block.weight_at(stage, half) +
                                     static_cast<std::uint32_t>(warp * 512 + me.lane * 16));
  const std::uint32_t scales = __float_as_uint(shared_number(
      block.scales_at(stage) +
      static_cast<std::uint32_t>(half * kPackedScaleBytes + warp * 32 + me.lane / 4 * 4)));
  const std::uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    unpack(words[i], two_factors(scales, i / 2), two_factors(scales, 2 + i / 2), unpacked[i]);
}

__device__ inline void hold_step(UnpackedStep& unpacked) {
#pragma unroll
  for (auto& pairs : unpacked) {
#pragma unroll
    for (std::uint32_t& pair : pairs)
      asm volatile("" : "+r"(pair)::"memory");
  }
}

// The weight of the second half is unpacked while that of the first is multiplied.
template <class Kind, int kWidth>
__device__ void sum_packed(const GroupedBlock<Kind>& block,
                           const Multiplier& me,
                           RingPlace<Kind>& place,
                           GroupedSums<kWidth>& sums) {
  const int steps = block.steps();
  for (int step = 0; step < steps; ++step) {
    wait_for_phase(block.full(place.stage), place.parity);
    const std::uint64_t input = matrix_descriptor(block.input_at(place.stage));
    UnpackedStep unpacked[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unpack_step(block, me, place.stage, half, unpacked[half]);
      begin_products();
#pragma unroll
      for (int i = 0; i < kStepBytes / 32; ++i)
        product_bfloat16(sums.of[half], unpacked[half][i], input + 2 * i, 1);
      commit_products();
    }
    wait_for_products<0>();
    hold_step(unpacked[0]);
    hold_step(unpacked[1]);
    hold(sums.of[0]);
    hold(sums.of[1]);
    if (me.lane == 0) arrive(block.empty(place.stage));
    place.advance();
  }
}

__device__ inline float gated(float gate, float up) {
  return __fdividef(gate, 1.0F + __expf(-gate)) * up;
}

__device__ inline void store_transposed(std::uint32_t address, const std::uint32_t (&parts)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(parts[0]), "r"(parts[1]), "r"(parts[2]), "r"(parts[3])
      : "memory");
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
};

// The 64 columns of a token are 8 pieces of 16 bytes, whose places depend on the token so that no
// two of a matrix share a bank.
__device__ inline std::uint32_t wide_piece(std::uint32_t staging, int token, int piece) {
  return staging + static_cast<std::uint32_t>(token * 128 + (piece ^ (token & 7)) * 16);
}

template <int kWidth>
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
    *reinterpret_cast<uint4*>(to + token * target.row_bytes) =
        shared_vector(wide_piece(staging, token, piece));
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

__device__ inline float scale_of(int largest_bits) {
  return fmaxf(__int_as_float(largest_bits), kLeastMaximum) / kLargestFp8;
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
  if constexpr (!Kind::kActivates) {
    write_bfloat16<kWidth>(sums.of[0], staging, me, target);
    target.column += kHalfRows;
    write_bfloat16<kWidth>(sums.of[1], staging, me, target);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i)
      sums.of[0][i] = gated(sums.of[0][i], sums.of[1][i]);
    if constexpr (Kind::kInBlocks) scale_values<Kind, kWidth>(block, item, me, turn, sums.of[0]);
    if constexpr (Kind::kOutputBytes == 1) {
      write_fp8<kWidth>(sums.of[0], staging, me, target);
    } else {
      write_bfloat16<kWidth>(sums.of[0], staging, me, target);
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
    wait_for_phase(block.full(place.stage), place.parity);
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
    wait_for_phase(block.full(place.stage), place.parity);
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

__device__ inline void write_tall_bfloat16(const float* sums,
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
      *reinterpret_cast<uint4*>(to + token * target.row_bytes) =
          shared_vector(tall_piece<16>(staging, token, piece));
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
  if constexpr (!Kind::kActivates) {
    write_tall_bfloat16(sums.of, staging, me, target);
    target.column += kHalfRows;
    write_tall_bfloat16(sums.of + kHalfRows / 2, staging, me, target);
  } else {
#pragma unroll
    for (int i = 0; i < kHalfRows / 2; ++i)
      sums.of[i] = gated(sums.of[i], sums.of[kHalfRows / 2 + i]);
    if constexpr (Kind::kInBlocks) scale_tall_values(block, item, me, first_token, sums.of);
    if constexpr (Kind::kOutputBytes == 1) {
      write_tall_fp8(sums.of, staging, me, target);
    } else {
      write_tall_bfloat16(sums.of, staging, me, target);
    }
  }
}

template <class Kind>
__device__ void multiply_items(const GroupedBlock<Kind>& block, const Multiplier& me) {
  const int parts = block.parts();
  const int items = *block.arguments.tile_count * parts;
  RingPlace<Kind> place;
  int turn = 0;  // counts the narrow tiles, for which both warpgroups meet
  for (int at = static_cast<int>(blockIdx.x); at < items; at += static_cast<int>(gridDim.x)) {
    const GroupedItem item = item_at(block.arguments, parts, at);
    switch (width_index(item.tile.rows)) {
      case 0:
        multiply_item<Kind, 16>(block, item, me, turn++, place);
        break;
      case 1:
        multiply_item<Kind, 32>(block, item, me, turn++, place);
        break;
      case 2:
        multiply_item<Kind, 64>(block, item, me, turn++, place);
        break;
      default:
        if constexpr (Kind::kIsPacked) {
          multiply_item<Kind, 128>(block, item, me, turn++, place);
        } else {
          multiply_tall(block, item, me, place);
        }
        break;
    }
  }
}

// Fills the ring with weights before the kernel that writes the input has ended. The tiles are
// older: that kernel, too, began after they were written.
template <class Kind>
__device__ int copy_ahead(const ItemCopy<Kind>& copy, int steps, RingPlace<Kind>& place) {
  const int ahead = min(steps, Kind::kStages);
  RingPlace<Kind> weight_place = place;
  for (int step = 0; step < ahead; ++step, weight_place.advance())
    copy.copy_weight(step, weight_place);
  wait_for_earlier_kernels();
  for (int step = 0; step < ahead; ++step, place.advance())
    copy.copy_input(step, place);
  return ahead;
}

template <class Kind>
__device__ void copy_items(const GroupedBlock<Kind>& block) {
  const int parts = block.parts();
  const int steps = block.steps();
  const int items = *block.arguments.tile_count * parts;
  RingPlace<Kind> place;
  for (int at = static_cast<int>(blockIdx.x); at < items; at += static_cast<int>(gridDim.x)) {
    const GroupedItem item = item_at(block.arguments, parts, at);
    const ItemCopy<Kind> copy(block, item);
    int step = at < static_cast<int>(gridDim.x) ? copy_ahead(copy, steps, place) : 0;
    for (; step < steps; ++step, place.advance()) {
      copy.copy_weight(step, place);
      copy.copy_input(step, place);
    }
  }
}

template <class Kind>
__device__ void prepare_shared(const GroupedBlock<Kind>& block) {
  extern __shared__ char memory[];
  if constexpr (Kind::kInBlocks && Kind::kActivates) {
    int* const maxima = reinterpret_cast<int*>(memory + Kind::kMaximaAt);
    for (int i = static_cast<int>(threadIdx.x); i < kMaxima * kTileTokens; i += kGroupedThreads)
      maxima[i] = 0;
  }
  if (threadIdx.x == kMultipliers * kGroupThreads) {
    prefetch_map(block.arguments.weight);
    for (const CUtensorMap& input : block.arguments.inputs)
      prefetch_map(input);
  }
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Kind::kStages; ++stage) {
      make_barrier(block.full(stage), 1);
      make_barrier(block.empty(stage), kMultipliers * kGroupThreads / 32);
    }
    publish_barriers();
  }
  __syncthreads();
}

template <class Kind>
__global__ void __launch_bounds__(kGroupedThreads, 1)
    grouped_products(const __grid_constant__ GroupedArguments arguments) {
  extern __shared__ __align__(1024) char memory[];
  const GroupedBlock<Kind> block{arguments, shared_address(memory)};
  prepare_shared(block);
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  if (group == kMultipliers) {
    give_registers<56>();
    if (threadIdx.x == kMultipliers * kGroupThreads) copy_items(block);
    let_later_kernels_begin();
  } else {
    take_registers<224>();
    const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
    multiply_items(block, Multiplier{group, thread / 32, thread % 32, thread});
  }
}

}  // namespace assay::collect
