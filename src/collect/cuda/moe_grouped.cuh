// The kernel of moe_grouped.h. Two warpgroups multiply, and one thread of a third copies, or all of
// them do if they gather rows: a tile has 256 rows of the weight in two halves of 128 (with an
// activation, gate and up of the same columns), and each multiplying warpgroup has 64 rows of both,
// so that gate and up of an element meet in a thread.
#pragma once

#include "collect/cuda/moe_grouped_copy.cuh"
#include "collect/cuda/moe_grouped_narrow.cuh"
#include "collect/cuda/moe_grouped_tall.cuh"

namespace assay::collect {

template <class Kind>
__device__ void multiply_items(const GroupedBlock<Kind>& block, const Multiplier& me) {
  RingPlace<Kind> place;
  int narrow = 0;  // counts the narrow tiles, for which both warpgroups meet
  for (int turn = 0;; ++turn) {
    wait_for_phase(block.full(place.stage), place.parity);
    const GroupedItem item = told_item(block.slot_at(turn));
    if (item.part < 0) return;
    switch (width_index(item.tile.rows)) {
      case 0:
        multiply_item<Kind, 16>(block, item, me, narrow++, place);
        break;
      case 1:
        multiply_item<Kind, 32>(block, item, me, narrow++, place);
        break;
      case 2:
        multiply_item<Kind, 64>(block, item, me, narrow++, place);
        break;
      default:
        if constexpr (Kind::kIsPacked) {
          multiply_item<Kind, 128>(block, item, me, narrow++, place);
        } else {
          multiply_tall(block, item, me, place);
        }
        break;
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
      make_barrier(block.full(stage), Kind::kArrivals);
      make_barrier(block.empty(stage), kMultipliers * kGroupThreads / 32);
    }
    publish_barriers();
  }
  __syncthreads();
}

template <class Kind>
__device__ void copy_operands(const GroupedBlock<Kind>& block, int thread) {
  if constexpr (Kind::kGathers) {
    copy_and_gather_items(block, thread);
  } else {
    if (thread == 0) copy_items(block);
  }
  let_later_kernels_begin();
}

template <class Kind>
__global__ void __launch_bounds__(kGroupedThreads, 1)
    grouped_products(const __grid_constant__ GroupedArguments arguments) {
  extern __shared__ __align__(1024) char memory[];
  const GroupedBlock<Kind> block{arguments, shared_address(memory)};
  prepare_shared(block);
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
  if (group == kMultipliers) {
    give_registers<Kind::kCopierRegisters>();
    copy_operands(block, thread);
  } else {
    take_registers<Kind::kMultiplierRegisters>();
    multiply_items(block, Multiplier{group, thread / 32, thread % 32, thread});
  }
}

}  // namespace assay::collect
