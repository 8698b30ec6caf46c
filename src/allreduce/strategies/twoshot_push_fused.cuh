// The kernels of TWOSHOT_PUSH for rows with fused operators behind the sum.
#pragma once

#include "allreduce/strategies/epilogue.cuh"
#include "allreduce/strategies/twoshot_push.cuh"

namespace assay::allreduce {

// Registers set these limits of a block.
constexpr int kMaxSliceThreads = 256;
constexpr int kMaxSpreadThreads = 256;
constexpr int kSpreadBlocks = 3;  // of kMaxSpreadThreads, on a multiprocessor

// The host divides the rows, because a division takes a thread 0.1 us.
struct RowSlices {
  int threads_of_row;
  int slice;  // vectors of a slice
  int slot;   // vectors of a slot
};

// A thread has the same place in all slices of a row. The next row's parts are sent while this
// one's arrive.
template <class T, int kWorld, Fusion kFusion>
__global__ void __launch_bounds__(kMaxSliceThreads, kWorld == 2 || kWorld == 4 ? 2 : 1)
    fused_slices(const __grid_constant__ Arguments a,
                 const __grid_constant__ Workspace workspace,
                 const RowSlices slices) {
  let_next_kernel_start();
  const int slice = slices.slice;
  const Share share = PushSlots::share(a, workspace, slices.slot);
  if (is_of_meeting()) return meet(a, workspace, share);
  const RowPlace place(slices.threads_of_row, message_clusters());
  const auto places_of = [&](int row) {
    return Places{.row_start = row * a.row_vectors,
                  .place = row * slice + place.column,
                  .column = place.column,
                  .slice = slice,
                  .row_vectors = a.row_vectors};
  };
  const auto is_active = [&](int row) { return row < a.rows && place.column < slice; };
  Turn::prefetch(a, workspace);
  wait_for_earlier_kernels();
  const Turn turn(a, workspace, share);
  Parts<kWorld> parts;
  const auto fetch = [&](int first_row) {
    const int row = first_row + place.row_of_block;
    if (is_active(row)) parts.fetch(a, places_of(row));
  };
  FusedVector<T> vectors[World<kWorld>::kSlots] = {};
  const auto for_columns = [&](const Places& places, auto visit) {
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      if (places.has(rank.kValue)) visit(rank, places.column_of(rank.kValue));
    });
  };

  int first_row = place.first_row;
  fetch(first_row);
  RowGroup row_group(slices.threads_of_row);
  const PushSlots slots(a, workspace, slices.slot, turn.wait_for_place());
  // Returns this rank's part.
  const auto send_parts = [&](int first_row) {
    const int row = first_row + place.row_of_block;
    return is_active(row) ? parts.send_to_others(a, slots, places_of(row)) : uint4{};
  };
  uint4 part = send_parts(first_row);
  if (is_active(first_row + place.row_of_block)) {
    for_columns(places_of(0),
                [&](auto rank, int column) { vectors[rank.kValue].fetch_gamma(a, column); });
  }
  const float scale = given_scale<kFusion>(a);
  turn.is_known();
  for (; first_row < a.rows; first_row += place.stride) {
    uint4 next{};
    if (first_row + place.stride < a.rows) {
      fetch(first_row + place.stride);
      next = send_parts(first_row + place.stride);
    }
    const int row = first_row + place.row_of_block;
    const bool active = is_active(row);
    const Places places = places_of(row);
    float squares = 0;
    if (active) {
      for_columns(places, [&](auto rank, int column) {
        vectors[rank.kValue].fetch_residual(a, row, column);
      });
      const uint4 own =
          push_sum<kWorld>(a, slots, places, take_parts<T, kWorld>(a, slots, places, part));
      uint4 sums[World<kWorld>::kSlots];
      take_sums<kWorld>(a, slots, places, own, sums);
      for_columns(places, [&](auto rank, int column) {
        squares += vectors[rank.kValue].add_residual(a, row, column, sums[rank.kValue]);
      });
    }
    finish_row<kFusion>(a, row_group, row, {squares, scale}, [&](auto visit) {
      for_each_rank<kWorld>(a.world_size, [&](auto rank) {
        visit(vectors[rank.kValue], places.column_of(rank.kValue),
              active && places.has(rank.kValue));
      });
    });
    if (active) {
      empty_parts<kWorld>(a, slots, places);
      empty_sums<kWorld>(a, slots, places);
    }
    part = next;
  }
}

// Returns the slice that a column lies in.
template <int kWorld>
__device__ int slice_of(const Arguments& a, int column, int slice) {
  int owner = 0;
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue != 0 && column >= rank.kValue * slice) ++owner;
  });
  return owner;
}

// A thread has one vector of a row. Those of this rank's slice sum the parts that arrive and push
// the sums; the others wait for theirs. Rows are worked on one after the other, so this is for
// messages whose rows the GPU holds at once.
template <class T, int kWorld, Fusion kFusion>
__global__ void __launch_bounds__(kMaxSpreadThreads, kSpreadBlocks)
    fused_spread(const __grid_constant__ Arguments a,
                 const __grid_constant__ Workspace workspace,
                 const RowSlices slices) {
  let_next_kernel_start();
  const int slice = slices.slice;
  const Share share = PushSlots::share(a, workspace, slices.slot);
  if (is_of_meeting()) return meet(a, workspace, share);
  const RowPlace place(slices.threads_of_row, message_clusters());
  Turn::prefetch(a, workspace);
  wait_for_earlier_kernels();
  const Turn turn(a, workspace, share);
  const int column = place.column;
  const int owner = slice_of<kWorld>(a, column, slice);
  const bool is_own = owner == a.rank;
  const auto is_active = [&](int row) { return row < a.rows && column < a.row_vectors; };
  const auto places_of = [&](int row) {
    return Places{.row_start = row * a.row_vectors,
                  .place = row * slice + column - owner * slice,
                  .column = column - owner * slice,
                  .slice = slice,
                  .row_vectors = a.row_vectors};
  };
  FusedVector<T> vector;
  const auto fetch = [&](int row) {
    return is_active(row) ? a.input[row * a.row_vectors + column] : uint4{};
  };

  int row = place.first_row + place.row_of_block;
  uint4 part = fetch(row);
  RowGroup row_group(slices.threads_of_row);
  const PushSlots slots(a, workspace, slices.slot, turn.wait_for_place());
  // Returns the part as all ranks see it.
  const auto send_part = [&](int row, uint4 fetched) {
    const uint4 sent = without_empty(fetched);
    if (is_active(row) && !is_own) {
      delay_at_random(slots.patience(), a.rank, 3);
      send(slots.mine_at(owner, Stage::kParts, places_of(row).place), sent);
    }
    if (is_active(row)) vector.fetch_residual(a, row, column);
    return sent;
  };
  part = send_part(row, part);
  if (is_active(row)) vector.fetch_gamma(a, column);
  const float scale = given_scale<kFusion>(a);
  turn.is_known();
  for (int first_row = place.first_row; first_row < a.rows; first_row += place.stride) {
    row = first_row + place.row_of_block;
    if (first_row != place.first_row) {
      part = send_part(row, fetch(row));
    }
    const bool active = is_active(row);
    const Places places = places_of(row);
    uint4 sum{};
    // Threads of this slice come first, because those of other GPUs wait for their sums.
    if (active && is_own) {
      sum = push_sum<kWorld>(a, slots, places, take_parts<T, kWorld>(a, slots, places, part));
      empty_parts<kWorld>(a, slots, places);
    }
    __syncwarp();
    if (active && !is_own) sum = take_sum(a, slots, places, owner);
    __syncwarp();
    const float squares = active ? vector.add_residual(a, row, column, sum) : 0;
    finish_row<kFusion>(a, row_group, row, {squares, scale},
                        [&](auto visit) { visit(vector, column, active); });
  }
}

}  // namespace assay::allreduce
