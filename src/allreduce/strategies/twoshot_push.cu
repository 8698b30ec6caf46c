// TWOSHOT_PUSH: each rank owns one of N slices of every row, or of the message where there are no
// rows. It gets that slice from all others, sums it, and pushes the sum to all. This takes two hops
// and, as with ONESHOT, no barrier. A GPU sends 2 (N-1)/N S bytes.
//
// A thread takes the same place in all N slices, so no thread waits for another of its own GPU.
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

// Sends every other rank its part and returns this rank's own.
template <int kWorld>
__device__ uint4 push_parts(const Arguments& a, const Slots& slots, const Places& places) {
  for_each_peer<kWorld>(a.rank, a.world_size, [&](int rank) {
    if (places.has(rank))
      send(slots.mine_at(rank, Stage::kParts, places.place),
           without_empty(a.input[places.vector(rank)]));
  });
  return places.has(a.rank) ? without_empty(a.input[places.vector(a.rank)]) : uint4{};
}

// Sums this rank's slice and sends the sum to all others.
template <class T, int kWorld>
__device__ uint4 push_sum(const Arguments& a, const Slots& slots, const Places& places, uint4 own) {
  if (!places.has(a.rank)) return own;
  uint4 parts[World<kWorld>::kSlots];
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue == a.rank) parts[rank.kValue] = own;
  });
  receive<kWorld>(a, slots.patience(), slots.own(Stage::kParts, places.place), slots.stride(),
                  parts);
  const uint4 sum = without_empty(sum_in_rank_order<T, kWorld>(parts, a.world_size));
  for_each_peer<kWorld>(a.rank, a.world_size, [&](int rank) {
    send(slots.mine_at(rank, Stage::kSums, places.place), sum);
  });
  return sum;
}

// Takes the sums of all slices: this rank's own and those that the others push.
template <int kWorld>
__device__ void take_sums(const Arguments& a,
                          const Slots& slots,
                          const Places& places,
                          uint4 own,
                          uint4 (&sums)[World<kWorld>::kSlots]) {
  uint4* slot = slots.own(Stage::kSums, places.place);
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue == a.rank) {
      sums[rank.kValue] = own;
    } else if (places.has(rank.kValue)) {
      sums[rank.kValue] = look(slot + rank.kValue * slots.stride());
    }
  });
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue == a.rank || !places.has(rank.kValue)) return;
    take(slots.patience(), rank.kValue, slot + rank.kValue * slots.stride(), sums[rank.kValue]);
  });
}

__host__ __device__ int message_slice(const Arguments& a) {
  return (a.vectors() + a.world_size - 1) / a.world_size;
}

// Returns the vectors of a slice of a row. They are whole quantisation groups, so that the threads
// of a group are neighbours in every slice.
__host__ __device__ int row_slice(const Arguments& a) {
  const int group = kNvfp4Group / a.elements_of_vector;
  const int whole = (a.row_vectors + a.world_size - 1) / a.world_size;
  return (whole + group - 1) / group * group;
}

template <class T, int kWorld>
__global__ void __launch_bounds__(kMaxThreads, kWorld == 2 ? 2 : 1)
    plain(const __grid_constant__ Arguments a, const __grid_constant__ Workspace workspace) {
  let_next_kernel_start();
  if (is_of_meeting()) return meet(a, workspace);
  wait_for_earlier_kernels();
  Turn turn(workspace.of_rank[a.rank]);
  const Slots slots(a, workspace, turn.half());
  const int stride = static_cast<int>(message_blocks() * blockDim.x);
  const int slice = message_slice(a);
  const auto places_of = [&](int place) {
    return Places{.row_start = 0,
                  .place = place,
                  .column = place,
                  .slice = slice,
                  .row_vectors = a.vectors()};
  };
  const auto finish = [&](const Places& places, uint4 own) {
    uint4 sums[World<kWorld>::kSlots];
    take_sums<kWorld>(a, slots, places, own, sums);
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      if (places.has(rank.kValue)) a.output[places.vector(rank.kValue)] = sums[rank.kValue];
    });
  };

  int place = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  uint4 part{};
  if (place < slice) part = push_parts<kWorld>(a, slots, places_of(place));
  turn.is_known();
  for (; place < slice; place += stride) {
    // The next place's parts are sent while this one's arrive.
    uint4 next{};
    if (place + stride < slice) next = push_parts<kWorld>(a, slots, places_of(place + stride));
    const Places places = places_of(place);
    finish(places, push_sum<T, kWorld>(a, slots, places, part));
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
  Turn turn(workspace.of_rank[a.rank]);
  const Slots slots(a, workspace, turn.half());
  const auto start = [&](int first_row) {
    const int row = first_row + place.row_of_block;
    return is_active(row) ? push_parts<kWorld>(a, slots, places_of(row)) : uint4{};
  };
  FusedVector<T> vectors[World<kWorld>::kSlots] = {};
  const auto for_columns = [&](const Places& places, auto visit) {
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      if (places.has(rank.kValue)) visit(rank, places.column_of(rank.kValue));
    });
  };

  int first_row = place.first_row;
  uint4 part = start(first_row);
  if (is_active(first_row + place.row_of_block)) {
    for_columns(places_of(0),
                [&](auto rank, int column) { vectors[rank.kValue].fetch_gamma(a, column); });
  }
  turn.is_known();
  for (; first_row < a.rows; first_row += place.stride) {
    uint4 next{};
    if (first_row + place.stride < a.rows) next = start(first_row + place.stride);
    const int row = first_row + place.row_of_block;
    const bool active = is_active(row);
    const Places places = places_of(row);
    float squares = 0;
    if (active) {
      for_columns(places, [&](auto rank, int column) {
        vectors[rank.kValue].fetch_residual(a, row, column);
      });
      const uint4 own = push_sum<T, kWorld>(a, slots, places, part);
      uint4 sums[World<kWorld>::kSlots];
      take_sums<kWorld>(a, slots, places, own, sums);
      for_columns(places, [&](auto rank, int column) {
        squares += vectors[rank.kValue].add_residual(a, row, column, sums[rank.kValue]);
      });
    }
    const float factor = norm_factor(row_group.sum(squares), a);
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      vectors[rank.kValue].template finish<kFusion>(a, row, places.column_of(rank.kValue), factor,
                                                    active && places.has(rank.kValue));
    });
    part = next;
  }
}

std::string refusal(const Device& device, const Arguments& a, Fusion fusion) {
  const int slot = device.workspace.capacity_vectors / a.world_size;
  const bool rows = fusion != Fusion::kNone;
  const std::int64_t slice =
      rows ? static_cast<std::int64_t>(a.rows) * row_slice(a) : message_slice(a);
  if (slice > slot) return message_too_large(a, device.workspace);
  return rows ? row_too_long(a, kMaxRowThreads * kMaxCluster * a.world_size) : "";
}

core::Status launch(const Device& device, const Arguments& a, const Request& request) {
  return launch_status(
      dispatch(request, device.world_size, [&](auto type, auto world, auto fusion) {
        using T = typename decltype(type)::Type;
        if constexpr (fusion.kValue == Fusion::kNone) {
          const auto kernel = plain<T, world.kValue>;
          const LaunchShape shape = flat_shape(device, kernel, message_slice(a), 128, request);
          return launch_meeting(kernel, shape, request, a, device.workspace);
        } else {
          const auto kernel = fused<T, world.kValue, fusion.kValue>;
          const LaunchShape shape =
              row_shape(device, kernel, {a.rows, row_slice(a), kMaxRowThreads}, request);
          return launch_meeting(kernel, shape, request, a, device.workspace, shape.threads_of_row);
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
