// A block of MLA's decoding: the products of a tile of 64 keys with the queries of up to 64 heads.
//
// Keys are the rows of both products, S^T [64 keys, heads] = K Q^T and O^T [512, heads] += V^T P^T,
// so that few heads need no padding to 64 rows. The order of a tile's keys and of the latent's
// elements is free, and for fp8 it is chosen so that a lane's numbers lie side by side and reads
// have no bank conflicts: a lane reads 16 bytes of a key, converts them to halves, and passes them
// to the products in registers. bfloat16 goes to the products from shared memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "collect/cuda/mla_decode_kernels.h"
#include "collect/cuda/mla_decode_split.h"
#include "collect/cuda/mla_decode_wgmma.cuh"
#include "collect/cuda/tma.cuh"
#include "collect/cuda/wgmma.cuh"

namespace assay::collect::mla {

inline constexpr int kGroupThreads = 128;  // of a warp group
inline constexpr int kGroupWarps = 4;
inline constexpr int kSteps = 4;  // a product takes 16 keys, or 16 elements of keys, at a time
inline constexpr int kBoxBytes = kTileKeys * 128;
inline constexpr int kKeyChunks = kHeadDim / 64;

// The sizes of a block. Over bfloat16 with up to 32 heads, one warp group computes scores, weights
// and output. Otherwise the first ones compute scores and weights, and two others the output of the
// tiles before: conversions and the softmax then run while tensor cores multiply. Over fp8 with 16
// and 32 heads, two scorers take the tiles in turn; with 8 the memory is the limit, and with 64
// there are no registers for another. Over bfloat16 with 64 heads there is room for two tiles only,
// and a group of its own loads them as soon as there is.
template <bool kFp8, int kHeads>
struct Size {
  static constexpr bool kHasLoader = !kFp8 && kHeads == 64;
  static constexpr int kScorers = kFp8 && (kHeads == 16 || kHeads == 32) ? 2 : 1;  // warp groups
  static constexpr int kFirstOutput = kFp8 || kHasLoader ? kScorers : 0;
  static constexpr int kGroups = kFirstOutput == 0 ? 1 : kScorers + 2;
  static constexpr int kReaders = kFp8 ? 3 : 1;  // warp groups that read a tile
  static constexpr int kThreads = (kGroups + (kHasLoader ? 1 : 0)) * kGroupThreads;
  static constexpr int kTileBytes = kTileKeys * kHeadDim * (kFp8 ? 1 : 2);
  static constexpr int kStages = kFp8 ? (kHeads == 64 ? 3 : 4) : (kHeads == 8 ? 3 : 2);
  static constexpr int kOutputTiles = kGroups == 1 ? 8 : 4;  // of a warp group, of 64 columns
  static constexpr int kWeightBuffers = kFp8 ? 2 * kScorers : (kHasLoader ? kStages : 1);
  // Weights have no place of their own beside a loader: they take that of the tile's last 64
  // columns, which only scores need.
  static constexpr int kWeightBytes = kHasLoader ? 0 : kHeads * kTileKeys * 2;
  // Places in shared memory.
  static constexpr int kQuery = kStages * kTileBytes;
  static constexpr int kWeights = kQuery + kHeads * kHeadDim * 2;
  static constexpr int kOfWarps = kWeights + kWeightBuffers * kWeightBytes;  // [scorer, warp, head]
  static constexpr int kLargest = kOfWarps + kScorers * kGroupWarps * kHeads * 4;  // [2, head]
  static constexpr int kFactors = kLargest + 2 * kHeads * 4;                       // [buffer, head]
  static constexpr int kFlags = kFactors + kWeightBuffers * kHeads * 4;            // [buffer]
  static constexpr int kVersions = kFlags + 4 * 4;                                 // [2]
  static constexpr int kCounters = kVersions + 2 * 4;
  static constexpr int kWeightCounters = kCounters + (kHasLoader ? 4 : 2) * kStages * 8;
  static constexpr int kSharedBytes = kWeightCounters + 2 * kWeightBuffers * 8;
  static_assert(kWeightBuffers <= 4 && kCounters % 8 == 0);
  static_assert(kSharedBytes <= 227 * 1024);
  // Products that add to one sum wait for each other, so short ones add to several.
  static constexpr int kChains = kHeads == 64 ? 1 : (kHeads == 32 ? 2 : 4);
};

// The work of a block.
struct Part {
  int batch = 0;
  int first_head = 0;
  int heads = 0;  // that exist
  int split = 0;
  TileRange tiles;
};

// Blocks with the same keys are neighbours, so that the later one finds the keys in the L2 cache.
__device__ inline Part part_of(const MlaDecodeArguments& arguments) {
  const auto splits = static_cast<int>(arguments.splits);
  const auto heads = static_cast<int>(arguments.heads);
  const int head_blocks = (heads + kMostHeads - 1) / kMostHeads;
  const auto block = static_cast<int>(blockIdx.x);
  const int first_head = block % head_blocks * kMostHeads;
  const int split = block / head_blocks % splits;
  const int tiles = static_cast<int>(arguments.keys + kTileKeys - 1) / kTileKeys;
  return {.batch = block / head_blocks / splits,
          .first_head = first_head,
          .heads = min(heads - first_head, kMostHeads),
          .split = split,
          .tiles = tiles_of_part(tiles, split, splits)};
}

// Where a thread stands in its warp group. `row` and `pair` are those of products' results: a lane
// has rows `row` and `row + 8` of its warp's 16, and columns 2 pair and 2 pair + 1 of each 8.
struct Lane {
  __device__ Lane()
      : group(static_cast<int>(threadIdx.x) / kGroupThreads),
        warp(static_cast<int>(threadIdx.x) % kGroupThreads / 32),
        index(static_cast<int>(threadIdx.x) % 32),
        row(index / 4),
        pair(index % 4) {}

  int group;
  int warp;
  int index;
  int row;
  int pair;
};

// The row of the cache where a key of a sequence lies, and those after it on its page.
__device__ inline int row_of_key(const MlaDecodeArguments& arguments, int batch, int key) {
  if (arguments.pages == nullptr) return batch * static_cast<int>(arguments.keys) + key;
  const auto page_size = static_cast<int>(arguments.page_size);
  const int page = arguments.pages[batch * arguments.pages_per_sequence + key / page_size];
  return page * page_size + key % page_size;
}

// The tiles of the cache on their way to a block.
template <bool kFp8, int kHeads>
class Tiles {
 public:
  using Its = Size<kFp8, kHeads>;

  __device__ Tiles(const MlaDecodeArguments& arguments,
                   const MlaCacheMaps& maps,
                   const Part& part,
                   std::uint32_t shared)
      : with_(arguments), maps_(maps), part_(part), shared_(shared) {}

  // One thread calls it before all use the others.
  __device__ void make_barriers() const {
    for (int stage = 0; stage < Its::kStages; ++stage) {
      make_barrier(full(stage), 1);
      make_barrier(empty(stage), Its::kReaders * kGroupWarps);
    }
    publish_barriers();
  }

  [[nodiscard]] __device__ int count() const { return part_.tiles.last - part_.tiles.first; }

  [[nodiscard]] __device__ int first_key(int n) const {
    return (part_.tiles.first + n) * kTileKeys;
  }

  // One thread calls it for 0, 1, 2, ...
  __device__ void begin(int n) const {
    if (n >= count()) return;
    const int stage = n % Its::kStages;
    if (n >= Its::kStages) wait_for_phase(empty(stage), (n / Its::kStages - 1) % 2);
    arrive_and_expect(full(stage), Its::kTileBytes);
    const int row = row_of_key(with_, part_.batch, first_key(n));
    const std::uint32_t to = at(n);
    constexpr int kBoxColumns = kFp8 ? 128 : 64;
    constexpr int kBoxes = kFp8 ? kValueDim / kBoxColumns : kHeadDim / kBoxColumns;
#pragma unroll
    for (int box = 0; box < kBoxes; ++box)
      copy_box(to + box * kBoxBytes, maps_.latents, box * kBoxColumns, row, full(stage));
    if (kFp8) copy_box(to + kBoxes * kBoxBytes, maps_.rotated, kValueDim, row, full(stage));
  }

  __device__ void await(int n) const {
    wait_for_phase(full(n % Its::kStages), n / Its::kStages % 2);
  }

  // All warps call it when they have read the tile.
  __device__ void end(int n) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty(n % Its::kStages));
  }

  [[nodiscard]] __device__ std::uint32_t at(int n) const {
    return shared_ + n % Its::kStages * Its::kTileBytes;
  }

 private:
  [[nodiscard]] __device__ std::uint32_t full(int stage) const {
    return shared_ + Its::kCounters + stage * 8;
  }

  [[nodiscard]] __device__ std::uint32_t empty(int stage) const {
    return full(stage) + Its::kStages * 8;
  }

  const MlaDecodeArguments& with_;
  const MlaCacheMaps& maps_;
  const Part& part_;
  std::uint32_t shared_;
};

__device__ inline uint4 read_sixteen(std::uint32_t address) {
  uint4 of;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(of.x), "=r"(of.y), "=r"(of.z), "=r"(of.w)
               : "r"(address)
               : "memory");
  return of;
}

__device__ inline uint2 read_eight(std::uint32_t address) {
  uint2 of;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(of.x), "=r"(of.y)
               : "r"(address)
               : "memory");
  return of;
}

__device__ inline void write_word(std::uint32_t address, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

// Converts e4m3 to halves without error: the lower two bytes, then the upper two.
__device__ inline uint2 halves_of(std::uint32_t bytes) {
  uint2 halves;
  asm("{ .reg .b16 low, high;\n"
      "mov.b32 {low, high}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, low;\n"
      "cvt.rn.f16x2.e4m3x2 %1, high; }"
      : "=r"(halves.x), "=r"(halves.y)
      : "r"(bytes));
  return halves;
}

template <bool kFp8>
__device__ std::uint32_t packed(float low, float high) {
  if constexpr (kFp8) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
}

// Cuts to the range of a half. Larger scores would leave a query's softmax with only one key
// anyway.
__device__ inline std::uint32_t cut_to_halves(std::uint32_t of_bfloat16) {
  constexpr float kLargest = 65504;
  const float2 of = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(of_bfloat16));
  return packed<true>(fminf(fmaxf(of.x, -kLargest), kLargest),
                      fminf(fmaxf(of.y, -kLargest), kLargest));
}

// Writes the queries to shared memory as products read them: 64 elements of each head are a row.
template <bool kFp8, int kHeads>
__device__ void load_query(const MlaDecodeArguments& arguments,
                           const Part& part,
                           std::uint32_t query) {
  constexpr int kPieces = kHeadDim / 8;  // of 16 bytes, in a head
  const auto* from = static_cast<const uint4*>(arguments.query) +
                     (part.batch * arguments.heads + part.first_head) * kPieces;
#pragma unroll 9
  for (int i = static_cast<int>(threadIdx.x); i < kHeads * kPieces;
       i += Size<kFp8, kHeads>::kThreads) {
    const int head = i / kPieces;
    const int piece = i % kPieces;
    const uint4 of = head < part.heads ? from[i] : uint4{};
    const std::uint32_t row = query + (piece / 8 * kHeads + head) * 128;
    const std::uint32_t words[4] = {of.x, of.y, of.z, of.w};
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      // A lane has 16 elements of a key in turn: four of each of four products.
      const int place = kFp8 ? (piece % 2 * 2 + word / 2) * 32 + word % 2 * 16 + piece % 8 / 2 * 4
                             : piece % 8 * 16 + word * 4;
      write_word(row + (place ^ (head % 8 * 16)), kFp8 ? cut_to_halves(words[word]) : words[word]);
    }
  }
}

template <int kHeads, int kChains>
__device__ void add_chains(const float (&chains)[kChains][kHeads / 2], float (&sums)[kHeads / 2]) {
#pragma unroll
  for (int i = 0; i < kHeads / 2; ++i) {
    sums[i] = chains[0][i];
#pragma unroll
    for (int chain = 1; chain < kChains; ++chain)
      sums[i] += chains[chain][i];
  }
}

inline constexpr int kSecondHalf = 4;  // the chunk of 64 columns with which it begins

// scores [64 keys, heads] = keys x queries. The second half of the tile may come later.
template <int kHeads, class Await>
__device__ void multiply_bfloat16_keys(std::uint32_t tile,
                                       std::uint32_t query,
                                       const Await& await_second_half,
                                       float (&scores)[kHeads / 2]) {
  constexpr int kChains = Size<false, kHeads>::kChains;
  float chains[kChains][kHeads / 2] = {};
  const std::uint64_t left = matrix_descriptor(tile);
  const std::uint64_t right = matrix_descriptor(query);
  begin_products();
#pragma unroll
  for (int step = 0; step < kKeyChunks * kSteps; ++step) {
    if (step == kSecondHalf * kSteps) await_second_half();
    const int chunk = step / kSteps;
    const int within = step % kSteps * 32;
    add_product<kHeads, false>(chains[step % kChains], left + (chunk * kBoxBytes + within) / 16,
                               right + (chunk * kHeads * 128 + within) / 16);
  }
  commit_products();
  wait_for_products<0>();
  add_chains<kHeads, kChains>(chains, scores);
}

// What a lane reads of a tile's keys for the products of 64 elements: two rows.
struct KeyChunk {
  uint4 upper;
  uint4 lower;
};

template <int kHeads>
__device__ void multiply_fp8_keys(const Lane& lane,
                                  std::uint32_t tile,
                                  std::uint32_t query,
                                  float (&scores)[kHeads / 2]) {
  constexpr int kChains = Size<true, kHeads>::kChains;
  float chains[kChains][kHeads / 2] = {};
  const std::uint64_t right = matrix_descriptor(query);
  const int key = fp8_key_of_row(lane.row);
  const std::uint32_t rows = tile + lane.warp * 16 * 128;
  const std::uint32_t rotated =
      tile + 4 * kBoxBytes + (lane.warp * 16 + key) * 64 + ((lane.pair ^ (key / 2)) * 16);
  const auto read = [&](int chunk) -> KeyChunk {
    if (chunk == kKeyChunks - 1)
      return {.upper = read_sixteen(rotated), .lower = read_sixteen(rotated + 8 * 64)};
    const std::uint32_t from =
        rows + chunk / 2 * kBoxBytes + swizzled_place(key, chunk % 2 * 4 + lane.pair);
    return {.upper = read_sixteen(from), .lower = read_sixteen(from + 8 * 128)};
  };
  KeyChunk next = read(0);
#pragma unroll
  for (int chunk = 0; chunk < kKeyChunks; ++chunk) {
    const std::uint32_t upper[4] = {next.upper.x, next.upper.y, next.upper.z, next.upper.w};
    const std::uint32_t lower[4] = {next.lower.x, next.lower.y, next.lower.z, next.lower.w};
    if (chunk + 1 < kKeyChunks) next = read(chunk + 1);
    std::uint32_t left[kSteps][4];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const uint2 a = halves_of(upper[step]);
      const uint2 b = halves_of(lower[step]);
      left[step][0] = a.x;
      left[step][1] = b.x;
      left[step][2] = a.y;
      left[step][3] = b.y;
    }
    begin_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      add_product<kHeads>(chains[step % kChains], left[step],
                          right + (chunk * kHeads * 128 + step * 32) / 16);
    }
    commit_products();
    wait_for_products<1>();  // the registers of the chunk before are free
  }
  wait_for_products<0>();
  add_chains<kHeads, kChains>(chains, scores);
}

// The first of a lane's columns of the output. Number `i` (0 or 1, for rows `row` and `row + 8`) of
// product `tile` is column first + 64 tile + 8 i with bfloat16, and first + 2 tile + i with fp8,
// with which scorers have none.
template <bool kFp8, int kHeads>
__device__ int first_column(const Lane& lane) {
  const int group = lane.group - Size<kFp8, kHeads>::kFirstOutput;
  if (!kFp8) return group * (kValueDim / 2) + lane.warp * 16 + lane.row;
  const Fp8Columns its = fp8_columns(group, lane.warp, lane.row);
  return its.box * 128 + its.chunk * 16 + its.half * 8;
}

// output [512 / groups, heads] += values transposed x weights.
template <int kHeads>
__device__ void multiply_bfloat16_values(
    const Lane& lane,
    std::uint32_t tile,
    std::uint32_t weights,
    float (&output)[Size<false, kHeads>::kOutputTiles][kHeads / 2]) {
  constexpr int kTiles = Size<false, kHeads>::kOutputTiles;
  const int group = lane.group - Size<false, kHeads>::kFirstOutput;
  const std::uint64_t left = matrix_descriptor(tile + group * kTiles * kBoxBytes);
  const std::uint64_t right = matrix_descriptor(weights);
  begin_products();
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      add_product<kHeads, true>(output[i], left + (i * kBoxBytes + step * 16 * 128) / 16,
                                right + step * 32 / 16);
    }
  }
  commit_products();
  wait_for_products<0>();
}

// Interleaves the bytes of two keys' values: both keys' first bytes, then both keys' second.
__device__ inline std::uint32_t two_columns(std::uint32_t first, std::uint32_t second, int byte) {
  return __byte_perm(first, second, byte % 4 == 0 ? 0x5140U : 0x7362U);
}

// What a lane reads of a tile's values for a product's 16 keys: eight columns of four keys.
struct ValueStep {
  uint2 keys[4];
};

template <int kHeads>
__device__ void multiply_fp8_values(const Lane& lane,
                                    std::uint32_t tile,
                                    std::uint32_t weights,
                                    float (&output)[Size<true, kHeads>::kOutputTiles][kHeads / 2]) {
  constexpr int kTiles = Size<true, kHeads>::kOutputTiles;
  static_assert(kTiles == 4);
  const std::uint64_t right = matrix_descriptor(weights);
  const Fp8Columns its =
      fp8_columns(lane.group - Size<true, kHeads>::kScorers, lane.warp, lane.row);
  const std::uint32_t box = tile + its.box * kBoxBytes + its.half * 8;
  const auto read = [&](int step) {
    ValueStep of;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = fp8_key_of_row(lane.pair * 2 + i % 2);
      of.keys[i] = read_eight(box + (step * 16 + i / 2 * 8) * 128 + swizzled_place(key, its.chunk));
    }
    return of;
  };
  ValueStep next = read(0);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const ValueStep of = next;
    if (step + 1 < kSteps) next = read(step + 1);
    std::uint32_t left[kTiles][4];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const auto word = [&](int key) { return i < 2 ? of.keys[key].x : of.keys[key].y; };
      const uint2 low = halves_of(two_columns(word(0), word(1), i % 2 * 2));
      const uint2 high = halves_of(two_columns(word(2), word(3), i % 2 * 2));
      left[i][0] = low.x;
      left[i][1] = low.y;
      left[i][2] = high.x;
      left[i][3] = high.y;
    }
    begin_products();
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
      add_product<kHeads>(output[i], left[i], right + step * 32 / 16);
    commit_products();
    // The registers of the step before are free; with 64 heads there are none for two steps.
    wait_for_products<kHeads == 64 ? 0 : 1>();
  }
  wait_for_products<0>();
}

}  // namespace assay::collect::mla
