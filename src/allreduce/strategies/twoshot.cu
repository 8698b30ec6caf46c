// TWOSHOT: reduce-scatter, then all-gather, like TWOSHOT_PUSH, but tile by tile through a small
// ring of buffers, with one flag for many words. Messages may have any size, and no word is written
// twice to empty it. A GPU sends 2 (N-1)/N S bytes.
//
// A block takes every gridDim-th tile. For tile t, in slot t mod kSlots of its ring:
//   scatter(t)  sends slice r of the tile to rank r, then raises r's parts flag
//   reduce(t)   waits for the parts of all, sums its slice into the output, sends the sum to all,
//               raises sums flags
//   gather(t)   waits for the sums of all others, writes the rest of the output
// Flags hold a count of tiles that never decreases. gather(t) comes before scatter(t + kSlots), so
// a rank that sees a flag of tile t + kSlots knows that its sender is done with slot t mod kSlots;
// no flag in the other direction is needed.
//
// The fused operators follow in a kernel of their own, as with NCCL: at these sizes memory bounds
// them, and in this kernel they would idle while it waits for other GPUs.
//
// Workspace: control words, of which [2 + block] counts the tiles that the block has done; flags;
// then the rings.
#include "allreduce/strategies/device.cuh"
#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/fused_tail.h"
#include "allreduce/strategies/launch_shape.h"
#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {
namespace {

constexpr int kSlots = 4;  // a power of two, because counts of tiles pass 2^32
constexpr int kThreads = 512;
constexpr int kMaxBlocks = 264;
// A tile has as many vectors as the workspace has room for, which is its capacity_vectors. Larger
// tiles than 64 KiB are not faster.
constexpr std::size_t kMaxTileVectors = 4096;
// A slice is rounded up for every sender, so a slot holds a little more than a tile.
constexpr std::size_t kSliceSlack = kMaxRanks;
constexpr std::size_t kSlotsOfAll = std::size_t{kMaxBlocks} * kSlots * 2;
// The flags of each block come after the control words of kMaxBlocks blocks.
constexpr std::size_t kFlagsAt = 4096;
static_assert(kFlagsAt + kMaxBlocks * 2 * kMaxRanks * sizeof(std::uint32_t) <= kControlBytes);

enum class Stage { kParts, kSums };

// This block's ring on any rank.
class Ring {
 public:
  __device__ Ring(const Arguments& a, const Workspace& workspace) : a_(a), workspace_(workspace) {}

  [[nodiscard]] __device__ uint4* slot(int rank, Stage stage, std::uint32_t tile) const {
    auto* rings = reinterpret_cast<uint4*>(workspace_.of_rank[rank] + kControlBytes);
    const std::size_t index =
        (blockIdx.x * kSlots + tile % kSlots) * 2 + (stage == Stage::kSums ? 1 : 0);
    return rings + index * (static_cast<std::size_t>(workspace_.capacity_vectors) + kSliceSlack);
  }

  // All threads call it: what they wrote and read of the tile comes before the flags.
  __device__ void tell_all(Stage stage, std::uint32_t tile) const {
    delay_at_random(workspace_.patience, a_.rank, 6);
    __syncthreads();
    const int rank = static_cast<int>(threadIdx.x);
    if (rank < a_.world_size && rank != a_.rank) raise(flag(rank, stage, a_.rank), tile + 1);
  }

  // All threads call it.
  __device__ void wait_for_all(Stage stage, std::uint32_t tile) const {
    delay_at_random(workspace_.patience, a_.rank, 7);
    const int rank = static_cast<int>(threadIdx.x);
    if (rank < a_.world_size && rank != a_.rank) {
      const std::uint32_t* of_rank = flag(a_.rank, stage, rank);
      wait_until(
          workspace_.patience, [&] { return has_reached(of_rank, tile + 1); },
          [&] { return rank; });
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ std::uint32_t* tiles_done() const {
    return reinterpret_cast<std::uint32_t*>(workspace_.of_rank[a_.rank]) + 2 + blockIdx.x;
  }

 private:
  [[nodiscard]] __device__ std::uint32_t* flag(int at, Stage stage, int of) const {
    auto* flags = reinterpret_cast<std::uint32_t*>(workspace_.of_rank[at] + kFlagsAt);
    return flags + (blockIdx.x * 2 + (stage == Stage::kSums ? 1 : 0)) * kMaxRanks + of;
  }

  const Arguments& a_;
  const Workspace& workspace_;
};

// A tile: some vectors of the message, in N slices of the same length, of which the last may be
// short.
struct Tile {
  std::uint32_t number = 0;  // counted over all calls
  std::int64_t first = 0;    // index of its first vector in the message
  int vectors = 0;
  int slice = 0;

  [[nodiscard]] __device__ int length_of_slice(int rank) const {
    return max(0, min(slice, vectors - rank * slice));
  }

  [[nodiscard]] __device__ bool is_whole(int world_size) const {
    return vectors == world_size * slice;
  }
};

// Blocks begin with different ranks, because otherwise a rank that is a little late would find each
// of the others busy with a third one. On 4 H200 this is 1 to 5 % faster from 32 MiB on.
__device__ int turn_of_block(const Arguments& a) {
  return static_cast<int>(blockIdx.x % static_cast<unsigned>(a.world_size - 1));
}

// Copies the slices of all other ranks: from(rank) to to(rank). All loads of a thread are under way
// at once. The compiler would put each behind the store before it, which may change what it loads
// for all that the compiler knows.
template <int kWorld, class From, class To>
__device__ void copy_slices(const Arguments& a, const Tile& tile, int turn, From from, To to) {
  constexpr int kBatch =
      kWorld == 0 ? 1 : static_cast<int>(kMaxTileVectors) / kThreads / World<kWorld>::kSlots;
  constexpr int kBatchThreads = kBatch * kThreads;
  int i = static_cast<int>(threadIdx.x);
  const int end_of_batches =
      tile.is_whole(a.world_size) ? tile.slice / kBatchThreads * kBatchThreads : 0;
#pragma unroll 1
  for (; i < end_of_batches; i += kBatchThreads) {
    uint4 vectors[World<kWorld>::kSlots][kBatch];
    for_each_peer<kWorld>(a.rank, a.world_size, turn, [&](int rank, auto step) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k)
        vectors[step.kValue][k] = __ldcg(from(rank) + i + k * kThreads);
    });
    for_each_peer<kWorld>(a.rank, a.world_size, turn, [&](int rank, auto step) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k)
        to(rank)[i + k * kThreads] = vectors[step.kValue][k];
    });
  }
#pragma unroll 1
  for (; i < tile.slice; i += kThreads) {
    for_each_peer<kWorld>(a.rank, a.world_size, turn, [&](int rank, auto /*step*/) {
      if (i < tile.length_of_slice(rank)) to(rank)[i] = __ldcg(from(rank) + i);
    });
  }
}

template <int kWorld>
__device__ void scatter(const Arguments& a, const Ring& ring, const Tile& tile) {
  copy_slices<kWorld>(
      a, tile, turn_of_block(a), [&](int rank) { return a.input + tile.first + rank * tile.slice; },
      [&](int rank) { return ring.slot(rank, Stage::kParts, tile.number) + a.rank * tile.slice; });
  ring.tell_all(Stage::kParts, tile.number);
}

template <class T, int kWorld>
__device__ void reduce(const Arguments& a, const Ring& ring, const Tile& tile) {
  ring.wait_for_all(Stage::kParts, tile.number);
  const uint4* parts_of_all = ring.slot(a.rank, Stage::kParts, tile.number);
  const uint4* own = a.input + tile.first + a.rank * tile.slice;
  uint4* own_sums = a.output + tile.first + a.rank * tile.slice;
  const int length = tile.length_of_slice(a.rank);
  const int turn = turn_of_block(a);
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < length; i += kThreads) {
    uint4 parts[World<kWorld>::kSlots];
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      parts[rank.kValue] =
          rank.kValue == a.rank ? own[i] : __ldcg(parts_of_all + rank.kValue * tile.slice + i);
    });
    const uint4 sum = sum_in_rank_order<T, kWorld>(parts, a.world_size);
    own_sums[i] = sum;
    for_each_peer<kWorld>(a.rank, a.world_size, turn, [&](int rank, auto /*step*/) {
      ring.slot(rank, Stage::kSums, tile.number)[a.rank * tile.slice + i] = sum;
    });
  }
  ring.tell_all(Stage::kSums, tile.number);
}

template <int kWorld>
__device__ void gather(const Arguments& a, const Ring& ring, const Tile& tile) {
  ring.wait_for_all(Stage::kSums, tile.number);
  const uint4* sums = ring.slot(a.rank, Stage::kSums, tile.number);
  copy_slices<kWorld>(
      a, tile, 0, [&](int rank) { return sums + rank * tile.slice; },
      [&](int rank) { return a.output + tile.first + rank * tile.slice; });
}

template <class T, int kWorld>
__global__ void __launch_bounds__(kThreads, 2) twoshot(const __grid_constant__ Arguments a,
                                                       const __grid_constant__ Workspace workspace,
                                                       const int tile_vectors) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const Ring ring(a, workspace);
  const std::uint32_t done = *ring.tiles_done();
  const std::int64_t vectors = a.vectors();
  const int slice = (tile_vectors + a.world_size - 1) / a.world_size;
  const int last_tile = static_cast<int>((vectors + tile_vectors - 1) / tile_vectors);
  const auto tile_of = [&](int i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * tile_vectors;
    Tile tile;
    tile.number = done + static_cast<std::uint32_t>((i - static_cast<int>(blockIdx.x)) /
                                                    static_cast<int>(gridDim.x));
    tile.first = first;
    tile.vectors = static_cast<int>(min(static_cast<std::int64_t>(tile_vectors), vectors - first));
    tile.slice = slice;
    return tile;
  };
  const int step = static_cast<int>(gridDim.x);
  const int start = static_cast<int>(blockIdx.x);
  // scatter is a tile ahead of reduce, which is a tile ahead of gather.
  for (int i = start; i < last_tile + 2 * step; i += step) {
    if (i < last_tile) scatter<kWorld>(a, ring, tile_of(i));
    if (i - step >= start && i - step < last_tile) reduce<T, kWorld>(a, ring, tile_of(i - step));
    if (i - 2 * step >= start && i - 2 * step < last_tile)
      gather<kWorld>(a, ring, tile_of(i - 2 * step));
  }
  __syncthreads();
  if (threadIdx.x == 0)
    *ring.tiles_done() = done + static_cast<std::uint32_t>((last_tile - start + step - 1) / step);
}

// Returns the vectors of a tile, few enough for all blocks to have a tile.
int tile_vectors_for(const Device& device, const Arguments& a, int blocks) {
  const int most = device.workspace.capacity_vectors;
  return std::clamp((a.vectors() + blocks - 1) / blocks, std::min(64 * a.world_size, most), most);
}

std::string refusal(const Device& /*device*/, const Arguments& a, Fusion fusion) {
  if (a.operation != Operation::kAllReduce) return "does all-reduce only";
  return fused_tail_refusal(a, fusion);
}

cudaError_t launch_sum(const Device& device, const Arguments& a, const Request& request) {
  return dispatch(request, device.world_size, [&](auto type, auto world, auto fusion) {
    if constexpr (fusion.kValue != Fusion::kNone) {
      return cudaErrorInvalidValue;
    } else {
      const auto kernel = twoshot<typename decltype(type)::Type, world.kValue>;
      const int most = std::min(
          kMaxBlocks, resident_blocks(device, reinterpret_cast<const void*>(kernel), kThreads));
      const int blocks = request.blocks != 0 ? std::min(request.blocks, most) : most;
      const int tile = tile_vectors_for(device, a, blocks);
      const LaunchShape shape{.blocks = std::min((a.vectors() + tile - 1) / tile, blocks),
                              .threads = kThreads};
      return launch_overlapped(kernel, shape, device, request, a, device.workspace, tile);
    }
  });
}

core::Status launch(const Device& device, const Arguments& a, const Request& request) {
  return launch_with_tail(device, a, request, [&](const Arguments& plain, const Request& sum) {
    return launch_status(launch_sum(device, plain, sum));
  });
}

WorkspaceSize workspace_size(int /*world_size*/, std::size_t budget_bytes) {
  const std::size_t slot = budget_bytes / kSlotsOfAll / kVectorBytes;
  const std::size_t tile = std::min(kMaxTileVectors, slot - std::min(slot, kSliceSlack));
  return {.capacity_vectors = static_cast<int>(tile),
          .data_bytes = kSlotsOfAll * (tile + kSliceSlack) * kVectorBytes};
}

const StrategyKernel kTwoshot{.name = "TWOSHOT",
                              .strategy = Strategy::kTwoshot,
                              .area = Area::kRings,
                              .workspace_size = workspace_size,
                              .refusal = refusal,
                              .launch = launch};
ASSAY_REGISTER(StrategyKernel, kTwoshot);

}  // namespace
}  // namespace assay::allreduce
