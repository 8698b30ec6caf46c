// A block of the attention of new tokens in fp8. Two or three warp groups have 64 queries each: the
// product with the next keys runs while they weigh the keys before. Another warp group has the copy
// engine bring tiles, and transposes the values, since a product of fp8 reads both factors along
// the sum.
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "collect/cuda/attention_context_kernels.h"
#include "collect/cuda/attention_context_tile.h"
#include "collect/cuda/tma.cuh"
#include "collect/cuda/wgmma.cuh"

namespace assay::collect::context {

inline constexpr int kGroupThreads = 128;  // of a warp group
inline constexpr int kGroupWarps = 4;
inline constexpr int kGroupQueries = 64;
inline constexpr int kBoxBytes = kTileKeys * 128;  // 128 rows of 128 elements
inline constexpr int kSteps = kTileKeys / 32;      // a product takes 32 keys at a time
inline constexpr int kScores = kTileKeys / 2;      // of a thread
inline constexpr int kProducersMeet = 1;           // a barrier; 0 is that of all threads
inline constexpr int kFirstTurn = 2;               // and one for each reader

// Shorter rows than those of a box are filled with zeros.
template <int kHeadDim, int kValueDim, int kTileQueries>
struct Size {
  static constexpr int kReaders = kTileQueries / kGroupQueries;  // warp groups that multiply
  static constexpr int kThreads = (kReaders + 1) * kGroupThreads;
  static constexpr int kKeyBoxes = (kHeadDim + 127) / 128;
  static constexpr int kQueryStages = 2;
  static constexpr int kKeyStages = kHeadDim == 256 ? 2 : 3;
  static constexpr int kValueStages = kHeadDim == 256 ? 1 : 2;
  static constexpr int kTransposedStages = 2;
  static constexpr int kQueryBytes = kKeyBoxes * kTileQueries * 128;
  static constexpr int kKeyBytes = kKeyBoxes * kBoxBytes;
  static constexpr int kValueBoxes = (kValueDim + 127) / 128;
  static constexpr int kValueBytes = kValueBoxes * kBoxBytes;
  static constexpr int kTransposedBytes = kValueDim * kTileKeys;
  // Places in shared memory.
  static constexpr int kKeys = kQueryStages * kQueryBytes;
  static constexpr int kValues = kKeys + kKeyStages * kKeyBytes;
  static constexpr int kTransposed = kValues + kValueStages * kValueBytes;
  static constexpr int kBarriers = kTransposed + kTransposedStages * kTransposedBytes;
  static constexpr int kSharedBytes =
      kBarriers + (2 * (kQueryStages + kKeyStages + kTransposedStages) + kValueStages) * 8;
  static_assert(kSharedBytes <= 227 * 1024);
};

// A ring of stages, each with a barrier that counts what fills it and, behind those, one that
// counts its readers.
template <int kStages>
struct Ring {
  std::uint32_t barriers = 0;

  __device__ void make(int writers, int readers) const {
    for (int stage = 0; stage < kStages; ++stage) {
      make_barrier(full(stage), writers);
      make_barrier(empty(stage), readers);
    }
  }

  [[nodiscard]] __device__ std::uint32_t full(int n) const { return barriers + n % kStages * 8; }

  [[nodiscard]] __device__ std::uint32_t empty(int n) const { return full(n) + kStages * 8; }

  __device__ void await_full(int n) const {
    wait_for_phase(full(n), static_cast<std::uint32_t>(n / kStages % 2));
  }

  // Waits for the readers of what was in the stage before.
  __device__ void await_empty(int n) const {
    wait_for_phase(empty(n), static_cast<std::uint32_t>((n / kStages + 1) % 2));
  }

  // One lane of each warp that has read speaks for it.
  __device__ void end_reading(int n) const {
    if (threadIdx.x % 32 == 0) arrive(empty(n));
  }
};

// The barriers and places of a block's shared memory.
template <int kHeadDim, int kValueDim, int kTileQueries>
struct Shared {
  using Its = Size<kHeadDim, kValueDim, kTileQueries>;

  __device__ explicit Shared(std::uint32_t at)
      : base(at),
        queries{at + Its::kBarriers},
        keys{queries.barriers + 2 * Its::kQueryStages * 8},
        transposed{keys.barriers + 2 * Its::kKeyStages * 8},
        values_full(transposed.barriers + 2 * Its::kTransposedStages * 8) {}

  __device__ void make_barriers() const {
    queries.make(1, Its::kReaders * kGroupWarps);
    keys.make(1, Its::kReaders * kGroupWarps);
    transposed.make(kGroupThreads, Its::kReaders * kGroupWarps);
    for (int stage = 0; stage < Its::kValueStages; ++stage)
      make_barrier(values_full + stage * 8, 1);
    publish_barriers();
  }

  [[nodiscard]] __device__ std::uint32_t query(int n) const {
    return base + n % Its::kQueryStages * Its::kQueryBytes;
  }

  [[nodiscard]] __device__ std::uint32_t key(int n) const {
    return base + Its::kKeys + n % Its::kKeyStages * Its::kKeyBytes;
  }

  [[nodiscard]] __device__ std::uint32_t value(int n) const {
    return base + Its::kValues + n % Its::kValueStages * Its::kValueBytes;
  }

  [[nodiscard]] __device__ std::uint32_t value_transposed(int n) const {
    return base + Its::kTransposed + n % Its::kTransposedStages * Its::kTransposedBytes;
  }

  [[nodiscard]] __device__ std::uint32_t value_full(int n) const {
    return values_full + n % Its::kValueStages * 8;
  }

  std::uint32_t base;
  Ring<Its::kQueryStages> queries;
  Ring<Its::kKeyStages> keys;
  Ring<Its::kTransposedStages> transposed;
  std::uint32_t values_full;
};

// A block's way over its tiles of queries, and over the tiles of keys of each, the last ones first.
class Walk {
 public:
  __device__ explicit Walk(const Shape& shape) : shape_(shape) { start(); }

  [[nodiscard]] __device__ bool is_over() const { return is_over_; }

  [[nodiscard]] __device__ bool begins_tile() const { return key_tile_ == keys_.last - 1; }

  [[nodiscard]] __device__ const Tile& tile() const { return tile_; }

  [[nodiscard]] __device__ int key_tile() const { return key_tile_; }

  [[nodiscard]] __device__ const KeyTiles& keys() const { return keys_; }

  // The number of this tile of queries, and of this tile of keys, among all of the block.
  [[nodiscard]] __device__ int round() const { return round_; }

  [[nodiscard]] __device__ int step() const { return step_; }

  __device__ void next_keys() {
    ++step_;
    if (--key_tile_ < keys_.first) {
      ++round_;
      start();
    }
  }

  __device__ void next_tile() {
    step_ += keys_.count();
    ++round_;
    start();
  }

 private:
  __device__ void start() {
    const int place = place_of(round_, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
    is_over_ = place >= tiles_of(shape_);
    if (is_over_) return;
    tile_ = tile_at(shape_, place);
    keys_ = key_tiles_of(shape_, tile_.first_query);
    key_tile_ = keys_.last - 1;
  }

  const Shape& shape_;
  Tile tile_;
  KeyTiles keys_;
  int round_ = 0;
  int step_ = 0;
  int key_tile_ = 0;
  bool is_over_ = false;
};

// Copies rows of a head, boxes of 128 elements wide.
template <int kBoxes, int kRows>
__device__ void copy_rows(
    std::uint32_t to, const CUtensorMap& map, int head, int token, int batch, std::uint32_t full) {
  arrive_and_expect(full, kBoxes * kRows * 128);
#pragma unroll
  for (int box = 0; box < kBoxes; ++box)
    copy_box(to + box * kRows * 128, map, {box * 128, head, token, batch}, full);
}

// One thread calls it for each step in turn.
template <int kHeadDim, int kValueDim, int kTileQueries>
__device__ void begin_step(const Shape& shape,
                           const ContextMaps& maps,
                           const Shared<kHeadDim, kValueDim, kTileQueries>& shared,
                           const Walk& walk) {
  using Its = Size<kHeadDim, kValueDim, kTileQueries>;
  const Tile& tile = walk.tile();
  if (walk.begins_tile()) {
    const int round = walk.round();
    shared.queries.await_empty(round);
    copy_rows<Its::kKeyBoxes, kTileQueries>(shared.query(round), maps.query, tile.head,
                                            tile.first_query, tile.batch,
                                            shared.queries.full(round));
  }
  const int step = walk.step();
  const int kv_head = tile.head / (shape.heads / shape.kv_heads);
  const int token = walk.key_tile() * kTileKeys;
  shared.keys.await_empty(step);
  copy_rows<Its::kKeyBoxes, kTileKeys>(shared.key(step), maps.keys, kv_head, token, tile.batch,
                                       shared.keys.full(step));
  copy_rows<Its::kValueBoxes, kTileKeys>(shared.value(step), maps.values, kv_head, token,
                                         tile.batch, shared.value_full(step));
}

struct Matrices {
  std::uint32_t of[4];
};

// Reads four matrices of 8 rows of 16 bytes transposed, as pairs of bytes; lane l gives the address
// of row l % 8 of matrix l / 8.
__device__ inline Matrices read_transposed(std::uint32_t address) {
  Matrices read{};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.of[0]), "=r"(read.of[1]), "=r"(read.of[2]), "=r"(read.of[3])
               : "r"(address)
               : "memory");
  return read;
}

__device__ inline void write_matrices(std::uint32_t address, const Matrices& written) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(written.of[0]), "r"(written.of[1]), "r"(written.of[2]), "r"(written.of[3])
               : "memory");
}

// Bytes 0 and 2, and bytes 1 and 3, of two words.
__device__ inline std::uint32_t even_bytes(std::uint32_t first, std::uint32_t second) {
  return __byte_perm(first, second, 0x6420U);
}

__device__ inline std::uint32_t odd_bytes(std::uint32_t first, std::uint32_t second) {
  return __byte_perm(first, second, 0x7531U);
}

// The place of 16 bytes of a row in a box, which is swizzled.
__device__ inline std::uint32_t place_in_box(int row, int chunk) {
  return static_cast<std::uint32_t>(row * 128 + (chunk ^ (row % 8)) * 16);
}

// Transposes a tile of values: a row for each element, with the keys in the order of key_at(). Of
// 16 elements, those of even number come first, so that lanes write to different banks.
template <int kValueDim>
__device__ void transpose(std::uint32_t from, std::uint32_t to) {
  constexpr int kChunks = kValueDim / 16;
  const int warp = static_cast<int>(threadIdx.x) % kGroupThreads / 32;
  const int matrix = static_cast<int>(threadIdx.x) % 32 / 8;
  const int row = static_cast<int>(threadIdx.x) % 8;
  const int keys = warp * 32;  // of this warp
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const std::uint32_t box = from + chunk / 8 * kBoxBytes;
    const Matrices read = read_transposed(box + place_in_box(keys + matrix * 8 + row, chunk % 8));
    const Matrices written = {
        {even_bytes(read.of[0], read.of[1]), odd_bytes(read.of[0], read.of[1]),
         even_bytes(read.of[2], read.of[3]), odd_bytes(read.of[2], read.of[3])}};
    write_matrices(to + place_in_box(chunk * 16 + matrix % 2 * 8 + row, warp * 2 + matrix / 2),
                   written);
  }
}

// The warp group that brings tiles. Copies are a step ahead of the transposition for each place of
// values.
template <int kHeadDim, int kValueDim, int kTileQueries>
__device__ void bring_tiles(const Shape& shape,
                            const ContextMaps& maps,
                            const Shared<kHeadDim, kValueDim, kTileQueries>& shared) {
  using Its = Size<kHeadDim, kValueDim, kTileQueries>;
  const bool is_loader = threadIdx.x % kGroupThreads == 0;
  Walk ahead(shape);
  for (int n = 0; n < Its::kValueStages && !ahead.is_over(); ++n) {
    if (is_loader) begin_step(shape, maps, shared, ahead);
    ahead.next_keys();
  }
  for (Walk walk(shape); !walk.is_over(); walk.next_keys()) {
    const int step = walk.step();
    wait_for_phase(shared.value_full(step), step / Its::kValueStages % 2);
    shared.transposed.await_empty(step);
    transpose<kValueDim>(shared.value(step), shared.value_transposed(step));
    publish_writes();
    arrive(shared.transposed.full(step));
    join_threads(kProducersMeet, kGroupThreads);  // all have read the values
    if (ahead.is_over()) continue;
    if (is_loader) begin_step(shape, maps, shared, ahead);
    __syncwarp();
    ahead.next_keys();
  }
}

__device__ inline float power_of_two_of(float exponent) {
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

__device__ inline std::uint32_t four_fp8(float a, float b, float c, float d) {
  std::uint32_t four = 0;
  asm("{ .reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high}; }"
      : "=r"(four)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return four;
}

// The softmax of a thread's two rows, `row` and `row` + 8 of its warp's 16.
class Softmax {
 public:
  // Weights are up to 256, since the steps of small ones are fixed in e4m3, whose largest number is
  // 448.
  static constexpr float kLargestExponent = 8;

  __device__ explicit Softmax(float scale) : scale_(scale) {}

  // Makes weights of scores in their place, and returns by what earlier sums of both rows are to be
  // multiplied.
  __device__ float2 weigh(float (&scores)[kScores]) {
    const float2 factors = {begin_row(scores, 0), begin_row(scores, 1)};
#pragma unroll
    for (int i = 0; i < kScores; ++i)
      scores[i] = weight(scores[i], i / 2 % 2);
    return factors;
  }

  // Returns one over the sums of all weights of both rows.
  __device__ float2 factors_of_output() {
    return {1 / over_lanes(sums_[0]), 1 / over_lanes(sums_[1])};
  }

 private:
  __device__ float begin_row(const float (&scores)[kScores], int row) {
    float largest = largest_[row];
#pragma unroll
    for (int i = 0; i < kScores; i += 4)
      largest = fmaxf(largest, fmaxf(scores[i + row * 2], scores[i + row * 2 + 1]));
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 2));
    // A row whose keys are all masked so far has no largest score.
    const float finite = largest == -INFINITY ? 0 : largest;
    const float factor = power_of_two_of((largest_[row] - finite) * scale_);
    largest_[row] = largest;
    offset_[row] = kLargestExponent - finite * scale_;
    sums_[row] *= factor;
    return factor;
  }

  __device__ float weight(float score, int row) {
    const float of = power_of_two_of(score * scale_ + offset_[row]);
    sums_[row] += of;
    return of;
  }

  __device__ static float over_lanes(float sum) {
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    return sum + __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
  }

  float scale_;
  float largest_[2] = {-INFINITY, -INFINITY};
  float offset_[2] = {};
  float sums_[2] = {};
};

// Rounds weights to the left factor of the second product.
__device__ inline void round_weights(const float (&from)[kScores],
                                     std::uint32_t (&weights)[kSteps][4]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = step * 16 + i / 2 * 8 + i % 2 * 2;
      weights[step][i] = four_fp8(from[at], from[at + 1], from[at + 4], from[at + 5]);
    }
  }
}

// Where a thread stands: `row` and `pair` are those of products' results.
struct Lane {
  __device__ Lane()
      : group(static_cast<int>(threadIdx.x) / kGroupThreads),
        warp(static_cast<int>(threadIdx.x) % kGroupThreads / 32),
        row(static_cast<int>(threadIdx.x) % 32 / 4),
        pair(static_cast<int>(threadIdx.x) % 4) {}

  [[nodiscard]] __device__ int first_row() const { return group * kGroupQueries + warp * 16 + row; }

  int group;
  int warp;
  int row;
  int pair;
};

// scores [64, keys] = queries x keys transposed.
template <int kHeadDim, int kTileQueries>
__device__ void multiply_keys(std::uint32_t queries, std::uint32_t keys, float (&scores)[kScores]) {
  const std::uint64_t left = matrix_descriptor(queries);
  const std::uint64_t right = matrix_descriptor(keys);
#pragma unroll
  for (int element = 0; element < kHeadDim; element += 32) {
    const int box = element / 128;
    const int within = element % 128;
    product_fp8(scores, left + (box * kTileQueries * 128 + within) / 16,
                right + (box * kBoxBytes + within) / 16, element == 0 ? 0 : 1);
  }
}

// output [64, elements] = or += weights x values.
template <int kValueDim>
__device__ void multiply_values(const std::uint32_t (&weights)[kSteps][4],
                                std::uint32_t values,
                                float (&output)[kValueDim / 2],
                                bool is_first) {
  const std::uint64_t right = matrix_descriptor(values);
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    product_fp8(output, weights[step], right + step * 32 / 16, is_first && step == 0 ? 0 : 1);
}

// Sets scores that a query does not see to minus infinity.
__device__ inline void mask(
    const Shape& shape, const Lane& lane, int first_query, int key_tile, float (&scores)[kScores]) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const Keys seen = keys_of(shape, first_query + lane.first_row() + row * 8);
    const int key = key_tile * kTileKeys + lane.pair * 2;
    const int begin = seen.begin - key;
    const int end = min(seen.end, shape.keys) - key;
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
      const int at = i + row * 2;
      if (i * 2 < begin || i * 2 >= end) scores[at] = -INFINITY;
      if (i * 2 + 1 < begin || i * 2 + 1 >= end) scores[at + 1] = -INFINITY;
    }
  }
}

// Readers take turns in giving products to the tensor cores, so that some weigh while another's
// run.
__device__ inline void await_turn(const Lane& lane) {
  join_threads(kFirstTurn + lane.group, 2 * kGroupThreads);
}

template <int kReaders>
__device__ void pass_turn(const Lane& lane) {
  arrive_for(kFirstTurn + (lane.group + 1) % kReaders, 2 * kGroupThreads);
}

// Of 16 elements, a lane has four in turn: even ones in the first 8 columns, odd ones in the
// others.
template <int kValueDim>
__device__ void write_output(const ContextArguments& arguments,
                             const Lane& lane,
                             const Tile& tile,
                             float2 factors,
                             const float (&output)[kValueDim / 2]) {
  const Shape& shape = arguments.shape;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int query = tile.first_query + lane.first_row() + row * 8;
    if (query >= shape.queries) continue;
    const std::int64_t token = static_cast<std::int64_t>(tile.batch) * shape.queries + query;
    auto* to = static_cast<std::uint32_t*>(arguments.output) +
               (token * shape.heads + tile.head) * (kValueDim / 4) + lane.pair;
    const float factor = row == 0 ? factors.x : factors.y;
#pragma unroll
    for (int chunk = 0; chunk < kValueDim / 16; ++chunk) {
      const int even = chunk * 8 + row * 2;
      const int odd = even + 4;
      to[chunk * 4] = four_fp8(output[even] * factor, output[odd] * factor,
                               output[even + 1] * factor, output[odd + 1] * factor);
    }
  }
}

// A warp group's attention of its 64 queries of one tile.
template <int kHeadDim, int kValueDim, int kTileQueries>
class Reader {
 public:
  using Its = Size<kHeadDim, kValueDim, kTileQueries>;

  __device__ Reader(const ContextArguments& arguments,
                    const Shared<kHeadDim, kValueDim, kTileQueries>& shared)
      : with_(arguments),
        shared_(shared),
        scale_(1.4426950408889634F * rsqrtf(static_cast<float>(kHeadDim)) * arguments.scales[0]),
        output_scale_(arguments.scales[1]) {
    if (lane_.group == Its::kReaders - 1) pass_turn<Its::kReaders>(lane_);  // the first one begins
  }

  __device__ void read(const Walk& walk) {
    Softmax softmax(scale_);
    float output[kValueDim / 2];
    shared_.queries.await_full(walk.round());
    if constexpr (kHeadDim == 256) {
      read_in_turn(walk, softmax, output);
    } else {
      read_overlapping(walk, softmax, output);
    }
    const float2 sums = softmax.factors_of_output();
    write_output<kValueDim>(with_, lane_, walk.tile(),
                            {sums.x * output_scale_, sums.y * output_scale_}, output);
  }

 private:
  // The product with the next keys runs beside that with the values before, and both while scores
  // are weighed.
  __device__ void read_overlapping(const Walk& walk,
                                   Softmax& softmax,
                                   float (&output)[kValueDim / 2]) {
    float scores[kScores];
    std::uint32_t weights[kSteps][4];
    const int first_step = walk.step();
    const int last_step = first_step + walk.keys().count() - 1;
    begin_scores(walk, first_step, scores);
    pass_turn<Its::kReaders>(lane_);
    wait_for_products<0>();
    end_scores(walk, first_step, scores);
    softmax.weigh(scores);
    round_weights(scores, weights);
    for (int step = first_step + 1; step <= last_step; ++step) {
      shared_.transposed.await_full(step - 1);
      begin_scores(walk, step, scores);
      multiply_values<kValueDim>(weights, shared_.value_transposed(step - 1), output,
                                 step == first_step + 1);
      commit_products();
      pass_turn<Its::kReaders>(lane_);
      wait_for_products<1>();
      end_scores(walk, step, scores);
      const float2 factors = softmax.weigh(scores);
      end_output(step - 1, output);
      scale(output, factors);
      round_weights(scores, weights);
    }
    shared_.queries.end_reading(walk.round());
    begin_output(last_step, weights, output, last_step == first_step);
    end_output(last_step, output);
  }

  // Wide heads leave no registers for that, so that only the readers' products and weighing
  // overlap.
  __device__ void read_in_turn(const Walk& walk, Softmax& softmax, float (&output)[kValueDim / 2]) {
    const int first_step = walk.step();
    const int behind = first_step + walk.keys().count();
    for (int step = first_step; step < behind; ++step) {
      float scores[kScores];
      std::uint32_t weights[kSteps][4];
      begin_scores(walk, step, scores);
      pass_turn<Its::kReaders>(lane_);
      wait_for_products<0>();
      end_scores(walk, step, scores);
      if (step + 1 == behind) shared_.queries.end_reading(walk.round());
      const float2 factors = softmax.weigh(scores);
      round_weights(scores, weights);
      if (step > first_step) scale(output, factors);
      begin_output(step, weights, output, step == first_step);
      end_output(step, output);
    }
  }

  __device__ void begin_scores(const Walk& walk, int step, float (&scores)[kScores]) const {
    shared_.keys.await_full(step);
    await_turn(lane_);
    begin_products();
    multiply_keys<kHeadDim, kTileQueries>(queries(walk), shared_.key(step), scores);
    commit_products();
  }

  __device__ void end_scores(const Walk& walk, int step, float (&scores)[kScores]) const {
    hold(scores);
    shared_.keys.end_reading(step);
    mask_some(walk, walk.key_tile() - (step - walk.step()), scores);
  }

  __device__ void begin_output(int step,
                               const std::uint32_t (&weights)[kSteps][4],
                               float (&output)[kValueDim / 2],
                               bool is_first) const {
    shared_.transposed.await_full(step);
    begin_products();
    multiply_values<kValueDim>(weights, shared_.value_transposed(step), output, is_first);
    commit_products();
  }

  __device__ void end_output(int step, float (&output)[kValueDim / 2]) const {
    wait_for_products<0>();
    hold(output);
    shared_.transposed.end_reading(step);
  }

  [[nodiscard]] __device__ std::uint32_t queries(const Walk& walk) const {
    return shared_.query(walk.round()) + lane_.group * kGroupQueries * 128;
  }

  __device__ void mask_some(const Walk& walk, int key_tile, float (&scores)[kScores]) const {
    const Shape& shape = with_.shape;
    const int first = walk.tile().first_query + lane_.group * kGroupQueries;
    if (needs_mask(shape, first, first + kGroupQueries - 1, key_tile))
      mask(shape, lane_, walk.tile().first_query, key_tile, scores);
  }

  // Most tiles of keys after the first few have no larger scores.
  __device__ static void scale(float (&output)[kValueDim / 2], float2 factors) {
    if (!__any_sync(0xFFFFFFFFU, factors.x != 1 || factors.y != 1)) return;
#pragma unroll
    for (int i = 0; i < kValueDim / 2; i += 4) {
      output[i] *= factors.x;
      output[i + 1] *= factors.x;
      output[i + 2] *= factors.y;
      output[i + 3] *= factors.y;
    }
  }

  const ContextArguments& with_;
  const Shared<kHeadDim, kValueDim, kTileQueries>& shared_;
  const Lane lane_;
  const float scale_;
  const float output_scale_;
};

}  // namespace assay::collect::context
