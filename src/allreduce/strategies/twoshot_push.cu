// TWOSHOT_PUSH: each rank owns one of N slices of every row, or of the message where there are no
// rows. It gets that slice from all others, sums it, and pushes the sum to all. Two hops, no
// barrier, as ONESHOT; a GPU sends 2 (N-1)/N S bytes.
//
// A thread takes the same place in all N slices, so no thread waits for another of its own GPU.
//
// Workspace: control, then for each half N slots for parts and N slots for sums, of 1/N of
// `capacity_bytes` each; slot r is written by rank r.
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
        slot_(workspace.capacity_bytes / a.world_size / kVectorBytes),
        half_(half * 2 * a.world_size * slot_) {}

  // Slot 0 of this rank; the others follow at stride().
  [[nodiscard]] __device__ uint4* own(Stage stage, std::int64_t place) const {
    return at(a_.rank, stage) + place;
  }

  [[nodiscard]] __device__ uint4* mine_at(int rank, Stage stage, std::int64_t place) const {
    return at(rank, stage) + a_.rank * slot_ + place;
  }

  [[nodiscard]] __device__ std::int64_t stride() const { return slot_; }

 private:
  [[nodiscard]] __device__ uint4* at(int rank, Stage stage) const {
    return reinterpret_cast<uint4*>(workspace_.of_rank[rank] + kControlBytes) + half_ +
           (stage == Stage::kSums ? a_.world_size * slot_ : 0);
  }

  const Arguments& a_;
  const Workspace& workspace_;
  std::int64_t slot_;
  std::int64_t half_;
};

// The places of a thread: the `place`-th vector of each slice of a row. Slices are equally long,
// except that the last ones may be cut short by the end of the row.
struct Places {
  std::int64_t row_start = 0;  // in vectors of the message
  std::int64_t place = 0;      // in a slot
  std::int64_t column = 0;     // in the first slice
  std::int64_t slice = 0;      // vectors of a slice
  std::int64_t row_vectors = 0;

  [[nodiscard]] __device__ std::int64_t column_of(int rank) const { return rank * slice + column; }
  [[nodiscard]] __device__ bool has(int rank) const { return column_of(rank) < row_vectors; }
  [[nodiscard]] __device__ std::int64_t vector(int rank) const {
    return row_start + column_of(rank);
  }
};

template <int kWorld>
__device__ int rank_after(const Arguments& a, int step) {
  const int size = World<kWorld>::size(a.world_size);
  return a.rank + step < size ? a.rank + step : a.rank + step - size;
}

// Sends every other rank its part; returns this rank's own.
template <int kWorld>
__device__ uint4 push_parts(const Arguments& a, const Slots& slots, const Places& places) {
#pragma unroll
  for (int step = 1; step < World<kWorld>::kSlots; ++step) {
    if (!World<kWorld>::is_rank(step, a.world_size)) break;
    const int rank = rank_after<kWorld>(a, step);
    if (places.has(rank))
      send(slots.mine_at(rank, Stage::kParts, places.place),
           without_empty(a.input[places.vector(rank)]));
  }
  return places.has(a.rank) ? without_empty(a.input[places.vector(a.rank)]) : uint4{};
}

// Sums this rank's slice and sends the sum to all others.
template <class T, int kWorld>
__device__ uint4 push_sum(const Arguments& a, const Slots& slots, const Places& places, uint4 own) {
  if (!places.has(a.rank)) return own;
  uint4 parts[World<kWorld>::kSlots];
#pragma unroll
  for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
    if (rank == a.rank) parts[rank] = own;
  }
  receive<kWorld>(slots.own(Stage::kParts, places.place), slots.stride(), a.rank, a.world_size,
                  parts);
  const uint4 sum = without_empty(sum_in_rank_order<T, kWorld>(parts, a.world_size));
#pragma unroll
  for (int step = 1; step < World<kWorld>::kSlots; ++step) {
    if (!World<kWorld>::is_rank(step, a.world_size)) break;
    send(slots.mine_at(rank_after<kWorld>(a, step), Stage::kSums, places.place), sum);
  }
  return sum;
}

// The sums of all slices: this rank's own and those that the others push.
template <int kWorld>
__device__ void take_sums(const Arguments& a,
                          const Slots& slots,
                          const Places& places,
                          uint4 own,
                          uint4 (&sums)[World<kWorld>::kSlots]) {
#pragma unroll
  for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
    if (!World<kWorld>::is_rank(rank, a.world_size)) break;
    if (rank == a.rank) {
      sums[rank] = own;
    } else if (places.has(rank)) {
      sums[rank] = look(slots.own(Stage::kSums, places.place) + rank * slots.stride());
    }
  }
#pragma unroll
  for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
    if (!World<kWorld>::is_rank(rank, a.world_size)) break;
    if (rank == a.rank || !places.has(rank)) continue;
    uint4* slot = slots.own(Stage::kSums, places.place) + rank * slots.stride();
    while (!has_arrived(sums[rank]))
      sums[rank] = look(slot);
    *slot = empty_vector();
  }
}

__host__ __device__ std::int64_t message_slice(const Arguments& a) {
  return (a.vectors() + a.world_size - 1) / a.world_size;
}

// Whole quantisation groups, so that the threads of a group are neighbours in every slice.
__host__ __device__ int row_slice(const Arguments& a) {
  const int group = kNvfp4Group / a.elements_of_vector;
  const int whole = (a.row_vectors + a.world_size - 1) / a.world_size;
  return (whole + group - 1) / group * group;
}

template <class T, int kWorld>
__global__ void __launch_bounds__(kMaxThreads) plain(const __grid_constant__ Arguments a,
                                                     const __grid_constant__ Workspace workspace) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  Turn turn(workspace.of_rank[a.rank]);
  const Slots slots(a, workspace, turn.half());
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t slice = message_slice(a);
  const auto places_of = [&](std::int64_t place) {
    return Places{.row_start = 0, .place = place, .column = place, .slice = slice,
                  .row_vectors = a.vectors()};
  };
  const auto finish = [&](const Places& places, uint4 own) {
    uint4 sums[World<kWorld>::kSlots];
    take_sums<kWorld>(a, slots, places, own, sums);
#pragma unroll
    for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
      if (World<kWorld>::is_rank(rank, a.world_size) && places.has(rank))
        a.output[places.vector(rank)] = sums[rank];
    }
  };

  std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  uint4 part{};
  if (place < slice) part = push_parts<kWorld>(a, slots, places_of(place));
  turn.is_known();
  for (; place < slice; place += stride) {
    // The next place's parts are under way while this one's arrive.
    uint4 next{};
    if (place + stride < slice) next = push_parts<kWorld>(a, slots, places_of(place + stride));
    const Places places = places_of(place);
    finish(places, push_sum<T, kWorld>(a, slots, places, part));
    part = next;
  }
}

template <class T, int kWorld, Fusion kFusion>
__global__ void __launch_bounds__(kMaxRowThreads, 1) fused(
    const __grid_constant__ Arguments a,
    const __grid_constant__ Workspace workspace,
    const int threads_of_row) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  Turn turn(workspace.of_rank[a.rank]);
  const Slots slots(a, workspace, turn.half());
  const auto cluster = cooperative_groups::this_cluster();
  const int rows_of_block = static_cast<int>(blockDim.x) / threads_of_row;
  const std::int64_t slice = row_slice(a);
  const int column = static_cast<int>(cluster.block_rank()) * threads_of_row +
                     static_cast<int>(threadIdx.x) % threads_of_row;
  const std::int64_t stride = gridDim.x / cluster.num_blocks() * rows_of_block;
  const auto row_of = [&](std::int64_t first_row) {
    return first_row + static_cast<int>(threadIdx.x) / threads_of_row;
  };
  const auto is_active = [&](std::int64_t row) { return row < a.rows && column < slice; };
  const auto places_of = [&](std::int64_t row) {
    return Places{.row_start = row * a.row_vectors, .place = row * slice + column,
                  .column = column, .slice = slice, .row_vectors = a.row_vectors};
  };
  const auto start = [&](std::int64_t first_row) {
    const std::int64_t row = row_of(first_row);
    return is_active(row) ? push_parts<kWorld>(a, slots, places_of(row)) : uint4{};
  };

  std::int64_t first_row = blockIdx.x / cluster.num_blocks() * rows_of_block;
  RowGroup row_group(threads_of_row);
  uint4 part = start(first_row);
  turn.is_known();
  for (; first_row < a.rows; first_row += stride) {
    uint4 next{};
    if (first_row + stride < a.rows) next = start(first_row + stride);
    const std::int64_t row = row_of(first_row);
    const bool active = is_active(row);
    const Places places = places_of(row);
    FusedVector<T> vectors[World<kWorld>::kSlots] = {};
    float squares = 0;
    if (active) {
#pragma unroll
      for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
        if (World<kWorld>::is_rank(rank, a.world_size) && places.has(rank))
          vectors[rank].fetch(a, row, static_cast<int>(places.column_of(rank)));
      }
      const uint4 own = push_sum<T, kWorld>(a, slots, places, part);
      uint4 sums[World<kWorld>::kSlots];
      take_sums<kWorld>(a, slots, places, own, sums);
#pragma unroll
      for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
        if (World<kWorld>::is_rank(rank, a.world_size) && places.has(rank))
          squares += vectors[rank].add_residual(a, row, static_cast<int>(places.column_of(rank)),
                                                sums[rank]);
      }
    }
    const float factor = norm_factor(row_group.sum(squares), a);
#pragma unroll
    for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
      if (World<kWorld>::is_rank(rank, a.world_size))
        vectors[rank].template finish<kFusion>(a, row, static_cast<int>(places.column_of(rank)),
                                               factor, active && places.has(rank));
    }
    part = next;
  }
}

std::string refusal(const Device& device, const Arguments& a, Fusion fusion) {
  const std::int64_t slot_bytes = device.workspace.capacity_bytes / a.world_size;
  const bool rows = fusion != Fusion::kNone;
  const std::int64_t slice = rows ? a.rows * row_slice(a) : message_slice(a);
  if (slice * kVectorBytes > slot_bytes)
    return message_too_large(a, device.workspace.capacity_bytes);
  return rows ? row_too_long(a, kMaxRowThreads * kMaxCluster * a.world_size) : "";
}

core::Status launch(const Device& device, const Arguments& a, const Request& request) {
  return launch_status(dispatch(request, device.world_size, [&](auto type, auto world, auto fusion) {
    using T = typename decltype(type)::Type;
    if constexpr (fusion.kValue == Fusion::kNone) {
      const auto kernel = plain<T, world.kValue>;
      const LaunchShape shape = flat_shape(device, kernel, message_slice(a), request);
      return launch_overlapped(kernel, shape, request, a, device.workspace);
    } else {
      const auto kernel = fused<T, world.kValue, fusion.kValue>;
      const LaunchShape shape = row_shape(device, kernel, {a.rows, row_slice(a), kMaxRowThreads}, request);
      return launch_overlapped(kernel, shape, request, a, device.workspace,
                               shape.threads_of_row);
    }
  }));
}

WorkspaceSize workspace_size(int world_size, std::size_t budget_bytes) {
  // Two halves of parts and sums; every slot a whole number of vectors.
  const std::size_t unit = static_cast<std::size_t>(world_size) * kVectorBytes;
  const std::size_t capacity = budget_bytes / 4 / unit * unit;
  return {.capacity_bytes = capacity, .data_bytes = capacity * 4};
}

const StrategyKernel kTwoshotPush{.name = "TWOSHOT_PUSH",
                                  .strategy = Strategy::kTwoshotPush,
                                  .workspace_size = workspace_size,
                                  .refusal = refusal,
                                  .launch = launch};
ASSAY_REGISTER(StrategyKernel, kTwoshotPush);

}  // namespace
}  // namespace assay::allreduce
