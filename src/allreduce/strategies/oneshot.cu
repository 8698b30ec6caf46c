// ONESHOT: every rank pushes its whole message to every other one and sums what arrives. One hop,
// no barrier: words that have not arrived are empty, and whoever takes a word empties its place.
// A GPU sends (N-1) S bytes.
//
// Workspace: control, then for each half N slots of `capacity_bytes`, one for each sender.
#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/epilogue.cuh"
#include "allreduce/strategies/launch_shape.h"
#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {
namespace {

constexpr int kMaxRowThreads = 512;

// Where a rank's slots of this call lie.
class Slots {
 public:
  __device__ Slots(const Arguments& a, const Workspace& workspace, std::uint32_t half)
      : a_(a), workspace_(workspace), slot_(workspace.capacity_bytes / kVectorBytes),
        half_(half * World<0>::size(a.world_size) * slot_) {}

  [[nodiscard]] __device__ uint4* own(std::int64_t vector) const {
    return at(a_.rank) + half_ + vector;
  }

  [[nodiscard]] __device__ uint4* mine_at(int rank, std::int64_t vector) const {
    return at(rank) + half_ + a_.rank * slot_ + vector;
  }

  [[nodiscard]] __device__ std::int64_t stride() const { return slot_; }

 private:
  [[nodiscard]] __device__ uint4* at(int rank) const {
    return reinterpret_cast<uint4*>(workspace_.of_rank[rank] + kControlBytes);
  }

  const Arguments& a_;
  const Workspace& workspace_;
  std::int64_t slot_;
  std::int64_t half_;
};

template <int kWorld>
__device__ void push(const Arguments& a, const Slots& slots, std::int64_t vector, uint4 v) {
  const int size = World<kWorld>::size(a.world_size);
#pragma unroll
  for (int step = 1; step < World<kWorld>::kSlots; ++step) {
    if (!World<kWorld>::is_rank(step, size)) break;
    const int rank = a.rank + step < size ? a.rank + step : a.rank + step - size;
    send(slots.mine_at(rank, vector), v);
  }
}

template <class T, int kWorld>
__device__ uint4 reduce(const Arguments& a, const Slots& slots, std::int64_t vector, uint4 own) {
  uint4 parts[World<kWorld>::kSlots];
#pragma unroll
  for (int rank = 0; rank < World<kWorld>::kSlots; ++rank) {
    if (rank == a.rank) parts[rank] = own;
  }
  receive<kWorld>(slots.own(vector), slots.stride(), a.rank, a.world_size, parts);
  return sum_in_rank_order<T, kWorld>(parts, a.world_size);
}

template <class T, int kWorld>
__global__ void __launch_bounds__(kMaxThreads) plain(const __grid_constant__ Arguments a,
                                              const __grid_constant__ Workspace workspace) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t vectors = a.vectors();
  Turn turn(workspace.of_rank[a.rank]);
  const Slots slots(a, workspace, turn.half());

  std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  uint4 own{};
  if (vector < vectors) {
    own = without_empty(a.input[vector]);
    push<kWorld>(a, slots, vector, own);
  }
  turn.is_known();
  for (; vector < vectors; vector += stride) {
    // The next vector is under way while this one's parts arrive.
    uint4 next{};
    if (vector + stride < vectors) {
      next = without_empty(a.input[vector + stride]);
      push<kWorld>(a, slots, vector + stride, next);
    }
    a.output[vector] = reduce<T, kWorld>(a, slots, vector, own);
    own = next;
  }
}

// One vector of one row in this thread's hands.
template <class T>
struct Item {
  std::int64_t row = 0;
  bool active = false;
  uint4 own{};
  FusedVector<T> fused{};
};

template <class T, int kWorld, Fusion kFusion>
__global__ void __launch_bounds__(kMaxRowThreads, 1) fused(
    const __grid_constant__ Arguments a,
    const __grid_constant__ Workspace workspace,
    const int threads_of_row) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const auto cluster = cooperative_groups::this_cluster();
  const int rows_of_block = static_cast<int>(blockDim.x) / threads_of_row;
  const int column = static_cast<int>(cluster.block_rank()) * threads_of_row +
                     static_cast<int>(threadIdx.x) % threads_of_row;
  const std::int64_t clusters = gridDim.x / cluster.num_blocks();
  const std::int64_t stride = clusters * rows_of_block;
  Turn turn(workspace.of_rank[a.rank]);
  const Slots slots(a, workspace, turn.half());

  const auto start = [&](std::int64_t first_row) {
    Item<T> item;
    item.row = first_row + static_cast<int>(threadIdx.x) / threads_of_row;
    item.active = item.row < a.rows && column < a.row_vectors;
    if (!item.active) return item;
    const std::int64_t vector = item.row * a.row_vectors + column;
    item.own = without_empty(a.input[vector]);
    item.fused.fetch(a, item.row, column);
    push<kWorld>(a, slots, vector, item.own);
    return item;
  };

  // The same number of rounds for all threads of a cluster: they meet in every round.
  std::int64_t first_row = blockIdx.x / cluster.num_blocks() * rows_of_block;
  RowGroup row_group(threads_of_row);
  Item<T> item = start(first_row);
  turn.is_known();
  for (; first_row < a.rows; first_row += stride) {
    Item<T> next;
    if (first_row + stride < a.rows) next = start(first_row + stride);
    float squares = 0;
    if (item.active) {
      const std::int64_t vector = item.row * a.row_vectors + column;
      const uint4 sum = reduce<T, kWorld>(a, slots, vector, item.own);
      squares = item.fused.add_residual(a, item.row, column, sum);
    }
    const float factor = norm_factor(row_group.sum(squares), a);
    item.fused.template finish<kFusion>(a, item.row, column, factor, item.active);
    item = next;
  }
}

std::string refusal(const Device& device, const Arguments& a, Fusion fusion) {
  if (a.vectors() * kVectorBytes > device.workspace.capacity_bytes)
    return message_too_large(a, device.workspace.capacity_bytes);
  return fusion == Fusion::kNone ? "" : row_too_long(a, kMaxRowThreads * kMaxCluster);
}

core::Status launch(const Device& device, const Arguments& a, const Request& request) {
  return launch_status(dispatch(request, device.world_size, [&](auto type, auto world, auto fusion) {
    using T = typename decltype(type)::Type;
    if constexpr (fusion.kValue == Fusion::kNone) {
      const auto kernel = plain<T, world.kValue>;
      const LaunchShape shape = flat_shape(device, kernel, a.vectors(), request);
      return launch_overlapped(kernel, shape, request, a, device.workspace);
    } else {
      const auto kernel = fused<T, world.kValue, fusion.kValue>;
      const LaunchShape shape = row_shape(device, kernel, {a.rows, a.row_vectors, kMaxRowThreads}, request);
      return launch_overlapped(kernel, shape, request, a, device.workspace,
                               shape.threads_of_row);
    }
  }));
}

WorkspaceSize workspace_size(int world_size, std::size_t budget_bytes) {
  const std::size_t slots = 2 * static_cast<std::size_t>(world_size);
  const std::size_t capacity = budget_bytes / slots / kVectorBytes * kVectorBytes;
  return {.capacity_bytes = capacity, .data_bytes = capacity * slots};
}

const StrategyKernel kOneshot{.name = "ONESHOT",
                              .strategy = Strategy::kOneshot,
                              .workspace_size = workspace_size,
                              .refusal = refusal,
                              .launch = launch};
ASSAY_REGISTER(StrategyKernel, kOneshot);

}  // namespace
}  // namespace assay::allreduce
