// What the copying warps of the grouped kernel do: one thread starts the copy engine for weights
// and rows that lie together; rows that are to be gathered from tokens are copied by the whole
// warpgroup.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_grouped_block.cuh"

namespace assay::collect {

// What the copying thread copies for an item.
template <class Kind>
class ItemCopy {
 public:
  __device__ ItemCopy(const GroupedBlock<Kind>& block, const GroupedItem& item, int turn)
      : block_(block),
        item_(item),
        turn_(turn),
        width_(width_index(item.tile.rows)),
        tokens_(kTileTokens >> (kTileWidths.size() - 1 - width_)),
        scales_(Kind::kInBlocks ? min(tokens_, item.tile.end - item.tile.row) : 0) {}

  __device__ void copy_weight(int step, const RingPlace<Kind>& place) const {
    const int stage = place.stage;
    wait_for_phase(block_.empty(stage), place.parity ^ 1U);
    if (step == 0) tell_item(block_.slot_at(turn_), item_);
    const std::uint32_t full = block_.full(stage);
    arrive_and_expect(full, weight_bytes() + input_bytes());
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
  [[nodiscard]] __device__ std::uint32_t weight_bytes() const {
    constexpr int kPackedScales = Kind::kIsPacked ? Kind::kStageScaleBytes : 0;
    return static_cast<std::uint32_t>(2 * Kind::kWeightBytes + kPackedScales);
  }

  [[nodiscard]] __device__ std::uint32_t input_bytes() const {
    if constexpr (Kind::kGathers) return 0;
    return static_cast<std::uint32_t>(tokens_ * kStepBytes + scales_ * 4);
  }

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
  int turn_;
  int width_;
  int tokens_;
  int scales_;
};

// Fills the ring with weights before the kernel that writes the input has ended. The tiles are
// older: that kernel, too, began after they were written.
template <class Kind>
__device__ void copy_weights_ahead(const ItemCopy<Kind>& copy, int ahead, RingPlace<Kind> place) {
  for (int step = 0; step < ahead; ++step, place.advance())
    copy.copy_weight(step, place);
}

// The work of one thread.
template <class Kind>
__device__ void copy_items(const GroupedBlock<Kind>& block) {
  const int parts = block.parts();
  const int steps = block.steps();
  const int items = *block.arguments.tile_count * parts;
  const auto blocks = static_cast<int>(gridDim.x);
  auto at = static_cast<int>(blockIdx.x);
  if (at >= items) return;
  RingPlace<Kind> place;
  GroupedItem next = item_at(block.arguments, parts, at);
  for (int turn = 0; at < items; at += blocks, ++turn) {
    const GroupedItem item = next;
    if (at + blocks < items) next = item_at(block.arguments, parts, at + blocks);
    const ItemCopy<Kind> copy(block, item, turn);
    const int ahead = turn == 0 ? min(steps, Kind::kStages) : 0;
    if (turn == 0) {
      copy_weights_ahead(copy, ahead, place);
      wait_for_earlier_kernels();
    }
    for (int step = 0; step < steps; ++step, place.advance()) {
      if (step >= ahead) copy.copy_weight(step, place);
      copy.copy_input(step, place);
    }
  }
}

// What a thread gathers: 16 bytes of a step from each of some tokens, and the scale of one. A token
// is copied by 8 threads that follow each other.
template <class Kind>
class GatheredRows {
 public:
  __device__ GatheredRows(const GroupedBlock<Kind>& block, const GroupedItem& item, int thread)
      : block_(block), thread_(thread) {
    const std::int32_t* sources = block.arguments.sources + item.tile.row;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = thread / kPieces + i * kApart;
      tokens_[i] = row < item.tile.rows ? sources[row] : -1;
    }
    if constexpr (Kind::kInBlocks) {
      if (thread < item.tile.rows)
        scales_ =
            block.arguments.input_scales + TokenScales{block.arguments.k}.at(sources[thread], 0);
      next_ = four_scales(0);
    }
  }

  // Rows beyond those of the tile keep what they have, which makes results that nobody writes.
  __device__ void copy(int step, int stage) {
    const GroupedArguments& arguments = block_.arguments;
    const int piece = thread_ % kPieces;
    const std::int64_t row_bytes = std::int64_t{arguments.k} * Kind::kElementBytes;
    const int byte = step * kStepBytes + piece * 16;
    const std::uint32_t bytes = byte < row_bytes ? 16 : 0;
    const char* from = arguments.input + (bytes > 0 ? byte : 0);
    const int row = thread_ / kPieces;
    const std::uint32_t to = block_.input_at(stage) +
                             static_cast<std::uint32_t>(row * kStepBytes + (piece ^ row % 8) * 16);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (tokens_[i] >= 0)
        copy_vector(to + static_cast<std::uint32_t>(i * kApart * kStepBytes),
                    from + tokens_[i] * row_bytes, bytes);
    }
    if constexpr (Kind::kInBlocks) copy_scale(step, stage);
    arrive_after_copies(block_.full(stage));
  }

 private:
  static constexpr int kPieces = kStepBytes / 16;
  static constexpr int kApart = kGroupThreads / kPieces;
  static constexpr int kRows = kTileTokens / kApart;

  // The scales of a step and the three after it.
  [[nodiscard]] __device__ float4 four_scales(int step) const {
    if (scales_ == nullptr || step >= block_.steps()) return {};
    return __ldg(reinterpret_cast<const float4*>(scales_ + step));
  }

  __device__ void copy_scale(int step, int stage) {
    if (step % 4 == 0) {
      now_ = next_;
      next_ = four_scales(step + 4);
    }
    store_shared_number(block_.scales_at(stage) + static_cast<std::uint32_t>(thread_ * 4), now_.x);
    now_ = {now_.y, now_.z, now_.w, 0};
    __syncwarp();
    if (thread_ % 32 == 0) arrive(block_.full(stage));
  }

  const GroupedBlock<Kind>& block_;
  int thread_;
  int tokens_[kRows];  // -1 where the tile has no row
  const float* scales_ = nullptr;
  float4 now_ = {};
  float4 next_ = {};
};

// The work of the warpgroup. Its first thread copies the weights.
template <class Kind>
__device__ void copy_and_gather_items(const GroupedBlock<Kind>& block, int thread) {
  const int parts = block.parts();
  const int steps = block.steps();
  const int items = *block.arguments.tile_count * parts;
  RingPlace<Kind> place;
  int turn = 0;
  for (int at = static_cast<int>(blockIdx.x); at < items; at += static_cast<int>(gridDim.x)) {
    const GroupedItem item = item_at(block.arguments, parts, at);
    const ItemCopy<Kind> copy(block, item, turn);
    const int ahead = turn == 0 ? min(steps, Kind::kStages) : 0;
    if (turn == 0) {
      if (thread == 0) copy_weights_ahead(copy, ahead, place);
      __syncwarp();
      wait_for_earlier_kernels();
    }
    GatheredRows<Kind> rows(block, item, thread);
    for (int step = 0; step < steps; ++step, place.advance()) {
      if (step >= ahead) {
        if (thread == 0) copy.copy_weight(step, place);
        __syncwarp();
        if (thread >= 32) wait_for_phase(block.empty(place.stage), place.parity ^ 1U);
      }
      rows.copy(step, place.stage);
    }
    ++turn;
  }
}

}  // namespace assay::collect
