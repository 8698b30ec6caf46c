// TWOSHOT_PUSH: each rank owns one of N slices of every row, or of the message where there are no
// rows. It gets that slice from all others, sums it, and pushes the sum to all. This takes two hops
// and, as with ONESHOT, no barrier. A GPU sends 2 (N-1)/N S bytes.
//
// A thread takes the same place in all N slices, or one place alone where the GPU holds all rows of
// a message with fused operators at once. In neither case does a thread wait for another of its own
// GPU.
//
// Reduce-scatter is the first of the hops and all-gather the second, on slices of whole rows.
// Messages beyond the workspace are sent in several launches.
//
// Workspace: control words, then two halves. A call takes N slots for parts and N slots for sums of
// a half, each of the size of a slice. Rank r writes slot r.
#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/launch_shape.h"
#include "allreduce/strategies/strategy_kernel.h"
#include "allreduce/strategies/twoshot_push_fused.cuh"

namespace assay::allreduce {
namespace {

constexpr int kMinSpreadVectors = 8;  // shorter rows were not measured

int message_slice(const Arguments& a) {
  return (a.vectors() + a.world_size - 1) / a.world_size;
}

// The places of a message without rows that one launch takes.
struct Range {
  int slice;  // vectors of a slice
  int slot;   // vectors of a slot
  int first;
  int count;
};

// A thread holds a vector for each rank. Those of 8 do not fit into the 64 registers that 1,024
// threads leave it.
template <int kWorld>
constexpr int kMaxPlainThreads = kWorld == 2 || kWorld == 4 ? kMaxThreads : kMaxThreads / 2;

template <class T, int kWorld, Operation kOperation>
__global__ void __launch_bounds__(kMaxPlainThreads<kWorld>)
    plain(const __grid_constant__ Arguments a,
          const __grid_constant__ Workspace workspace,
          const Range range) {
  let_next_kernel_start();
  const Share share = PushSlots::share(a, workspace, range.slot);
  if (is_of_meeting()) return meet(a, workspace, share);
  Turn::prefetch(a, workspace);
  wait_for_earlier_kernels();
  const Turn turn(a, workspace, share);
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

  int place = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  Parts<kWorld> parts;
  if (place < range.count) fetch(places_of(place), parts);
  const PushSlots slots(a, workspace, range.slot, turn.wait_for_place());
  const auto send_parts = [&](const Places& places) {
    if constexpr (kOperation == Operation::kAllGather) {
      return push_sum<kWorld>(a, slots, places, parts.values[0]);
    } else {
      return parts.send_to_others(a, slots, places);
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

  uint4 part{};
  if (place < range.count) part = send_parts(places_of(place));
  turn.is_known();
  for (; place < range.count; place += stride) {
    // The next place's parts are sent while this one's arrive.
    uint4 next{};
    if (place + stride < range.count) {
      const Places places = places_of(place + stride);
      fetch(places, parts);
      next = send_parts(places);
    }
    finish(places_of(place), part);
    part = next;
  }
}

std::string refusal(const Device& device, const Arguments& a, Fusion fusion) {
  if (a.operation != Operation::kAllReduce && a.rows % a.world_size != 0)
    return "num_tokens is no multiple of the number of GPUs";
  if (fusion == Fusion::kNone) return "";
  if (row_slice(a) > device.workspace.capacity_vectors / a.world_size)
    return message_too_large(a, device.workspace);
  return row_too_long(a, kMaxSliceThreads * kMaxCluster / group_of(a) * group_of(a) * a.world_size);
}

template <class T, int kWorld, Operation kOperation>
cudaError_t launch_plain(const Device& device, const Arguments& a, const Request& request) {
  const auto kernel = plain<T, kWorld, kOperation>;
  Request fitting = request;
  fitting.threads = std::min(request.threads, kMaxPlainThreads<kWorld>);
  const int most = device.workspace.capacity_vectors / a.world_size;
  Range range{.slice = message_slice(a), .slot = 0, .first = 0, .count = 0};
  for (; range.first < range.slice; range.first += most) {
    range.count = std::min(most, range.slice - range.first);
    range.slot = PushSlots::slot_of(a, device.workspace, range.count);
    const LaunchShape shape = flat_shape(device, kernel, range.count, fitting);
    const cudaError_t error =
        launch_meeting(kernel, shape, device, request, a, device.workspace, range);
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

// Returns whether the GPU holds a message's rows at once with a thread for each vector. Measured on
// 4 H200: 64 rows of 512 vectors take 6.2 instead of 7.7 us, 192 11.2 instead of 12.0; 512 rows of
// 64 vectors 5.6 instead of 6.7, with NVFP4 6.1 instead of 10.0; of 16 vectors 4.2 instead of 5.5.
// Rows of several blocks are spread up to kSpreadBlocks of them, although the GPU holds more: 128
// rows of 640 vectors, in 512 blocks, took 12.2 us, and 10.3 with a thread for each place of a
// slice.
template <class... Parameters>
bool is_spread(const Device& device,
               void (*kernel)(Parameters...),
               const Arguments& a,
               const Rows& rows,
               const Request& request) {
  const int blocks_of_row =
      fewest_blocks({.vectors = a.row_vectors, .most_of_block = kMaxSpreadThreads});
  if (request.threads != 0 || a.row_vectors < kMinSpreadVectors || blocks_of_row > kMaxCluster)
    return false;
  return blocks_of_row == 1 ? a.rows <= held_rows(device, kernel, rows, request)
                            : a.rows * blocks_of_row <= kSpreadBlocks * device.multiprocessors;
}

template <class T, int kWorld, Fusion kFusion>
cudaError_t launch_fused(const Device& device, const Arguments& a, const Request& request) {
  const auto launch_rows = [&](auto kernel, const Rows& rows) {
    const LaunchShape shape = row_shape(device, kernel, rows, request);
    const int slice = row_slice(a);
    const RowSlices slices{.threads_of_row = shape.threads_of_row,
                           .slice = slice,
                           .slot = PushSlots::slot_of(a, device.workspace, a.rows * slice)};
    return launch_meeting(kernel, shape, device, request, a, device.workspace, slices);
  };
  const bool all = request.purpose == Purpose::kLoad;
  const auto spread_kernel = fused_spread<T, kWorld, kFusion>;
  const Rows spread_rows{a.rows, a.row_vectors, kMaxSpreadThreads, RowBlocks::kFewest};
  const bool spread = is_spread(device, spread_kernel, a, spread_rows, request);
  cudaError_t error = cudaSuccess;
  if (all || spread) error = launch_rows(spread_kernel, spread_rows);
  if (error == cudaSuccess && (all || !spread))
    error = launch_rows(fused_slices<T, kWorld, kFusion>,
                        {a.rows, row_slice(a), kMaxSliceThreads, RowBlocks::kFuller});
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
            return launch_fused<T, world.kValue, fusion.kValue>(device, a, request);
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
