// What the copying warps of the grouped kernel do: one thread starts the copy engine for weights
// and rows that lie together; rows that are to be gathered from tokens are copied by the whole
// warpgroup.
#pragma once

#include <cstdint>

#include "collect/cuda/moe_grouped_block.cuh"

namespace assay::collect {

// What the copying thread copies for an item. It finds all places beforehand, because a thread that
// works alone is slow: steps of 4-bit weights took as long as finding theirs.
template <class Kind>
class ItemCopy {
 public:
  __device__ ItemCopy(const GroupedBlock<Kind>& block, const GroupedItem& item, int turn)
      : block_(block),
        item_(item),
        turn_(turn),
        width_(width_index(item.tile.rows)),
        tokens_(kTileTokens >> (kTileWidths.size() - 1 - width_)) {
    if constexpr (Kind::kIsPacked) {
      find_packed();
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        rows_[half] = item.tile.expert * block.arguments.n + block.half_row(item.part, half);
    }
    if constexpr (Kind::kInBlocks && !Kind::kGathers) find_scales();
    bytes_ = weight_bytes() + input_bytes();
  }

  __device__ void copy_weight(int step, const RingPlace<Kind>& place) const {
    const int stage = place.stage;
    wait_for_phase(block_.empty(stage), place.parity ^ 1U);
    if (step == 0) tell_item(block_.slot_at(turn_), item_);
    const std::uint32_t full = block_.full(stage);
    arrive_and_expect(full, bytes_);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (Kind::kIsPacked) {
        copy_bytes(block_.weight_at(stage, half), packed_[half] + step * kPackedTileBytes,
                   kPackedTileBytes, full);
        copy_bytes(block_.scales_at(stage) + static_cast<std::uint32_t>(half * kPackedScaleBytes),
                   packed_scales_[half] + step * kPackedScaleBytes, kPackedScaleBytes, full);
      } else {
        copy_box(block_.weight_at(stage, half), block_.arguments.weight, step * Kind::kStepElements,
                 rows_[half], full);
      }
    }
  }

  __device__ void copy_input(int step, const RingPlace<Kind>& place) const {
    const int stage = place.stage;
    copy_box(block_.input_at(stage), block_.arguments.inputs[width_], step * Kind::kStepElements,
             item_.tile.row, block_.full(stage));
    if constexpr (Kind::kInBlocks)
      copy_bytes(block_.scales_at(stage), scales_ + std::int64_t{step} * scales_pitch_,
                 static_cast<std::uint32_t>(scale_count_) * 4, block_.full(stage));
  }

 private:
  static constexpr std::uint32_t weight_bytes() {
    constexpr int kPackedScales = Kind::kIsPacked ? Kind::kStageScaleBytes : 0;
    return static_cast<std::uint32_t>(2 * Kind::kWeightBytes + kPackedScales);
  }

  [[nodiscard]] __device__ std::uint32_t input_bytes() const {
    if constexpr (Kind::kGathers) return 0;
    return static_cast<std::uint32_t>(tokens_ * kStepBytes + scale_count_ * 4);
  }

  __device__ void find_packed() {
    const GroupedArguments& arguments = block_.arguments;
    const PackedWeight weight{arguments.columns, Kind::kActivates ? 2 : 1, arguments.k};
    const auto tiles = static_cast<int>(weight.tiles_of_part());
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A half of which no row is needed takes another one's.
      const int tile =
          Kind::kActivates ? item_.part + half * tiles : min(2 * item_.part + half, tiles - 1);
      const std::int64_t first =
          item_.tile.expert * weight.blocks() + std::int64_t{tile} * weight.steps();
      packed_[half] = arguments.packed_weight + first * kPackedTileBytes;
      packed_scales_[half] = arguments.packed_scales + first * kPackedScaleBytes;
    }
  }

  __device__ void find_scales() {
    const GroupedTile& tile = item_.tile;
    const ExpertScales places{tile.begin, tile.end, block_.arguments.k};
    scales_ = block_.arguments.input_scales + places.at(tile.row, 0);
    scales_pitch_ = static_cast<int>(places.at(tile.row, kScaleBlock) - places.at(tile.row, 0));
    scale_count_ = min(tokens_, tile.end - tile.row);
  }

  const GroupedBlock<Kind>& block_;
  const GroupedItem& item_;
  int turn_;
  int width_;
  int tokens_;
  std::uint32_t bytes_ = 0;  // of a step
  int rows_[2] = {};         // of the weight, where the halves begin
  const char* packed_[2] = {};
  const char* packed_scales_[2] = {};
  const float* scales_ = nullptr;  // of the tokens in the first step
  int scales_pitch_ = 0;
  int scale_count_ = 0;
};

// Fills the ring with weights before the kernel that writes the input has ended. The tiles are
// older: that kernel, too, began after they were written.
template <class Kind>
__device__ void copy_weights_ahead(const ItemCopy<Kind>& copy, int ahead, RingPlace<Kind> place) {
  for (int step = 0; step < ahead; ++step, place.advance())
    copy.copy_weight(step, place);
}

// Takes an item that no block has begun. Experts with many rows come first, so that blocks end at
// about the same time. With 4-bit weights, each block takes those of its number: that was the
// faster way there.
template <class Kind>
__device__ int take_item(const GroupedArguments& arguments, int last) {
  const auto blocks = static_cast<int>(gridDim.x);
  if constexpr (Kind::kIsPacked) return last + blocks;
  return blocks + atomicAdd(arguments.begun, 1);
}

// The step of an item at which the next one is taken: as late as hides how long that takes.
__device__ inline int asking_step(int steps) {
  constexpr int kStepsBefore = 4;
  return max(steps - kStepsBefore, 0);
}

template <class Kind>
__device__ void tell_end(const GroupedBlock<Kind>& block, int turn, const RingPlace<Kind>& place) {
  wait_for_phase(block.empty(place.stage), place.parity ^ 1U);
  tell_item(block.slot_at(turn), {.tile = {}, .part = -1});
  arrive(block.full(place.stage));
}

// The work of one thread.
template <class Kind>
__device__ void copy_items(const GroupedBlock<Kind>& block) {
  const int parts = block.parts();
  const int steps = block.steps();
  const int items = *block.arguments.tile_count * parts;
  const int asking = asking_step(steps);
  RingPlace<Kind> place;
  int turn = 0;
  int next = 0;
  for (auto at = static_cast<int>(blockIdx.x); at < items; at = next) {
    const GroupedItem item = item_at(block.arguments, parts, at);
    const ItemCopy<Kind> copy(block, item, turn);
    const int ahead = turn == 0 ? min(steps, Kind::kStages) : 0;
    if (turn == 0) {
      copy_weights_ahead(copy, ahead, place);
      wait_for_earlier_kernels();
    }
    for (int step = 0; step < steps; ++step, place.advance()) {
      if (step == asking) next = take_item<Kind>(block.arguments, at);
      if (step >= ahead) copy.copy_weight(step, place);
      copy.copy_input(step, place);
    }
    ++turn;
  }
  tell_end(block, turn, place);
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

// What the first thread took, for all that gather.
template <class Kind>
__device__ int shared_next(const GroupedBlock<Kind>& block, int thread, int turn, int next) {
  constexpr int kGatheringBarrier = 4;
  const std::uint32_t place = block.next_item_at(turn);
  if (thread == 0) store_shared_number(place, __int_as_float(next));
  join_threads(kGatheringBarrier, kGroupThreads);
  return __float_as_int(shared_number(place));
}

template <class Kind>
__device__ void gather_end(const GroupedBlock<Kind>& block,
                           int thread,
                           int turn,
                           const RingPlace<Kind>& place) {
  if (thread == 0) tell_end(block, turn, place);
  __syncwarp();
  wait_for_phase(block.empty(place.stage), place.parity ^ 1U);
  for (int i = 1; i < Kind::kArrivals; i += kGroupThreads) {
    if (i + thread < Kind::kArrivals) arrive(block.full(place.stage));
  }
}

// The work of the warpgroup. Its first thread copies the weights.
template <class Kind>
__device__ void copy_and_gather_items(const GroupedBlock<Kind>& block, int thread) {
  const int parts = block.parts();
  const int steps = block.steps();
  const int items = *block.arguments.tile_count * parts;
  const int asking = asking_step(steps);
  RingPlace<Kind> place;
  int turn = 0;
  for (auto at = static_cast<int>(blockIdx.x); at < items; ++turn) {
    const GroupedItem item = item_at(block.arguments, parts, at);
    const ItemCopy<Kind> copy(block, item, turn);
    const int ahead = turn == 0 ? min(steps, Kind::kStages) : 0;
    if (turn == 0) {
      if (thread == 0) copy_weights_ahead(copy, ahead, place);
      __syncwarp();
      wait_for_earlier_kernels();
    }
    GatheredRows<Kind> rows(block, item, thread);
    int next = 0;
    for (int step = 0; step < steps; ++step, place.advance()) {
      if (thread == 0 && step == asking) next = take_item<Kind>(block.arguments, at);
      if (step >= ahead) {
        if (thread == 0) copy.copy_weight(step, place);
        __syncwarp();
        if (thread >= 32) wait_for_phase(block.empty(place.stage), place.parity ^ 1U);
      }
      rows.copy(step, place.stage);
    }
    at = shared_next(block, thread, turn, next);
  }
  gather_end(block, thread, turn, place);
}

}  // namespace assay::collect
