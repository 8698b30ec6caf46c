// TWOSHOT_PUSH: each rank owns one of N slices of every row, or of the message where there are no
// rows. It gets that slice from all others, sums it, and pushes the sum to all. This takes two hops
// and, as with ONESHOT, no barrier. A GPU sends 2 (N-1)/N S bytes.
//
// A thread takes the same place in all N slices, so no thread waits for another of its own GPU.
//
// Reduce-scatter is the first of the hops and all-gather the second, on slices of whole rows.
// Messages beyond the workspace are sent in several launches.
//
// Workspace: control words, then for each half N slots for parts and N slots for sums, of 1/N of
// `capacity_bytes` each. Rank r writes slot r.
#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/epilogue.cuh"
#include "allreduce/strategies/launch_shape.h"
#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {
namespace {

constexpr int kMaxRowThreads = 256;

enum class Stage { kParts, kSums };

class Slots {
 public:
  __device__ Slots(const Arguments& a, const Workspace& workspace, std::uint32_t half)
      : a_(a),
        workspace_(workspace),
        slot_(workspace.capacity_vectors / a.world_size),
        half_(static_cast<int>(half) * 2 * a.world_size * slot_) {}

  // Returns a place in slot 0 of this rank; the other slots follow at stride().
  [[nodiscard]] __device__ uint4* own(Stage stage, int place) const {
    return at(a_.rank, stage) + place;
  }

  [[nodiscard]] __device__ uint4* mine_at(int rank, Stage stage, int place) const {
    return at(rank, stage) + a_.rank * slot_ + place;
  }

  [[nodiscard]] __device__ int stride() const { return slot_; }

  [[nodiscard]] __device__ const Patience& patience() const { return workspace_.patience; }

 private:
  [[nodiscard]] __device__ uint4* at(int rank, Stage stage) const {
    return reinterpret_cast<uint4*>(workspace_.of_rank[rank] + kControlBytes) + half_ +
           (stage == Stage::kSums ? a_.world_size * slot_ : 0);
  }

  const Arguments& a_;
  const Workspace& workspace_;
  int slot_;
  int half_;
};

// The places of a thread: the `place`-th vector of each slice of a row. Slices have the same
// length, except that the end of the row may cut the last ones short.
struct Places {
  int row_start = 0;  // in vectors from the start of the message
  int place = 0;      // index in a slot
  int column = 0;     // column in the first slice
  int slice = 0;      // vectors of a slice
  int row_vectors = 0;

  [[nodiscard]] __device__ int column_of(int rank) const { return rank * slice + column; }

  [[nodiscard]] __device__ bool has(int rank) const { return column_of(rank) < row_vectors; }

  [[nodiscard]] __device__ int vector(int rank) const { return row_start + column_of(rank); }
};

// Returns the rank that is `steps` behind this one, in a ring.
template <int kWorld>
__device__ int rank_after(const Arguments& a, int steps) {
  const int size = World<kWorld>::size(a.world_size);
  return a.rank + steps < size ? a.rank + steps : a.rank + steps - size;
}

// A place's parts, this rank's own first, then those of the ranks after it: all ranks begin to send
// with another one.
template <int kWorld>
struct Parts {
  uint4 values[World<kWorld>::kSlots] = {};

  __device__ void fetch(const Arguments& a, const Places& places) {
    for_each_rank<kWorld>(a.world_size, [&](auto step) {
      const int rank = rank_after<kWorld>(a, step.kValue);
      if (places.has(rank)) values[step.kValue] = without_empty(a.input[places.vector(rank)]);
    });
  }

  __device__ void send_to_others(const Arguments& a,
                                 const Slots& slots,
                                 const Places& places) const {
    delay_at_random(slots.patience(), a.rank, 3);
    for_each_rank<kWorld>(a.world_size, [&](auto step) {
      if (step.kValue == 0) return;
      const int rank = rank_after<kWorld>(a, step.kValue);
      if (places.has(rank))
        send(slots.mine_at(rank, Stage::kParts, places.place), values[step.kValue]);
    });
  }
};

// Sums this rank's slice.
template <class T, int kWorld>
__device__ uint4
take_parts(const Arguments& a, const Slots& slots, const Places& places, uint4 own) {
  if (!places.has(a.rank)) return own;
  uint4 parts[World<kWorld>::kSlots];
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue == a.rank) parts[rank.kValue] = own;
  });
  receive<kWorld>(a, slots.patience(), slots.own(Stage::kParts, places.place), slots.stride(),
                  parts);
  return sum_in_rank_order<T, kWorld>(parts, a.world_size);
}

// Sends this rank's sum to all others and returns it as they get it.
template <int kWorld>
__device__ uint4 push_sum(const Arguments& a, const Slots& slots, const Places& places, uint4 sum) {
  if (!places.has(a.rank)) return sum;
  const uint4 sent = without_empty(sum);
  delay_at_random(slots.patience(), a.rank, 4);
  for_each_peer<kWorld>(a.rank, a.world_size, [&](int rank) {
    send(slots.mine_at(rank, Stage::kSums, places.place), sent);
  });
  return sent;
}

// Takes the sums of all slices: this rank's own and those that the others push.
template <int kWorld>
__device__ void take_sums(const Arguments& a,
                          const Slots& slots,
                          const Places& places,
                          uint4 own,
                          uint4 (&sums)[World<kWorld>::kSlots]) {
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue == a.rank) sums[rank.kValue] = own;
  });
  receive<kWorld>(a, slots.patience(), slots.own(Stage::kSums, places.place), slots.stride(), sums,
                  [&](int rank) { return places.has(rank); });
}

// Empties what take_parts() and take_sums() read.
template <int kWorld>
__device__ void empty_parts(const Arguments& a, const Slots& slots, const Places& places) {
  if (places.has(a.rank))
    empty<kWorld>(a, slots.patience(), slots.own(Stage::kParts, places.place), slots.stride());
}

template <int kWorld>
__device__ void empty_sums(const Arguments& a, const Slots& slots, const Places& places) {
  empty<kWorld>(a, slots.patience(), slots.own(Stage::kSums, places.place), slots.stride(),
                [&](int rank) { return places.has(rank); });
}

int message_slice(const Arguments& a) {
  return (a.vectors() + a.world_size - 1) / a.world_size;
}

// Returns the elements that one thread's neighbours may share a scale with.
__host__ __device__ int group_of(const Arguments& a) {
  return a.scale_layout == ScaleLayout::kPerGroup128 ? kFp8Group : kNvfp4Group;
}

// Returns the vectors of a slice of a row.
__host__ __device__ int row_slice(const Arguments& a) {
  return slice_vectors(a.row_vectors, a.world_size, group_of(a) / a.elements_of_vector);
}

// The places of a message without rows that one launch takes.
struct Range {
  int slice;  // vectors of a slice
  int first;
  int count;
};

template <class T, int kWorld, Operation kOperation>
__global__ void __launch_bounds__(kMaxThreads) plain(const __grid_constant__ Arguments a,
                                                     const __grid_constant__ Workspace workspace,
                                                     const Range range) {
  let_next_kernel_start();
  if (is_of_meeting()) return meet(a, workspace);
  wait_for_earlier_kernels();
  const Turn turn(a, workspace);
  const Slots slots(a, workspace, turn.half());
  const int stride = static_cast<int>(message_blocks() * blockDim.x);
  const auto places_of = [&](int place) {
    return Places{.row_start = 0,
                  .place = place,
                  .column = range.first + place,
                  .slice = range.slice,
                  .row_vectors = a.vectors()};
  };
  // With an all-gather this rank's input is what others would have to sum.
  const auto fetch = [&](const Places& places, Parts<kWorld>& parts) {
    if constexpr (kOperation == Operation::kAllGather) {
      parts.values[0] = a.input[places.column];
    } else {
      parts.fetch(a, places);
    }
  };
  const auto send_parts = [&](const Places& places, const Parts<kWorld>& parts) {
    if constexpr (kOperation == Operation::kAllGather) {
      return push_sum<kWorld>(a, slots, places, parts.values[0]);
    } else {
      parts.send_to_others(a, slots, places);
      return parts.values[0];
    }
  };
  const auto finish = [&](const Places& places, uint4 own) {
    if constexpr (kOperation != Operation::kAllGather)
      own = take_parts<T, kWorld>(a, slots, places, own);
    if constexpr (kOperation == Operation::kReduceScatter) {
      a.output[places.column] = own;
      empty_parts<kWorld>(a, slots, places);
    } else {
      if constexpr (kOperation == Operation::kAllReduce) {
        own = push_sum<kWorld>(a, slots, places, own);
        empty_parts<kWorld>(a, slots, places);
      }
      uint4 sums[World<kWorld>::kSlots];
      take_sums<kWorld>(a, slots, places, own, sums);
      empty_sums<kWorld>(a, slots, places);
      for_each_rank<kWorld>(a.world_size, [&](auto rank) {
        if (places.has(rank.kValue)) a.output[places.vector(rank.kValue)] = sums[rank.kValue];
      });
    }
  };

  int place = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  uint4 part{};
  Parts<kWorld> parts;
  if (place < range.count) fetch(places_of(place), parts);
  turn.wait_for_half();
  if (place < range.count) part = send_parts(places_of(place), parts);
  turn.is_known();
  for (; place < range.count; place += stride) {
    // The next place's parts are sent while this one's arrive.
    uint4 next{};
    if (place + stride < range.count) {
      const Places places = places_of(place + stride);
      fetch(places, parts);
      next = send_parts(places, parts);
    }
    finish(places_of(place), part);
    part = next;
  }
}

template <class T, int kWorld, Fusion kFusion>
__global__ void __launch_bounds__(kMaxRowThreads, kWorld == 2 || kWorld == 4 ? 2 : 1)
    fused(const __grid_constant__ Arguments a,
          const __grid_constant__ Workspace workspace,
          const int threads_of_row) {
  let_next_kernel_start();
  if (is_of_meeting()) return meet(a, workspace);
  const RowPlace place(threads_of_row, message_blocks());
  RowGroup row_group(threads_of_row);
  const int slice = row_slice(a);
  const auto places_of = [&](int row) {
    return Places{.row_start = row * a.row_vectors,
                  .place = row * slice + place.column,
                  .column = place.column,
                  .slice = slice,
                  .row_vectors = a.row_vectors};
  };
  const auto is_active = [&](int row) { return row < a.rows && place.column < slice; };
  wait_for_earlier_kernels();
  const Turn turn(a, workspace);
  const Slots slots(a, workspace, turn.half());
  Parts<kWorld> parts;
  const auto fetch = [&](int first_row) {
    const int row = first_row + place.row_of_block;
    if (is_active(row)) parts.fetch(a, places_of(row));
  };
  // Returns this rank's part.
  const auto send_parts = [&](int first_row) {
    const int row = first_row + place.row_of_block;
    if (is_active(row)) parts.send_to_others(a, slots, places_of(row));
    return parts.values[0];
  };
  FusedVector<T> vectors[World<kWorld>::kSlots] = {};
  const auto for_columns = [&](const Places& places, auto visit) {
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      if (places.has(rank.kValue)) visit(rank, places.column_of(rank.kValue));
    });
  };

  int first_row = place.first_row;
  fetch(first_row);
  const float scale = given_scale<kFusion>(a);
  turn.wait_for_half();
  uint4 part = send_parts(first_row);
  if (is_active(first_row + place.row_of_block)) {
    for_columns(places_of(0),
                [&](auto rank, int column) { vectors[rank.kValue].fetch_gamma(a, column); });
  }
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

std::string refusal(const Device& device, const Arguments& a, Fusion fusion) {
  if (a.operation != Operation::kAllReduce && a.rows % a.world_size != 0)
    return "num_tokens is no multiple of the number of GPUs";
  if (fusion == Fusion::kNone) return "";
  if (row_slice(a) > device.workspace.capacity_vectors / a.world_size)
    return message_too_large(a, device.workspace);
  return row_too_long(a, kMaxRowThreads * kMaxCluster / group_of(a) * group_of(a) * a.world_size);
}

template <class T, int kWorld, Operation kOperation>
cudaError_t launch_plain(const Device& device, const Arguments& a, const Request& request) {
  const auto kernel = plain<T, kWorld, kOperation>;
  const int slot = device.workspace.capacity_vectors / a.world_size;
  Range range{.slice = message_slice(a), .first = 0, .count = 0};
  for (; range.first < range.slice; range.first += slot) {
    range.count = std::min(slot, range.slice - range.first);
    const LaunchShape shape = flat_shape(device, kernel, range.count, request);
    const cudaError_t error = launch_meeting(kernel, shape, request, a, device.workspace, range);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class T, int kWorld>
cudaError_t launch_operation(const Device& device, const Arguments& a, const Request& request) {
  const bool all = request.purpose == Purpose::kLoad;
  cudaError_t error = cudaSuccess;
  if (all || a.operation == Operation::kReduceScatter)
    error = launch_plain<T, kWorld, Operation::kReduceScatter>(device, a, request);
  if (error == cudaSuccess && (all || a.operation == Operation::kAllGather))
    error = launch_plain<T, kWorld, Operation::kAllGather>(device, a, request);
  if (error == cudaSuccess && (all || a.operation == Operation::kAllReduce))
    error = launch_plain<T, kWorld, Operation::kAllReduce>(device, a, request);
  return error;
}

core::Status launch(const Device& device, const Arguments& whole, const Request& request) {
  const int most_rows = device.workspace.capacity_vectors / whole.world_size / row_slice(whole);
  return launch_status(
      dispatch(request, device.world_size, [&](auto type, auto world, auto fusion) {
        using T = typename decltype(type)::Type;
        if constexpr (fusion.kValue == Fusion::kNone) {
          return launch_operation<T, world.kValue>(device, whole, request);
        } else {
          return for_rows(whole, request.fusion, most_rows, [&](const Arguments& a) {
            const auto kernel = fused<T, world.kValue, fusion.kValue>;
            const LaunchShape shape =
                row_shape(device, kernel, {a.rows, row_slice(a), kMaxRowThreads}, request);
            return launch_meeting(kernel, shape, request, a, device.workspace,
                                  shape.threads_of_row);
          });
        }
      }));
}

WorkspaceSize workspace_size(int world_size, std::size_t budget_bytes) {
  // There are two halves, each of parts and sums, and every slot is a whole number of vectors.
  const auto ranks = static_cast<std::size_t>(world_size);
  const std::size_t capacity = budget_bytes / 4 / kVectorBytes / ranks * ranks;
  return {.capacity_vectors = static_cast<int>(capacity),
          .data_bytes = capacity * 4 * kVectorBytes};
}

const StrategyKernel kTwoshotPush{.name = "TWOSHOT_PUSH",
                                  .strategy = Strategy::kTwoshotPush,
                                  .area = Area::kHalves,
                                  .workspace_size = workspace_size,
                                  .refusal = refusal,
                                  .launch = launch};
ASSAY_REGISTER(StrategyKernel, kTwoshotPush);

}  // namespace
}  // namespace assay::allreduce
