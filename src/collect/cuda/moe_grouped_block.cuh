// What the parts of the grouped kernel of moe_grouped.h share: kinds, shared memory, the ring of
// stages, and the items that a block works on.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_grouped.h"
#include "collect/cuda/moe_packed.h"
#include "collect/cuda/tma.cuh"
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
constexpr int kMaxima = 3;     // sets of maxima, used in turn
constexpr int kItemSlots = 8;  // at least as many as stages, of which an item has at least one

// The kinds of products that the kernel is compiled for.
template <DataType kType, GroupedEpilogue kEpilogue, GroupedInput kInput = GroupedInput::kRows>
struct GroupedKind {
  static constexpr bool kInBlocks = kType == DataType::kFp8Block;
  static constexpr bool kGathers = kInput == GroupedInput::kTokens;
  static constexpr bool kActivates = kEpilogue == GroupedEpilogue::kActivate;
  static constexpr bool kAdds = kEpilogue == GroupedEpilogue::kAdd;
  // 4-bit weights, which become bfloat16 in registers.
  static constexpr bool kIsPacked = kType == DataType::kMxfp4;
  static constexpr int kElementBytes = kType == DataType::kBfloat16 || kIsPacked ? 2 : 1;
  static constexpr int kStages = kIsPacked ? 7 : 4;
  static constexpr int kWeightBytes = kIsPacked ? kPackedTileBytes : kHalfBytes;  // of a half
  static constexpr int kOutputBytes = kActivates ? kElementBytes : 2;
  static constexpr int kStepElements = kStepBytes / kElementBytes;
  static constexpr int kTileColumns = kActivates ? kHalfRows : 2 * kHalfRows;

  // Of a thread: those that multiply have what the copying ones leave.
  static constexpr int kCopierRegisters = kInBlocks && kActivates && !kGathers ? 56 : 72;
  static constexpr int kMultiplierRegisters = (504 - kCopierRegisters) / kMultipliers;

  // The arrivals at a stage: of the thread that copies weights, and of the threads that gather,
  // each for its pieces, and each warp for its scales.
  static constexpr int kGatheringArrivals = kGroupThreads + (kInBlocks ? kGroupThreads / 32 : 0);
  static constexpr int kArrivals = 1 + (kGathers ? kGatheringArrivals : 0);

  // Offsets in shared memory.
  static constexpr int kInputs = kStages * 2 * kWeightBytes;
  static constexpr int kStaging = kInputs + kStages * kInputBytes;
  static constexpr int kStagingBytes = kGroupRows * kTileTokens * kOutputBytes;  // of a warpgroup
  static constexpr int kScales = kStaging + kMultipliers * kStagingBytes;
  // Scales of tokens, or of packed weights.
  static constexpr int kStageScaleBytes =
      kIsPacked ? 2 * kPackedScaleBytes : (kInBlocks ? kScaleBytes : 0);
  static constexpr int kMaximaAt = kScales + kStages * kStageScaleBytes;
  static constexpr int kSlots = kMaximaAt + (kInBlocks && kActivates ? kMaxima * kScaleBytes : 0);
  static constexpr int kBarriers = kSlots + kItemSlots * static_cast<int>(sizeof(GroupedTile));
  static constexpr int kNextItems = kBarriers + kStages * 2 * 8;  // of two turns
  static constexpr int kSharedBytes = kNextItems + 2 * 4;
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
  int part;  // of the weight; -1 tells that there are no more items
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

  [[nodiscard]] __device__ std::uint32_t slot_at(int turn) const {
    return shared + static_cast<std::uint32_t>(
                        Kind::kSlots + turn % kItemSlots * static_cast<int>(sizeof(GroupedTile)));
  }

  // Waits for a stage. Rows that were gathered came by another way than the products read.
  __device__ void wait_until_full(const RingPlace<Kind>& place) const {
    wait_for_phase(full(place.stage), place.parity);
    if constexpr (Kind::kGathers) show_to_products();
  }

  [[nodiscard]] __device__ std::uint32_t next_item_at(int turn) const {
    return shared + static_cast<std::uint32_t>(Kind::kNextItems + turn % 2 * 4);
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

__device__ inline uint4 shared_vector(std::uint32_t address) {
  uint4 vector;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
               : "r"(address));
  return vector;
}

__device__ inline void store_shared_number(std::uint32_t address, float number) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(number) : "memory");
}

__device__ inline void store_shared_vector(std::uint32_t address, const uint4& vector) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(vector.x),
               "r"(vector.y), "r"(vector.z), "r"(vector.w)
               : "memory");
}

// The copying thread tells the multiplying ones their item, so that they need not look for it.
__device__ inline void tell_item(std::uint32_t slot, const GroupedItem& item) {
  const GroupedTile& tile = item.tile;
  const auto word = [](int value) { return static_cast<std::uint32_t>(value); };
  store_shared_vector(slot, {word(tile.expert), word(tile.row), word(tile.rows), word(tile.first)});
  store_shared_vector(slot + 16,
                      {word(tile.tiles), word(tile.begin), word(tile.end), word(item.part)});
}

__device__ inline GroupedItem told_item(std::uint32_t slot) {
  const uint4 first = shared_vector(slot);
  const uint4 second = shared_vector(slot + 16);
  const auto number = [](std::uint32_t value) { return static_cast<int>(value); };
  return {{.expert = number(first.x),
           .row = number(first.y),
           .rows = number(first.z),
           .first = number(first.w),
           .tiles = number(second.x),
           .begin = number(second.y),
           .end = number(second.z),
           .unused = 0},
          number(second.w)};
}

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

// The place of a thread among those that multiply.
struct Multiplier {
  int group;  // 0 or 1
  int warp;   // in the warpgroup
  int lane;
  int thread;  // in the warpgroup

  // Its first column in each group of 8.
  [[nodiscard]] __device__ int pair() const { return lane % 4 * 2; }
};

}  // namespace assay::collect
