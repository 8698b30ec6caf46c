// ONESHOT: every rank pushes its whole message to every other rank and sums what arrives. This
// takes one hop and no barrier: words that have not arrived are empty, and the thread that takes a
// word empties its place. A GPU sends (N-1) S bytes.
//
// Workspace: control words, then two halves. A call takes N slots of the size of its message of a
// half, one for each sender.
#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/epilogue.cuh"
#include "allreduce/strategies/launch_shape.h"
#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {
namespace {

// A thread has 64 registers, so an SM holds two smaller blocks: this call's and the next one's.
constexpr int kMaxRowThreads = 1024;
// Blocks of so few threads may have more registers, because an SM still holds several of them.
// Measured on 2 and 4 H200 with either kernel: a row takes 0.02 to 0.1 us less (with NVFP4 on 4
// GPUs 0.05 more), 64 rows of 896 vectors 0 to 9 % less.
constexpr int kFewRowThreads = 128;

// Finds a rank's slots of this call.
class Slots {
 public:
  __device__ Slots(const Arguments& a, const Workspace& workspace, int place)
      : a_(a), workspace_(workspace), slot_(slot_of(a, workspace)), place_(place) {}

  [[nodiscard]] __device__ static Share share(const Arguments& a, const Workspace& workspace) {
    return {.vectors = a.world_size * slot_of(a, workspace),
            .of_half = a.world_size * workspace.capacity_vectors};
  }

  [[nodiscard]] __device__ uint4* own(int vector) const { return at(a_.rank) + vector; }

  [[nodiscard]] __device__ uint4* mine_at(int rank, int vector) const {
    return at(rank) + a_.rank * slot_ + vector;
  }

  [[nodiscard]] __device__ int stride() const { return slot_; }

  [[nodiscard]] __device__ const Patience& patience() const { return workspace_.patience; }

 private:
  [[nodiscard]] __device__ static int slot_of(const Arguments& a, const Workspace& workspace) {
    return slot_vectors(a.vectors(), workspace.capacity_vectors);
  }

  [[nodiscard]] __device__ uint4* at(int rank) const {
    return reinterpret_cast<uint4*>(workspace_.of_rank[rank] + kControlBytes) + place_;
  }

  const Arguments& a_;
  const Workspace& workspace_;
  int slot_;
  int place_;
};

template <int kWorld>
__device__ void push(const Arguments& a, const Slots& slots, int vector, uint4 v) {
  delay_at_random(slots.patience(), a.rank, 0);
  for_each_peer<kWorld>(a.rank, a.world_size,
                        [&](int rank) { send(slots.mine_at(rank, vector), v); });
}

template <class T, int kWorld>
__device__ uint4 reduce(const Arguments& a, const Slots& slots, int vector, uint4 own) {
  uint4 parts[World<kWorld>::kSlots];
  receive<kWorld>(a, slots.patience(), slots.own(vector), slots.stride(), own, parts);
  return sum_in_rank_order<T, kWorld>(parts, a.world_size);
}

template <int kWorld>
__device__ void empty_slots(const Arguments& a, const Slots& slots, int vector) {
  empty<kWorld>(a, slots.patience(), slots.own(vector), slots.stride());
}

template <class T, int kWorld>
__global__ void __launch_bounds__(kMaxThreads)
    plain(const __grid_constant__ Arguments a, const __grid_constant__ Workspace workspace) {
  let_next_kernel_start();
  const Share share = Slots::share(a, workspace);
  if (is_of_meeting()) return meet(a, workspace, share);
  Turn::prefetch(a, workspace);
  wait_for_earlier_kernels();
  const int stride = static_cast<int>(message_blocks() * blockDim.x);
  const int vectors = a.vectors();
  const Turn turn(a, workspace, share);
  int vector = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  uint4 own{};
  if (vector < vectors) own = a.input[vector];
  const Slots slots(a, workspace, turn.wait_for_place());
  own = without_empty(own);
  if (vector < vectors) push<kWorld>(a, slots, vector, own);
  turn.is_known();
  for (; vector < vectors; vector += stride) {
    // The next vector is sent while this one's parts arrive.
    uint4 next{};
    if (vector + stride < vectors) {
      next = without_empty(a.input[vector + stride]);
      push<kWorld>(a, slots, vector + stride, next);
    }
    const uint4 sum = reduce<T, kWorld>(a, slots, vector, own);
    empty_slots<kWorld>(a, slots, vector);
    a.output[vector] = sum;
    own = next;
  }
}

template <class T, int kWorld, Fusion kFusion, int kThreads>
__global__ void __launch_bounds__(kThreads, 1) fused(const __grid_constant__ Arguments a,
                                                     const __grid_constant__ Workspace workspace,
                                                     const int threads_of_row) {
  let_next_kernel_start();
  const Share share = Slots::share(a, workspace);
  if (is_of_meeting()) return meet(a, workspace, share);
  const RowPlace place(threads_of_row, message_clusters());
  Turn::prefetch(a, workspace);
  wait_for_earlier_kernels();
  const Turn turn(a, workspace, share);
  const auto is_active = [&](int first_row) {
    return place.column < a.row_vectors && first_row + place.row_of_block < a.rows;
  };
  const auto at = [&](int first_row) {
    return (first_row + place.row_of_block) * a.row_vectors + place.column;
  };
  // Returns this rank's vector of a row.
  const auto fetch = [&](int first_row) {
    return is_active(first_row) ? a.input[at(first_row)] : uint4{};
  };
  const auto fetch_residual = [&](int first_row, FusedVector<T>& vector) {
    if (is_active(first_row))
      vector.fetch_residual(a, first_row + place.row_of_block, place.column);
  };

  // All threads of a cluster run the same number of rounds, because they meet in every round.
  int first_row = place.first_row;
  uint4 own = fetch(first_row);
  RowGroup row_group(threads_of_row);
  const Slots slots(a, workspace, turn.wait_for_place());
  // Returns the vector as all ranks see it.
  const auto push_row = [&](int first_row, uint4 fetched) {
    const uint4 sent = without_empty(fetched);
    if (is_active(first_row)) push<kWorld>(a, slots, at(first_row), sent);
    return sent;
  };
  own = push_row(first_row, own);
  // They are asked for only now, because the send would wait for them: a thread has few counters
  // of loads under way, so that these would share one with the input's.
  FusedVector<T> fused;
  fetch_residual(first_row, fused);
  if (is_active(first_row)) fused.fetch_gamma(a, place.column);
  const float scale = given_scale<kFusion>(a);
  turn.is_known();
  for (; first_row < a.rows; first_row += place.stride) {
    FusedVector<T> next;
    const int next_row = first_row + place.stride;
    const uint4 next_own = push_row(next_row, fetch(next_row));
    fetch_residual(next_row, next);
    const int row = first_row + place.row_of_block;
    const bool active = is_active(first_row);
    float squares = 0;
    if (active) {
      const uint4 sum = reduce<T, kWorld>(a, slots, at(first_row), own);
      empty_slots<kWorld>(a, slots, at(first_row));
      squares = fused.add_residual(a, row, place.column, sum);
    }
    finish_row<kFusion>(a, row_group, row, {squares, scale},
                        [&](auto visit) { visit(fused, place.column, active); });
    own = next_own;
    fused.value = next.value;
  }
}

std::string refusal(const Device& device, const Arguments& a, Fusion fusion) {
  if (a.operation != Operation::kAllReduce) return "does all-reduce only";
  if (fusion == Fusion::kNone) return "";
  if (a.row_vectors > device.workspace.capacity_vectors)
    return message_too_large(a, device.workspace);
  return row_too_long(a, kMaxRowThreads * kMaxCluster);
}

// A plain sum knows no rows, so that it may be cut anywhere.
Arguments in_rows_to_cut(Arguments a, Fusion fusion) {
  if (fusion != Fusion::kNone) return a;
  a.rows = a.vectors();
  a.row_vectors = 1;
  return a;
}

template <class T, int kWorld, Fusion kFusion>
cudaError_t launch_fused(const Device& device, const Arguments& a, const Request& request) {
  const auto few = fused<T, kWorld, kFusion, kFewRowThreads>;
  const auto many = fused<T, kWorld, kFusion, kMaxRowThreads>;
  const auto launch = [&](auto kernel, const LaunchShape& shape) {
    return launch_meeting(kernel, shape, device, request, a, device.workspace,
                          shape.threads_of_row);
  };
  const Rows rows{a.rows, a.row_vectors, kMaxRowThreads};
  const Rows few_rows{a.rows, a.row_vectors, kFewRowThreads};
  const LaunchShape shape = row_shape(device, many, rows, request);
  // The GPU holds fewer rows at once of a kernel with more registers. The other kernel takes a
  // message in one round instead of two where it alone holds all rows.
  const auto is_held_by_many_alone = [&] {
    return a.rows > held_rows(device, few, few_rows, request) &&
           a.rows <= held_rows(device, many, rows, request);
  };
  const bool has_few = shape.threads <= kFewRowThreads && !is_held_by_many_alone();
  const bool all = request.purpose == Purpose::kLoad;
  cudaError_t error = cudaSuccess;
  if (all || has_few)
    error = launch(few, has_few ? row_shape(device, few, few_rows, request) : shape);
  if (error == cudaSuccess && (all || !has_few)) error = launch(many, shape);
  return error;
}

core::Status launch(const Device& device, const Arguments& given, const Request& request) {
  const Arguments whole = in_rows_to_cut(given, request.fusion);
  const int most_rows = device.workspace.capacity_vectors / whole.row_vectors;
  return launch_status(
      dispatch(request, device.world_size, [&](auto type, auto world, auto fusion) {
        using T = typename decltype(type)::Type;
        return for_rows(whole, request.fusion, most_rows, [&](const Arguments& a) {
          if constexpr (fusion.kValue == Fusion::kNone) {
            const auto kernel = plain<T, world.kValue>;
            const LaunchShape shape = flat_shape(device, kernel, a.vectors(), request);
            return launch_meeting(kernel, shape, device, request, a, device.workspace);
          } else {
            return launch_fused<T, world.kValue, fusion.kValue>(device, a, request);
          }
        });
      }));
}

WorkspaceSize workspace_size(int world_size, std::size_t budget_bytes) {
  const std::size_t slots = 2 * static_cast<std::size_t>(world_size);
  const std::size_t capacity = budget_bytes / slots / kVectorBytes;
  return {.capacity_vectors = static_cast<int>(capacity),
          .data_bytes = capacity * slots * kVectorBytes};
}

const StrategyKernel kOneshot{.name = "ONESHOT",
                              .strategy = Strategy::kOneshot,
                              .area = Area::kHalves,
                              .workspace_size = workspace_size,
                              .refusal = refusal,
                              .launch = launch};
ASSAY_REGISTER(StrategyKernel, kOneshot);

}  // namespace
}  // namespace assay::allreduce
