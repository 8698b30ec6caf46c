// The blocks and warps of the decoding kernel: how tiles of the cache reach a warp, and the
// attention of a warp to its tiles.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "collect/cuda/attention_decode_tile.h"
#include "collect/cuda/attention_kernels.h"
#include "collect/cuda/vectors.cuh"

namespace assay::collect::decode {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

// The sizes of a block for this head size and these numbers of the cache. Its shared memory holds
// the tiles that are being copied, for each warp.
template <class Cache, int kDim, int kRowTiles>
struct Size {
  static constexpr int kHeadDim = kDim;
  static constexpr int kTilesOfRows = kRowTiles;
  static constexpr int kNumberBytes = Cache::kNumberBytes;
  static constexpr int kRowBytes = kHeadDim * kNumberBytes;
  static constexpr int kRows = kTileRows * kRowTiles;
  static constexpr int kStages = kRowBytes == 256 || kRowBytes == 512 ? 3 : 4;
  static constexpr int kKeyChunks = kRowBytes / kKeyChunk;
  static constexpr int kValueBytes = value_bytes(kRowBytes);
  static constexpr int kValueColumns = kValueBytes / kNumberBytes;
  using Bytes = std::conditional_t<kValueBytes == 16, uint4, uint2>;
  static constexpr int kValueChunks = kRowBytes / (8 * kValueBytes);
  static constexpr int kStageBytes = 2 * kTileKeys * kRowBytes;  // first the keys, then the values
  // At the end the same memory holds the warps' sums and statistics.
  static constexpr int kSumBytes = kWarps * kRows * (sum_words(kHeadDim) + 2) * 4;
  static constexpr int kSharedBytes = std::max(kWarps * kStages * kStageBytes, kSumBytes);
  // The blocks that a multiprocessor has registers and shared memory for.
  static constexpr int kColumns = kHeadDim * kRowTiles;  // columns for which a lane has sums
  static constexpr int kByRegisters = kColumns > 128 ? 2 : (kColumns > 64 ? 3 : 4);
  static constexpr int kBlocks = std::min(kByRegisters, 227 * 1024 / kSharedBytes);
};

// The work of a block: some query heads of one head of keys, and some of the keys.
struct Part {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t first_head = 0;
  int rows = 0;  // number of query heads
  int split = 0;
  int begin = 0;  // begin <= key < end, for all parts
  int end = 0;
  TileRange tiles;
};

// The blocks of a launch: [batch, head of keys, split and tile of rows]. Blocks with the same keys
// are neighbours, so that the later ones find the keys in the L2 cache.
template <int kRows>
dim3 blocks_of(const DecodeArguments& arguments) {
  const std::int64_t row_tiles = ceil_div(arguments.spec.heads / arguments.spec.kv_heads, kRows);
  return {static_cast<unsigned>(row_tiles * arguments.splits),
          static_cast<unsigned>(arguments.spec.kv_heads),
          static_cast<unsigned>(arguments.spec.batch)};
}

template <int kRows>
__device__ Part part_of(const DecodeArguments& arguments) {
  const auto group = static_cast<unsigned>(arguments.spec.heads) / gridDim.y;
  const auto splits = static_cast<unsigned>(arguments.splits);
  const unsigned row_tiles = gridDim.x / splits;
  const unsigned row_tile = blockIdx.x % row_tiles;
  const unsigned split = blockIdx.x / row_tiles;
  const VisibleKeys visible = visible_keys(arguments.spec, 0);
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

// The number of warps that a launch needs where none shares its keys.
template <int kRows>
std::int64_t warp_parts(const AttentionSpec& spec) {
  return ceil_div(spec.heads / spec.kv_heads, kRows) * spec.kv_heads * spec.batch;
}

// The part of a warp that shares its keys with none; past the last part there are no rows.
template <int kRows>
__device__ Part part_of_warp(const DecodeArguments& arguments) {
  const auto kv_heads = static_cast<unsigned>(arguments.spec.kv_heads);
  const auto group = static_cast<unsigned>(arguments.spec.heads) / kv_heads;
  const unsigned row_tiles = (group + kRows - 1) / kRows;
  const unsigned number = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const unsigned row_tile = number % row_tiles;
  const unsigned kv_head = number / row_tiles % kv_heads;
  const unsigned batch = number / row_tiles / kv_heads;
  const VisibleKeys visible = visible_keys(arguments.spec, 0);
  const auto begin = static_cast<int>(visible.begin);
  const auto end = static_cast<int>(visible.end);
  const auto rows = static_cast<int>(min(group - row_tile * kRows, static_cast<unsigned>(kRows)));
  return {.batch = batch,
          .kv_head = kv_head,
          .first_head = kv_head * group + row_tile * kRows,
          .rows = batch < arguments.spec.batch ? rows : 0,
          .begin = begin,
          .end = end,
          .tiles = tiles_of_part(begin, end, 0, 1)};
}

__device__ inline void copy_async(char* to, const char* from) {
  const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(place), "l"(from)
               : "memory");
}

__device__ inline void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most the last `kLeft` groups of copies of each lane of the warp are unfinished.
template <int kLeft>
__device__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
  __syncwarp();
}

// Copies a warp's tiles from the cache to shared memory. `kSharers` warps take tiles in turn.
template <class Its, int kSharers>
class Tiles {
 public:
  __device__ Tiles(const DecodeArguments& arguments, const Part& part, char* shared)
      : with_(arguments),
        part_(part),
        keys_(static_cast<const char*>(arguments.keys) + head_offset(arguments, part)),
        values_(static_cast<const char*>(arguments.values) + head_offset(arguments, part)),
        shared_(shared),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        first_(part.tiles.first + static_cast<int>(threadIdx.x) / kLanes % kSharers),
        count_(max(part.tiles.last - first_ + kSharers - 1, 0) / kSharers) {
    set_pieces(kTileKeys - 1);
  }

  [[nodiscard]] __device__ int count() const { return count_; }

  [[nodiscard]] __device__ int first_key(int n) const {
    return (first_ + n * kSharers) * kTileKeys;
  }

  // Begins the copies of tile `n` of this warp. It is called for 0, 1, 2, ..., also past the last
  // tile.
  __device__ void begin(int n) {
    if (n % kLanes == 0) find(n);
    if (n < count_) copy(n);
    end_copies();
  }

  // Returns the lane's 16 bytes of a key.
  [[nodiscard]] __device__ uint4 keys(int n, int half, int chunk) const {
    return *reinterpret_cast<const uint4*>(stage(n) +
                                           key_place(lane_, half, chunk, Its::kRowBytes));
  }

  // Returns the lane's bytes of a value.
  [[nodiscard]] __device__ typename Its::Bytes values(int n, int i, int chunk) const {
    return *reinterpret_cast<const typename Its::Bytes*>(
        stage(n) + kTileKeys * Its::kRowBytes + value_place(lane_, i, chunk, Its::kRowBytes));
  }

 private:
  // The pieces that a lane copies of a tile's keys, and of its values.
  static constexpr int kPieces = kTileKeys * Its::kRowBytes / 16 / kLanes;

  [[nodiscard]] static __device__ std::int64_t head_offset(const DecodeArguments& arguments,
                                                           const Part& part) {
    return part.kv_head * arguments.layout.keys[1] * Its::kNumberBytes;
  }

  [[nodiscard]] __device__ char* stage(int n) const {
    return shared_ + n % Its::kStages * Its::kStageBytes;
  }

  // Finds where the next 32 tiles begin, one for each lane.
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
    offset_ = (block * with_.layout.keys[0] + row * with_.layout.keys[2]) * Its::kNumberBytes;
  }

  // Finds the lane's pieces in a tile with keys up to `last`. Past the end the last key is read
  // again and gets weight 0.
  __device__ void set_pieces(int last) {
    const auto stride = static_cast<int>(with_.layout.keys[2] * Its::kNumberBytes);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const Piece piece = copied_piece(lane_, i, Its::kRowBytes);
      pieces_[i] = min(piece.key, last) * stride + piece.byte;
    }
  }

  __device__ void copy(int n) {
    const int last = part_.end - 1 - first_key(n);
    if (last < kTileKeys - 1) set_pieces(last);  // it is the last tile
    const std::int64_t offset = __shfl_sync(kAllLanes, offset_, n % kLanes);
    const char* keys = keys_ + offset;
    const char* values = values_ + offset;
    char* to = stage(n);
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      copy_async(to + key_place_of(copied_piece(lane_, i, Its::kRowBytes), Its::kRowBytes),
                 keys + pieces_[i]);
    to += kTileKeys * Its::kRowBytes;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      copy_async(to + value_place_of(copied_piece(lane_, i, Its::kRowBytes), Its::kRowBytes),
                 values + pieces_[i]);
    }
  }

  const DecodeArguments& with_;
  const Part& part_;
  const char* keys_;  // the keys of the head
  const char* values_;
  char* shared_;
  int lane_;
  int first_;
  int count_;
  int pieces_[kPieces];
  std::int64_t offset_ = 0;  // offset of tile 32 i + lane_ from keys_ and values_
};

// Converts e4m3 to halves without error: the lower two bytes, then the upper two.
__device__ inline uint2 as_halves(std::uint32_t bytes) {
  uint2 halves;
  asm("{ .reg .b16 low, high;\n"
      "mov.b32 {low, high}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, low;\n"
      "cvt.rn.f16x2.e4m3x2 %1, high; }"
      : "=r"(halves.x), "=r"(halves.y)
      : "r"(bytes));
  return halves;
}

__device__ inline std::uint32_t half_pair(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

// Cuts to the range of a half. Larger scores would leave a query's softmax with only one key
// anyway.
__device__ inline std::uint32_t as_halves(__nv_bfloat162 pair) {
  constexpr float kLargest = 65504;
  const float2 of = __bfloat1622float2(pair);
  return half_pair(fminf(fmaxf(of.x, -kLargest), kLargest),
                   fminf(fmaxf(of.y, -kLargest), kLargest));
}

// Like exp2f(), but 0 instead of denormal results.
__device__ inline float power_of_two(float exponent) {
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

// Interleaves the bytes of two keys' values: both keys' first bytes, then both keys' second.
template <class Bytes>
__device__ std::uint32_t two_columns_of(const Bytes& first, const Bytes& second, int byte) {
  const int word = byte / 4;
  return __byte_perm(reinterpret_cast<const std::uint32_t*>(&first)[word],
                     reinterpret_cast<const std::uint32_t*>(&second)[word],
                     byte % 4 == 0 ? 0x5140U : 0x7362U);
}

// Computes to [16, 8] += a [16, 16] b [16, 8], of halves.
__device__ inline void multiply_halves(float (&to)[4], const std::uint32_t (&a)[4], uint2 b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

// The same, of bfloat16.
__device__ inline void multiply_bfloats(float (&to)[4], const std::uint32_t (&a)[4], uint2 b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

// The numbers of a cache of e4m3, which become halves, and so do queries and weights.
struct Fp8Cache {
  static constexpr int kNumberBytes = 1;

  static __device__ std::uint32_t query_pair(__nv_bfloat162 pair) { return as_halves(pair); }

  static __device__ std::uint32_t weight_pair(float low, float high) {
    return half_pair(low, high);
  }

  static __device__ void multiply(float (&to)[4], const std::uint32_t (&a)[4], uint2 b) {
    multiply_halves(to, a, b);
  }

  // The four numbers of a lane's key for one of the products of these 16 bytes.
  static __device__ uint2 four_of_key(const std::uint32_t (&words)[4], int step) {
    return as_halves(words[step]);
  }

  // Two columns of two keys' values: the first column of both keys, then the second.
  template <class Bytes>
  static __device__ uint2 two_columns(const Bytes& first, const Bytes& second, int column) {
    return as_halves(two_columns_of(first, second, column));
  }
};

struct Bfloat16Cache {
  static constexpr int kNumberBytes = 2;

  static __device__ std::uint32_t query_pair(__nv_bfloat162 pair) {
    return reinterpret_cast<const std::uint32_t&>(pair);
  }

  static __device__ std::uint32_t weight_pair(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }

  static __device__ void multiply(float (&to)[4], const std::uint32_t (&a)[4], uint2 b) {
    multiply_bfloats(to, a, b);
  }

  static __device__ uint2 four_of_key(const std::uint32_t (&words)[4], int step) {
    return {words[2 * step], words[2 * step + 1]};
  }

  template <class Bytes>
  static __device__ uint2 two_columns(const Bytes& first, const Bytes& second, int column) {
    const int word = column / 2;
    const std::uint32_t low = reinterpret_cast<const std::uint32_t*>(&first)[word];
    const std::uint32_t high = reinterpret_cast<const std::uint32_t*>(&second)[word];
    return {__byte_perm(low, high, 0x5410U), __byte_perm(low, high, 0x7632U)};
  }
};

// Combines the values of the four lanes that share a row.
template <class Combine>
__device__ float over_row(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(kAllLanes, value, 1));
  return combine(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// A lane's part of a warp's attention. It has two rows of each tile of 16 rows: row lane / 4, and
// the row 8 below.
template <class Cache, class Its>
class WarpAttention {
  static constexpr int kHeadDim = Its::kHeadDim;
  static constexpr int kRowTiles = Its::kTilesOfRows;

 public:
  __device__ WarpAttention(const DecodeArguments& arguments, const Part& part)
      : begin_(part.begin),
        end_(part.end),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        scale_(1.4426950408889634F * rsqrtf(static_cast<float>(kHeadDim)) * arguments.scales[0]) {
#pragma unroll
    for (int at = 0; at < kRowPairs; ++at) {
      load_query(arguments, part, at);
      largest_[at] = -INFINITY;
    }
  }

  template <class TilesOfWarp>
  __device__ void add(const TilesOfWarp& tiles, int n) {
    float scores[kRowTiles][2][4] = {};
    multiply_keys(tiles, n, scores);
    mask(tiles.first_key(n), scores);
    scale_down(scores);
    weigh(scores);
    multiply_values(tiles, n, scores);
  }

  // Writes the output, if the warp has seen all keys.
  __device__ void write_output(const DecodeArguments& arguments, const Part& part) const {
#pragma unroll
    for (int at = 0; at < kRowPairs; ++at) {
      const float factor = arguments.scales[1] / over_row(weights_[at], Plus{});
      if (row(at) >= part.rows) continue;
      const std::int64_t head = part.batch * arguments.spec.heads + part.first_head + row(at);
      auto* to = static_cast<__nv_bfloat16*>(arguments.output) + head * kHeadDim;
#pragma unroll
      for (int tile = 0; tile < kHeadDim / 8; tile += 8) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          // Eight products in turn have columns in turn.
          const auto pair = [&](int first) {
            const __nv_bfloat162 two =
                __floats2bfloat162_rn(output_[at / 2][first][at % 2 * 2 + i] * factor,
                                      output_[at / 2][first + 1][at % 2 * 2 + i] * factor);
            return reinterpret_cast<const std::uint32_t&>(two);
          };
          *reinterpret_cast<uint4*>(to +
                                    output_column(lane_, tile, i, kHeadDim, Its::kNumberBytes)) = {
              pair(tile), pair(tile + 2), pair(tile + 4), pair(tile + 6)};
        }
      }
    }
  }

  // Writes the sums of the warp's rows [rows, sum_words()] and their statistics [rows, 2].
  __device__ void write(int rows, float* sums, float* statistics) const {
    if (kRowTiles == 1 && rows <= 8) {
      write_rows<1>(sums, statistics);
    } else {
      write_rows<kRowPairs>(sums, statistics);
    }
  }

 private:
  static constexpr int kRowPairs = 2 * kRowTiles;            // rows of a lane
  static constexpr int kChunkSteps = 4 / Its::kNumberBytes;  // products of 16 bytes of a lane

  template <int kRows>
  __device__ void write_rows(float* sums, float* statistics) const {
#pragma unroll
    for (int at = 0; at < kRows; ++at) {
#pragma unroll
      for (int tile = 0; tile < kHeadDim / 8; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int column = output_column(lane_, tile, i, kHeadDim, Its::kNumberBytes);
          sums[row(at) * sum_words(kHeadDim) + sum_place(column)] =
              output_[at / 2][tile][at % 2 * 2 + i];
        }
      }
      const float weights = over_row(weights_[at], Plus{});
      if (lane_ % 4 == 0) {
        statistics[row(at) * 2] = largest_[at] * scale_;  // as an exponent of 2
        statistics[row(at) * 2 + 1] = weights;
      }
    }
  }

  // The first two scores, and the first two outputs, of a tile of rows belong to the lane's first
  // row.
  [[nodiscard]] __device__ int row(int at) const {
    return at * 8 + lane_ / 4;
  }

  // Loads 0 for rows past the last.
  __device__ void load_query(const DecodeArguments& arguments, const Part& part, int at) {
    const bool exists = row(at) < part.rows;
    const auto* from = static_cast<const __nv_bfloat16*>(arguments.query) +
                       part.batch * arguments.layout.query[0] +
                       (part.first_head + row(at)) * arguments.layout.query[1];
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      const int column =
          loaded_key_byte(lane_, step / kChunkSteps) / Its::kNumberBytes + step % kChunkSteps * 4;
      const auto* four = reinterpret_cast<const __nv_bfloat162*>(from + column);
      query_[at / 2][step][at % 2] = exists ? Cache::query_pair(four[0]) : 0;
      query_[at / 2][step][2 + at % 2] = exists ? Cache::query_pair(four[1]) : 0;
    }
  }

  template <class TilesOfWarp>
  __device__ void multiply_keys(const TilesOfWarp& tiles,
                                int n,
                                float (&scores)[kRowTiles][2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int chunk = 0; chunk < Its::kKeyChunks; ++chunk) {
        const uint4 loaded = tiles.keys(n, half, chunk);
        const std::uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
        for (int step = 0; step < kChunkSteps; ++step) {
          const uint2 four = Cache::four_of_key(words, step);
#pragma unroll
          for (int rows = 0; rows < kRowTiles; ++rows)
            Cache::multiply(scores[rows][half], query_[rows][chunk * kChunkSteps + step], four);
        }
      }
    }
  }

  __device__ void mask(int first_key, float (&scores)[kRowTiles][2][4]) const {
    if (first_key >= begin_ && first_key + kTileKeys <= end_) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first_key + score_key(lane_, half, i);
        if (key >= begin_ && key < end_) continue;
#pragma unroll
        for (int rows = 0; rows < kRowTiles; ++rows)
          scores[rows][half][i] = -INFINITY;
      }
    }
  }

  // The result is never -infinity, because each tile has a key that is seen.
  [[nodiscard]] __device__ float larger_score(const float (&scores)[kRowTiles][2][4],
                                              int at) const {
    const float(&of)[2][4] = scores[at / 2];
    const int first = at % 2 * 2;
    const float largest =
        fmaxf(fmaxf(of[0][first], of[0][first + 1]), fmaxf(of[1][first], of[1][first + 1]));
    return over_row(fmaxf(largest, largest_[at]), Larger{});
  }

  // Rescales the sums so far if the largest scores have changed.
  __device__ void scale_down(const float (&scores)[kRowTiles][2][4]) {
    float largest[kRowPairs];
    bool is_new = false;
#pragma unroll
    for (int at = 0; at < kRowPairs; ++at) {
      largest[at] = larger_score(scores, at);
      is_new = is_new || largest[at] > largest_[at];
    }
    if (!__any_sync(kAllLanes, is_new)) return;
#pragma unroll
    for (int at = 0; at < kRowPairs; ++at) {
      const float factor = power_of_two((largest_[at] - largest[at]) * scale_);
      largest_[at] = largest[at];
      weights_[at] *= factor;
#pragma unroll
      for (int tile = 0; tile < kHeadDim / 8; ++tile) {
        output_[at / 2][tile][at % 2 * 2] *= factor;
        output_[at / 2][tile][at % 2 * 2 + 1] *= factor;
      }
    }
  }

  __device__ void weigh(float (&scores)[kRowTiles][2][4]) {
    float scaled[kRowPairs];
#pragma unroll
    for (int at = 0; at < kRowPairs; ++at)
      scaled[at] = largest_[at] * scale_;
#pragma unroll
    for (int rows = 0; rows < kRowTiles; ++rows) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = rows * 2 + i / 2;
          scores[rows][half][i] = power_of_two(fmaf(scores[rows][half][i], scale_, -scaled[at]));
          weights_[at] += scores[rows][half][i];
        }
      }
    }
  }

  template <class TilesOfWarp>
  __device__ void multiply_values(const TilesOfWarp& tiles,
                                  int n,
                                  const float (&weights)[kRowTiles][2][4]) {
    std::uint32_t a[kRowTiles][4];
#pragma unroll
    for (int rows = 0; rows < kRowTiles; ++rows) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&of)[4] = weights[rows][i / 2];
        a[rows][i] = Cache::weight_pair(of[i % 2 * 2], of[i % 2 * 2 + 1]);
      }
    }
#pragma unroll
    for (int chunk = 0; chunk < Its::kValueChunks; ++chunk) {
      typename Its::Bytes loaded[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        loaded[i] = tiles.values(n, i, chunk);
#pragma unroll
      for (int column = 0; column < Its::kValueColumns; column += 2) {
        const uint2 low = Cache::two_columns(loaded[0], loaded[1], column);
        const uint2 high = Cache::two_columns(loaded[2], loaded[3], column);
        const int tile = chunk * Its::kValueColumns + column;
#pragma unroll
        for (int rows = 0; rows < kRowTiles; ++rows) {
          Cache::multiply(output_[rows][tile], a[rows], {low.x, high.x});
          Cache::multiply(output_[rows][tile + 1], a[rows], {low.y, high.y});
        }
      }
    }
  }

  int begin_;
  int end_;
  int lane_;
  float scale_;
  std::uint32_t query_[kRowTiles][kHeadDim / 16][4];
  float output_[kRowTiles][kHeadDim / 8][4] = {};
  float largest_[kRowPairs];
  float weights_[kRowPairs] = {};
};

}  // namespace assay::collect::decode
