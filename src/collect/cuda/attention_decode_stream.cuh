// What a block of our decoding does, and how tiles of the cache come to its warps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "collect/cuda/attention_decode_kernel.h"
#include "collect/cuda/attention_decode_tile.h"

namespace assay::collect::decode {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

// What a block of this head size has in shared memory: for each warp tiles on their way.
template <int kHeadDim, int kRowTiles>
struct Size {
  static constexpr int kColumns = kHeadDim * kRowTiles;  // that a lane has sums of, all in all
  static constexpr int kBlocks = kColumns > 128 ? 2 : (kColumns > 64 ? 3 : 4);  // at a time
  static constexpr int kRows = kTileRows * kRowTiles;
  static constexpr int kStages = kHeadDim > 192 ? 3 : 4;
  static constexpr int kKeyChunks = kHeadDim / kKeyChunk;
  static constexpr int kValueBytes = value_bytes(kHeadDim);
  using Bytes = std::conditional_t<kValueBytes == 16, uint4, uint2>;
  static constexpr int kValueChunks = kHeadDim / (8 * kValueBytes);
  static constexpr int kStageBytes = 2 * kTileKeys * kHeadDim;  // keys, then values
  // In the end the warps' sums and statistics are there.
  static constexpr int kSumBytes = kWarps * kRows * (sum_words(kHeadDim) + 2) * 4;
  static constexpr int kSharedBytes = std::max(kWarps * kStages * kStageBytes, kSumBytes);
};

// What a block does: some query heads of a head of keys, some of the keys.
struct Part {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t first_head = 0;
  int rows = 0;  // query heads
  int split = 0;
  int begin = 0;  // keys begin <= key < end, of all parts
  int end = 0;
  TileRange tiles;
};

// The blocks of a launch: [batch, head of keys, split and tile of rows]. Blocks of the same keys
// are neighbours, so that the later find them in the L2 cache.
template <int kRows>
dim3 blocks_of(const DecodeArguments& with) {
  const std::int64_t row_tiles = ceil_div(with.spec.heads / with.spec.kv_heads, kRows);
  return {static_cast<unsigned>(row_tiles * with.splits), static_cast<unsigned>(with.spec.kv_heads),
          static_cast<unsigned>(with.spec.batch)};
}

template <int kRows>
__device__ Part part_of(const DecodeArguments& with) {
  const auto group = static_cast<unsigned>(with.spec.heads) / gridDim.y;
  const auto splits = static_cast<unsigned>(with.splits);
  const unsigned row_tiles = gridDim.x / splits;
  const unsigned row_tile = blockIdx.x % row_tiles;
  const unsigned split = blockIdx.x / row_tiles;
  const VisibleKeys visible = visible_keys(with.spec, 0);
  const auto begin = static_cast<int>(visible.begin);
  const auto end = static_cast<int>(visible.end);
  return {.batch = blockIdx.z,
          .kv_head = blockIdx.y,
          .first_head = blockIdx.y * group + row_tile * kRows,
          .rows = static_cast<int>(min(group - row_tile * kRows, static_cast<unsigned>(kRows))),
          .split = static_cast<int>(split),
          .begin = begin,
          .end = end,
          .tiles = tiles_of_part(begin, end, static_cast<int>(split), static_cast<int>(splits))};
}

__device__ inline void copy_async(char* to, const char* from) {
  const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(place), "l"(from)
               : "memory");
}

__device__ inline void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until at most the last `kLeft` groups of copies of any lane of the warp are under way.
template <int kLeft>
__device__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
  __syncwarp();
}

// A warp's tiles on their way from the cache to shared memory.
template <int kHeadDim, int kRowTiles>
class Tiles {
 public:
  using Its = Size<kHeadDim, kRowTiles>;

  __device__ Tiles(const DecodeArguments& with, const Part& part, char* shared)
      : with_(with),
        part_(part),
        keys_(static_cast<const char*>(with.keys) + part.kv_head * with.layout.keys[1]),
        values_(static_cast<const char*>(with.values) + part.kv_head * with.layout.keys[1]),
        shared_(shared),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        first_(part.tiles.first + static_cast<int>(threadIdx.x) / kLanes),
        count_(max(part.tiles.last - first_ + kWarps - 1, 0) / kWarps) {
    set_pieces(kTileKeys - 1);
  }

  [[nodiscard]] __device__ int count() const { return count_; }

  [[nodiscard]] __device__ int first_key(int n) const { return (first_ + n * kWarps) * kTileKeys; }

  // Begins the copies of tile `n` of this warp; called for 0, 1, 2, ..., past the last too.
  __device__ void begin(int n) {
    if (n % kLanes == 0) find(n);
    if (n < count_) copy(n);
    end_copies();
  }

  // The lane's 16 bytes of a key.
  [[nodiscard]] __device__ uint4 keys(int n, int half, int chunk) const {
    return *reinterpret_cast<const uint4*>(stage(n) + key_place(lane_, half, chunk, kHeadDim));
  }

  // The lane's bytes of a value.
  [[nodiscard]] __device__ typename Its::Bytes values(int n, int i, int chunk) const {
    return *reinterpret_cast<const typename Its::Bytes*>(stage(n) + kTileKeys * kHeadDim +
                                                         value_place(lane_, i, chunk, kHeadDim));
  }

 private:
  static constexpr int kPieces = kTileKeys * kHeadDim / 16 / kLanes;  // that a lane copies

  [[nodiscard]] __device__ char* stage(int n) const {
    return shared_ + n % Its::kStages * Its::kStageBytes;
  }

  // Where the next 32 tiles begin, one for each lane.
  __device__ void find(int n) {
    if (n + lane_ >= count_) return;
    const int key = first_key(n + lane_);
    std::int64_t block = part_.batch;
    int row = key;
    if (with_.pages != nullptr) {
      const auto page_size = static_cast<int>(with_.spec.page_size);
      const int page = key / page_size;
      block = with_.pages[part_.batch * with_.layout.pages_per_sequence + page];
      row = key - page * page_size;
    }
    offset_ = block * with_.layout.keys[0] + row * with_.layout.keys[2];
  }

  // Where in a tile with keys up to `last` the lane's pieces are. Past the end the last key is read
  // again; its weight will be 0.
  __device__ void set_pieces(int last) {
    const auto stride = static_cast<int>(with_.layout.keys[2]);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const Piece piece = copied_piece(lane_, i, kHeadDim);
      pieces_[i] = min(piece.key, last) * stride + piece.column;
    }
  }

  __device__ void copy(int n) {
    const int last = part_.end - 1 - first_key(n);
    if (last < kTileKeys - 1) set_pieces(last);  // no tile follows it
    const std::int64_t offset = __shfl_sync(kAllLanes, offset_, n % kLanes);
    const char* keys = keys_ + offset;
    const char* values = values_ + offset;
    char* to = stage(n);
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      copy_async(to + key_place_of(copied_piece(lane_, i, kHeadDim), kHeadDim), keys + pieces_[i]);
    to += kTileKeys * kHeadDim;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      copy_async(to + value_place_of(copied_piece(lane_, i, kHeadDim), kHeadDim),
                 values + pieces_[i]);
    }
  }

  const DecodeArguments& with_;
  const Part& part_;
  const char* keys_;  // of the head
  const char* values_;
  char* shared_;
  int lane_;
  int first_;
  int count_;
  int pieces_[kPieces];
  std::int64_t offset_ = 0;  // of keys_ and values_: tile 32 i + lane_
};

}  // namespace assay::collect::decode
