// The kernels of MLA's decoding. Each block works on some keys of a sequence for up to 64 heads,
// and they or a second kernel join the parts of a sequence.
#include <cuda_runtime.h>

#include <cmath>

#include "collect/cuda/join_parts.cuh"
#include "collect/cuda/launch_after.h"
#include "collect/cuda/mla_decode_block.cuh"
#include "collect/cuda/mla_decode_halves.cuh"
#include "collect/cuda/mla_decode_join.cuh"
#include "collect/cuda/mla_decode_kernels.h"
#include "collect/cuda/tensor_map.h"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {
namespace {

using namespace mla;

// The barriers of a block besides 0, which all threads use.
constexpr int kWeightsMeet = 1;  // of bfloat16: weights have been written. Also of those who join
constexpr int kScoresMeet = 3;   // and one more for a second scorer
constexpr int kFirstTurn = 5;    // and one more
constexpr int kScorersMeet = 7;

__device__ float power_of_two_of(float exponent) {
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

// Combines the values of the eight lanes that have the same columns.
template <class Combine>
__device__ float over_rows(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, 4));
  value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, 8));
  return combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, 16));
}

struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// All lanes get the same answer by a vote, which tells the compiler that they stay together.
__device__ bool holds_for_any(bool condition) {
  return __any_sync(0xFFFFFFFFU, condition) != 0;
}

// A barrier of the hardware that returns to all whether `mine` is true for any.
__device__ bool join_for_any(int barrier, int threads, bool mine) {
  std::uint32_t any = 0;
  asm volatile(
      "{\n.reg .pred mine, any;\n"
      "setp.ne.u32 mine, %1, 0;\n"
      "bar.red.or.pred any, %2, %3, mine;\n"
      "selp.u32 %0, 1, 0, any;\n}"
      : "=r"(any)
      : "r"(mine ? 1U : 0U), "r"(barrier), "r"(threads)
      : "memory");
  return holds_for_any(any != 0);
}

// The softmax of tiles, of a warp group. A lane has the heads head_of(i), i < kHeads / 4. Two
// scorers take the tiles in turn; each goes on from the references of the other.
//
// A head's weights are 2^(score - reference). A reference is the largest score up to some tile, and
// stays until a score exceeds it by more than kRoom: the output is then seldom multiplied, and most
// tiles need no largest scores, which are the dearest part of a softmax whose scores are spread
// over warps. Weights are then at most 2^kRoom, and their sums are float32.
template <bool kFp8, int kHeads>
class Softmax {
 public:
  using Its = Size<kFp8, kHeads>;

  __device__ Softmax(char* shared, int scorer, float scale, int keys)
      : of_warps_(reinterpret_cast<float*>(shared + Its::kOfWarps) + scorer * kGroupWarps * kHeads),
        of_scorers_(reinterpret_cast<float*>(shared + Its::kLargest)),
        versions_(reinterpret_cast<int*>(shared + Its::kVersions)),
        scorer_(scorer),
        scale_(scale),
        room_(kRoom / scale),
        keys_(keys) {
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i)
      reference_[i] = -INFINITY;
    if (Its::kScorers == 2 && scorer == 1) pass_turn();  // the first one begins
  }

  // Turns scores of tile `n` into weights. Returns whether the output so far is to be multiplied by
  // factors, which are then written to shared memory; all threads of the group have the same.
  __device__ bool weigh(
      const Lane& lane, int n, int first_key, float (&scores)[kHeads / 2], float* factors) {
    mask(lane, first_key, scores);
    // References only grow, so that those of the tile before last are enough to know.
    const bool exceeds = join_for_any(kScoresMeet + scorer_, kGroupThreads, exceeds_room(scores));
    if (exceeds) find_largest(lane, scores);
    if constexpr (Its::kScorers == 1) {
      if (exceeds) raise(lane, factors, nullptr);
    } else {
      join_threads(kFirstTurn + scorer_, 2 * kGroupThreads);
      follow(lane, n == 0 ? 0 : versions_[(n + 1) % 2]);
      if (exceeds) {
        ++version_;
        raise(lane, factors, of_scorers_ + version_ % 2 * kHeads);
      }
      if (lane.warp == 0 && lane.index == 0) versions_[n % 2] = version_;
      pass_turn();
    }
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i)
      weigh_head(i, scores);
    return exceeds;
  }

  // Writes the sums of weights of each warp and head, which the scorers can then read, and sets the
  // statistics of a part of `tiles`.
  __device__ void finish(const Lane& lane, int tiles, float (&exponents)[kHeads / 4]) {
    // All have read the largest scores, and the last references are there.
    join_threads(kScorersMeet, Its::kScorers * kGroupThreads);
    if (Its::kScorers == 2) follow(lane, versions_[(tiles + 1) % 2]);
    float* sums = of_warps_ + lane.warp * kHeads;
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i) {
      exponents[i] = reference_[i] * scale_;
      const float sum = over_rows(weights_[i], Sum{});
      if (lane.row == 0) sums[head_of(lane, i)] = sum;
    }
    join_threads(kScorersMeet, Its::kScorers * kGroupThreads);
  }

  __device__ static int head_of(const Lane& lane, int i) {
    return i / 2 * 8 + lane.pair * 2 + i % 2;
  }

 private:
  static constexpr float kRoom = 8;

  __device__ void mask(const Lane& lane, int first_key, float (&scores)[kHeads / 2]) const {
    if (first_key + kTileKeys <= keys_) return;
    const int upper = first_key + lane.warp * 16 + (kFp8 ? fp8_key_of_row(lane.row) : lane.row);
#pragma unroll
    for (int i = 0; i < kHeads / 2; ++i) {
      if (upper + i % 4 / 2 * 8 >= keys_) scores[i] = -INFINITY;
    }
  }

  __device__ bool exceeds_room(const float (&scores)[kHeads / 2]) const {
    bool exceeds = false;
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i) {
      const int at = i / 2 * 4 + i % 2;
      exceeds = exceeds || fmaxf(scores[at], scores[at + 2]) > reference_[i] + room_;
    }
    return exceeds;
  }

  // Writes the largest scores of each warp. Nobody reads those of an earlier tile any more: the
  // group has met since.
  __device__ void find_largest(const Lane& lane, const float (&scores)[kHeads / 2]) const {
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i) {
      const int at = i / 2 * 4 + i % 2;
      const float largest = over_rows(fmaxf(scores[at], scores[at + 2]), Maximum{});
      if (lane.row == 0) of_warps_[lane.warp * kHeads + head_of(lane, i)] = largest;
    }
    join_threads(kScoresMeet + scorer_, kGroupThreads);
  }

  // Raises references to the largest scores that the warps have found.
  __device__ void raise(const Lane& lane, float* factors, float* for_other) {
    const bool writes = lane.warp == 0 && lane.row == 0;
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i) {
      const int head = head_of(lane, i);
      float largest = reference_[i];
#pragma unroll
      for (int warp = 0; warp < kGroupWarps; ++warp)
        largest = fmaxf(largest, of_warps_[warp * kHeads + head]);
      const float factor = change_reference(i, largest);
      if (writes) factors[head] = factor;
      if (writes && for_other != nullptr) for_other[head] = largest;
    }
  }

  // Takes over the references of the other scorer.
  __device__ void follow(const Lane& lane, int version) {
    if (version == version_) return;
    version_ = version;
#pragma unroll
    for (int i = 0; i < kHeads / 4; ++i)
      change_reference(i, of_scorers_[version % 2 * kHeads + head_of(lane, i)]);
  }

  __device__ float change_reference(int i, float reference) {
    const float factor = power_of_two_of((reference_[i] - reference) * scale_);
    reference_[i] = reference;
    weights_[i] *= factor;
    return factor;
  }

  // Makes weights of a head's two scores.
  __device__ void weigh_head(int i, float (&scores)[kHeads / 2]) {
    const float scaled = reference_[i] * scale_;
    float& upper = scores[i / 2 * 4 + i % 2];
    float& lower = scores[i / 2 * 4 + 2 + i % 2];
    upper = power_of_two_of(fmaf(upper, scale_, -scaled));
    lower = power_of_two_of(fmaf(lower, scale_, -scaled));
    weights_[i] += upper + lower;
  }

  __device__ void pass_turn() const {
    arrive_for(kFirstTurn + 1 - scorer_, 2 * kGroupThreads);
  }

  float* of_warps_;    // [warp, head]
  float* of_scorers_;  // [2, head]
  int* versions_;      // the version of the references after a tile, of neighbouring tiles
  int version_ = 0;
  int scorer_;
  float scale_;
  float room_;
  int keys_;
  float reference_[kHeads / 4];
  float weights_[kHeads / 4] = {};
};

// Writes weights as the right factor of a product, whose rows are heads.
template <bool kFp8, int kHeads>
__device__ void store_weights(const Lane& lane,
                              std::uint32_t to,
                              const float (&weights)[kHeads / 2]) {
  const int row = lane.index % 8;
  const int matrix = lane.index / 8;
  const std::uint32_t chunk = ((lane.warp * 2 + matrix % 2) ^ row) * 16;
  if constexpr (kHeads == 8) {
    const std::uint32_t words[2] = {packed<kFp8>(weights[0], weights[1]),
                                    packed<kFp8>(weights[2], weights[3])};
    store_transposed(to + row * 128 + chunk, words);
  } else {
#pragma unroll
    for (int i = 0; i < kHeads / 16; ++i) {
      const float* of = weights + i * 8;
      const std::uint32_t words[4] = {packed<kFp8>(of[0], of[1]), packed<kFp8>(of[2], of[3]),
                                      packed<kFp8>(of[4], of[5]), packed<kFp8>(of[6], of[7])};
      store_transposed(to + (i * 16 + matrix / 2 * 8 + row) * 128 + chunk, words);
    }
  }
}

// Multiplies the output so far by the factors of each head.
template <bool kFp8, int kHeads>
__device__ void scale_output(const Lane& lane,
                             const float* factors,
                             float (&output)[Size<kFp8, kHeads>::kOutputTiles][kHeads / 2]) {
#pragma unroll
  for (int i = 0; i < kHeads / 4; ++i) {
    const float factor = factors[Softmax<kFp8, kHeads>::head_of(lane, i)];
    const int at = i / 2 * 4 + i % 2;
#pragma unroll
    for (int tile = 0; tile < Size<kFp8, kHeads>::kOutputTiles; ++tile) {
      output[tile][at] *= factor;
      output[tile][at + 2] *= factor;
    }
  }
}

// Writes a lane's results for one head: the output itself, or the sums of a part.
template <bool kFp8, int kHeads, int kTiles>
__device__ void write_columns(const Lane& lane,
                              const float (&of)[kTiles][2],
                              float factor,
                              __nv_bfloat16* result,
                              float* sums) {
  const int first = first_column<kFp8, kHeads>(lane);
  if constexpr (!kFp8) {
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int column = first + i / 2 * 64 + i % 2 * 8;
      if (sums == nullptr) {
        result[column] = __float2bfloat16(of[i / 2][i % 2] * factor);
      } else {
        sums[column] = of[i / 2][i % 2];
      }
    }
  } else {
    static_assert(kTiles == 4);
    if (sums == nullptr) {
      const auto pair = [&](int i) { return packed<false>(of[i][0] * factor, of[i][1] * factor); };
      *reinterpret_cast<uint4*>(result + first) = {pair(0), pair(1), pair(2), pair(3)};
    } else {
      auto* to = reinterpret_cast<float4*>(sums + first);
      to[0] = {of[0][0], of[0][1], of[1][0], of[1][1]};
      to[1] = {of[2][0], of[2][1], of[3][0], of[3][1]};
    }
  }
}

template <bool kFp8, int kHeads>
__device__ void write_output(const MlaDecodeArguments& arguments,
                             const Part& part,
                             const Lane& lane,
                             const float* of_warps,
                             const float (&output)[Size<kFp8, kHeads>::kOutputTiles][kHeads / 2]) {
  constexpr int kTiles = Size<kFp8, kHeads>::kOutputTiles;
  const float scale = kFp8 ? arguments.scale[0] : 1.0F;
#pragma unroll
  for (int i = 0; i < kHeads / 4; ++i) {
    const int head = Softmax<kFp8, kHeads>::head_of(lane, i);
    if (head >= part.heads) continue;
    const std::int64_t row = part.batch * arguments.heads + part.first_head + head;
    float weights = 0;
#pragma unroll
    for (int warp = 0; warp < Size<kFp8, kHeads>::kScorers * kGroupWarps; ++warp)
      weights += of_warps[warp * kHeads + head];
    float of[kTiles][2];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      of[tile][0] = output[tile][i / 2 * 4 + i % 2];
      of[tile][1] = output[tile][i / 2 * 4 + 2 + i % 2];
    }
    write_columns<kFp8, kHeads, kTiles>(
        lane, of, scale / weights, static_cast<__nv_bfloat16*>(arguments.output) + row * kValueDim,
        arguments.splits == 1 ? nullptr
                              : arguments.sums + (row * arguments.splits + part.split) * kValueDim);
  }
}

// Writes the statistics of a part, from the lanes that together have every head once.
template <bool kFp8, int kHeads>
__device__ void write_statistics(const MlaDecodeArguments& arguments,
                                 const Part& part,
                                 const Lane& lane,
                                 const float* of_warps,
                                 const float (&exponents)[kHeads / 4]) {
  if (arguments.splits == 1 || lane.group != 0 || lane.warp != 0 || lane.row != 0) return;
#pragma unroll
  for (int i = 0; i < kHeads / 4; ++i) {
    const int head = Softmax<kFp8, kHeads>::head_of(lane, i);
    if (head >= part.heads) continue;
    const std::int64_t row = part.batch * arguments.heads + part.first_head + head;
    float weights = 0;
#pragma unroll
    for (int warp = 0; warp < Size<kFp8, kHeads>::kScorers * kGroupWarps; ++warp)
      weights += of_warps[warp * kHeads + head];
    reinterpret_cast<float2*>(arguments.statistics)[row * arguments.splits + part.split] = {
        exponents[i], weights};
  }
}

// What all threads of a block begin with. One thread loads tiles.
template <bool kFp8, int kHeads, class ItsTiles>
__device__ void begin_block(const MlaDecodeArguments& arguments,
                            const Part& part,
                            const ItsTiles& tiles,
                            std::uint32_t base,
                            bool is_loader) {
  using Its = Size<kFp8, kHeads>;
  if (is_loader) {
    tiles.make_barriers();
    for (int n = 0; n < Its::kStages; ++n)
      tiles.begin(n);
  }
  load_query<kFp8, kHeads>(arguments, part, base + Its::kQuery);
  publish_writes();
  __syncthreads();
  let_later_kernels_begin();
}

__device__ float score_scale(float of_keys) {
  return 1.4426950408889634F * rsqrtf(static_cast<float>(kHeadDim)) * of_keys;
}

template <int kHeads>
__global__ void __launch_bounds__(Size<false, kHeads>::kThreads, 1)
    decode_bfloat16_latents(const __grid_constant__ MlaDecodeArguments arguments,
                            const __grid_constant__ MlaCacheMaps maps) {
  using Its = Size<false, kHeads>;
  extern __shared__ __align__(1024) char shared[];
  const std::uint32_t base = shared_address(shared);
  const Part part = part_of(arguments);
  const Lane lane;
  const Tiles<false, kHeads> tiles(arguments, maps, part, base);
  const bool is_loader = threadIdx.x == 0;
  begin_block<false, kHeads>(arguments, part, tiles, base, is_loader);

  const std::uint32_t weights = base + Its::kWeights;
  auto* factors = reinterpret_cast<float*>(shared + Its::kFactors);
  float output[Its::kOutputTiles][kHeads / 2] = {};
  Softmax<false, kHeads> softmax(shared, 0, score_scale(1), static_cast<int>(arguments.keys));
  for (int n = 0; n < tiles.count(); ++n) {
    tiles.await(n);
    float scores[kHeads / 2];
    multiply_bfloat16_keys<kHeads>(
        tiles.at(n), base + Its::kQuery, [] {}, scores);
    const bool changes = softmax.weigh(lane, n, tiles.first_key(n), scores, factors);
    store_weights<false, kHeads>(lane, weights, scores);
    publish_writes();
    join_threads(kWeightsMeet, Its::kThreads);
    if (changes) scale_output<false, kHeads>(lane, factors, output);
    multiply_bfloat16_values<kHeads>(lane, tiles.at(n), weights, output);
    tiles.end(n);
    if (is_loader) tiles.begin(n + Its::kStages);
    __syncwarp();
  }
  float exponents[kHeads / 4];
  softmax.finish(lane, tiles.count(), exponents);
  const auto* of_warps = reinterpret_cast<const float*>(shared + Its::kOfWarps);
  write_statistics<false, kHeads>(arguments, part, lane, of_warps, exponents);
  write_output<false, kHeads>(arguments, part, lane, of_warps, output);
  join_with_others<false, kHeads>(arguments, part, shared);
}

// The same with 64 heads: a warp group for scores and weights, two for halves of the output, and
// one that loads.
__global__ void __launch_bounds__(Size<false, 64>::kThreads, 1)
    decode_bfloat16_latents_of_many_heads(const __grid_constant__ MlaDecodeArguments arguments,
                                          const __grid_constant__ MlaCacheMaps maps) {
  using Its = Size<false, 64>;
  extern __shared__ __align__(1024) char shared[];
  const std::uint32_t base = shared_address(shared);
  const Part part = part_of(arguments);
  const Lane lane;
  const HalvedTiles tiles(arguments, maps, part, shared);
  const bool is_loader = threadIdx.x == Its::kGroups * kGroupThreads;
  begin_block<false, 64>(arguments, part, tiles, base, is_loader);

  const auto* of_warps = reinterpret_cast<const float*>(shared + Its::kOfWarps);
  if (lane.group == Its::kGroups) {
    give_registers<32>();
    for (int n = Its::kStages; is_loader && n < tiles.count(); ++n)
      tiles.begin(n);
    __syncwarp();
    __syncthreads();
  } else if (lane.group == 0) {
    give_registers<112>();
    Softmax<false, 64> softmax(shared, 0, score_scale(1), static_cast<int>(arguments.keys));
    for (int n = 0; n < tiles.count(); ++n) {
      tiles.await(n, 0);
      float scores[32];
      multiply_bfloat16_keys<64>(
          tiles.at(n), base + Its::kQuery, [&] { tiles.await(n, 1); }, scores);
      const bool changes = softmax.weigh(lane, n, tiles.first_key(n), scores, tiles.factors(n));
      // The group has met since it read the columns that weights replace.
      store_weights<false, 64>(lane, tiles.weights(n), scores);
      if (lane.warp == 0 && lane.index == 0) tiles.flag(n) = changes ? 1 : 0;
      tiles.give_weights(n);
    }
    float exponents[16];
    softmax.finish(lane, tiles.count(), exponents);
    write_statistics<false, 64>(arguments, part, lane, of_warps, exponents);
    __syncthreads();
  } else {
    take_registers<184>();
    const int half = lane.group - Its::kFirstOutput;
    float output[Its::kOutputTiles][32] = {};
    for (int n = 0; n < tiles.count(); ++n) {
      tiles.await_weights(n);
      if (holds_for_any(tiles.flag(n) != 0))
        scale_output<false, 64>(lane, tiles.factors(n), output);
      tiles.await(n, half);
      multiply_bfloat16_values<64>(lane, tiles.at(n), tiles.weights(n), output);
      tiles.end(n, half);
    }
    __syncthreads();
    write_output<false, 64>(arguments, part, lane, of_warps, output);
    join_with_others<false, 64>(arguments, part, shared);
  }
}

// The two buffers of weights between warp groups, and their factors.
template <int kHeads>
class WeightBuffers {
 public:
  using Its = Size<true, kHeads>;

  __device__ WeightBuffers(char* shared, std::uint32_t base) : shared_(shared), base_(base) {}

  __device__ void make_barriers() const {
    for (int n = 0; n < Its::kWeightBuffers; ++n) {
      make_barrier(full(n), kGroupThreads);
      make_barrier(empty(n), (Its::kGroups - Its::kScorers) * kGroupWarps);
    }
  }

  [[nodiscard]] __device__ std::uint32_t at(int n) const {
    return base_ + Its::kWeights + n % Its::kWeightBuffers * Its::kWeightBytes;
  }

  [[nodiscard]] __device__ float* factors(int n) const {
    return reinterpret_cast<float*>(shared_ + Its::kFactors) + n % Its::kWeightBuffers * kHeads;
  }

  // The flag tells whether the output so far is to be multiplied by the factors.
  [[nodiscard]] __device__ int& flag(int n) const {
    return reinterpret_cast<int*>(shared_ + Its::kFlags)[n % Its::kWeightBuffers];
  }

  __device__ void await_empty(int n) const {
    if (n >= Its::kWeightBuffers) wait_for_phase(empty(n), (n / Its::kWeightBuffers - 1) % 2);
  }

  __device__ void end_writing(int n) const {
    publish_writes();
    arrive(full(n));
  }

  __device__ void await_full(int n) const { wait_for_phase(full(n), n / Its::kWeightBuffers % 2); }

  __device__ void end_reading(int n) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty(n));
  }

 private:
  [[nodiscard]] __device__ std::uint32_t full(int n) const {
    return base_ + Its::kWeightCounters + n % Its::kWeightBuffers * 8;
  }

  [[nodiscard]] __device__ std::uint32_t empty(int n) const {
    return full(n) + Its::kWeightBuffers * 8;
  }

  char* shared_;
  std::uint32_t base_;
};

// Registers of a thread. With 64 heads, the output needs more than its share of them; with 32, the
// compiler spills fewer where it is told the number.
template <int kHeads>
__device__ void share_registers(bool has_output) {
  constexpr int kWithOutput = kHeads == 64 ? 184 : 128;
  constexpr int kOthers = kHeads == 64 ? 136 : 128;
  if constexpr (kHeads >= 32) {
    if (has_output) {
      take_registers<kWithOutput>();
    } else {
      give_registers<kOthers>();
    }
  }
}

template <int kHeads>
__global__ void __launch_bounds__(Size<true, kHeads>::kThreads, 1)
    decode_fp8_latents(const __grid_constant__ MlaDecodeArguments arguments,
                       const __grid_constant__ MlaCacheMaps maps) {
  using Its = Size<true, kHeads>;
  extern __shared__ __align__(1024) char shared[];
  const std::uint32_t base = shared_address(shared);
  const Part part = part_of(arguments);
  const Lane lane;
  const Tiles<true, kHeads> tiles(arguments, maps, part, base);
  const WeightBuffers<kHeads> weights(shared, base);
  const bool is_loader = threadIdx.x == Its::kThreads - kGroupThreads;
  if (is_loader) weights.make_barriers();
  begin_block<true, kHeads>(arguments, part, tiles, base, is_loader);

  const auto* of_warps = reinterpret_cast<const float*>(shared + Its::kOfWarps);
  if (lane.group < Its::kScorers) {
    share_registers<kHeads>(false);
    const int scorer = Its::kScorers == 1 ? 0 : lane.group;
    Softmax<true, kHeads> softmax(shared, scorer, score_scale(arguments.scale[0]),
                                  static_cast<int>(arguments.keys));
    for (int n = scorer; n < tiles.count(); n += Its::kScorers) {
      tiles.await(n);
      float scores[kHeads / 2];
      multiply_fp8_keys<kHeads>(lane, tiles.at(n), base + Its::kQuery, scores);
      tiles.end(n);
      weights.await_empty(n);
      const bool changes = softmax.weigh(lane, n, tiles.first_key(n), scores, weights.factors(n));
      store_weights<true, kHeads>(lane, weights.at(n), scores);
      if (lane.warp == 0 && lane.index == 0) weights.flag(n) = changes ? 1 : 0;
      weights.end_writing(n);
    }
    float exponents[kHeads / 4];
    softmax.finish(lane, tiles.count(), exponents);
    write_statistics<true, kHeads>(arguments, part, lane, of_warps, exponents);
    __syncthreads();
  } else {
    share_registers<kHeads>(true);
    float output[Its::kOutputTiles][kHeads / 2] = {};
    for (int n = 0; n < tiles.count(); ++n) {
      weights.await_full(n);
      if (holds_for_any(weights.flag(n) != 0))
        scale_output<true, kHeads>(lane, weights.factors(n), output);
      tiles.await(n);
      multiply_fp8_values<kHeads>(lane, tiles.at(n), weights.at(n), output);
      weights.end_reading(n);
      tiles.end(n);
      if (is_loader) tiles.begin(n + Its::kStages);
      __syncwarp();
    }
    __syncthreads();
    write_output<true, kHeads>(arguments, part, lane, of_warps, output);
    join_with_others<true, kHeads>(arguments, part, shared);
  }
}

constexpr int kJoinColumns = kValueDim / 4;  // threads, with four columns each

// A block joins the parts of one head of one sequence. `kJoiners` threads share four columns, so
// that each has some of the parts.
template <int kJoiners>
__global__ void __launch_bounds__(kJoinColumns* kJoiners)
    join_latent_parts(const __grid_constant__ MlaDecodeArguments arguments) {
  __shared__ float factors[kJoinColumns * kJoiners];  // as many as there may be parts
  __shared__ float4 parts[kJoiners][kJoinColumns];
  wait_for_earlier_kernels();
  const auto thread = static_cast<int>(threadIdx.x);
  const auto splits = static_cast<int>(arguments.splits);
  const std::int64_t row = blockIdx.x;
  const float2 mine =
      thread < splits ? reinterpret_cast<const float2*>(arguments.statistics)[row * splits + thread]
                      : float2{-INFINITY, 0};
  const float largest = block_reduce(mine.x, Maximum{});
  const float factor = power_of_two_of(mine.x - largest);
  if (thread < splits) factors[thread] = factor;
  const float weights = block_reduce(mine.y * factor, Sum{});  // also waits for all factors
  const int column = thread % kJoinColumns;
  const auto* sums =
      reinterpret_cast<const float4*>(arguments.sums) + row * splits * kJoinColumns + column;
  float4 sum{};
  visit_parts<kJoiners>(thread / kJoinColumns, splits, [&](int split, bool is_there) {
    const float4 part = is_there ? sums[split * kJoinColumns] : float4{};
    const float part_factor = is_there ? factors[split] : 0;
    sum.x += part.x * part_factor;
    sum.y += part.y * part_factor;
    sum.z += part.z * part_factor;
    sum.w += part.w * part_factor;
  });
  parts[thread / kJoinColumns][column] = sum;
  __syncthreads();
  if (thread >= kJoinColumns) return;
#pragma unroll
  for (int other = 1; other < kJoiners; ++other) {
    const float4 part = parts[other][column];
    sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
  }
  const float scale =
      (arguments.cache == model::DataType::kFp8 ? arguments.scale[0] : 1.0F) / weights;
  static_cast<uint2*>(arguments.output)[row * kJoinColumns + column] = {
      packed<false>(sum.x * scale, sum.y * scale), packed<false>(sum.z * scale, sum.w * scale)};
}

// The second kernel's blocks may begin when those of the first one end.
template <int kJoiners>
cudaError_t launch_join(const MlaDecodeArguments& arguments, cudaStream_t stream) {
  return launch_after(join_latent_parts<kJoiners>,
                      {.blocks = static_cast<unsigned>(arguments.batch * arguments.heads),
                       .threads = kJoinColumns * kJoiners},
                      stream, arguments);
}

constexpr int kManyJoiners = 4;
static_assert(kMostSplits <= kJoinColumns * kManyJoiners);

template <bool kFp8, int kHeads>
struct MlaKernels {
  using Its = Size<kFp8, kHeads>;

  static auto kernel() {
    if constexpr (kFp8) {
      return decode_fp8_latents<kHeads>;
    } else if constexpr (Its::kHasLoader) {
      return decode_bfloat16_latents_of_many_heads;
    } else {
      return decode_bfloat16_latents<kHeads>;
    }
  }

  static cudaError_t prepare() {
    return cudaFuncSetAttribute(kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                Its::kSharedBytes);
  }

  static cudaError_t launch(const MlaDecodeArguments& arguments,
                            const MlaCacheMaps& maps,
                            cudaStream_t stream) {
    const auto blocks =
        static_cast<unsigned>(arguments.batch * head_blocks(arguments.heads) * arguments.splits);
    kernel()<<<blocks, Its::kThreads, Its::kSharedBytes, stream>>>(arguments, maps);
    const cudaError_t launched = cudaGetLastError();
    if (launched != cudaSuccess || arguments.splits == 1 || arguments.counters != nullptr)
      return launched;
    constexpr std::int64_t kFewParts = 8;
    return arguments.splits <= kFewParts ? launch_join<1>(arguments, stream)
                                         : launch_join<kManyJoiners>(arguments, stream);
  }
};

template <bool kFp8, class Use>
cudaError_t with_mla_heads(std::int64_t heads, const Use& use) {
  switch (heads_of_block(heads)) {
    case 8:
      return use(MlaKernels<kFp8, 8>{});
    case 16:
      return use(MlaKernels<kFp8, 16>{});
    case 32:
      return use(MlaKernels<kFp8, 32>{});
    default:
      return use(MlaKernels<kFp8, 64>{});
  }
}

// Calls `use` with the kernels for this cache and these heads, and returns its result.
template <class Use>
cudaError_t with_mla_kernels(const MlaDecodeArguments& arguments, const Use& use) {
  if (arguments.cache == model::DataType::kFp8) return with_mla_heads<true>(arguments.heads, use);
  return with_mla_heads<false>(arguments.heads, use);
}

struct MapBox {
  cuuint32_t columns = 0;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
};

cudaError_t make_map(const void* cache,
                     std::int64_t rows,
                     model::DataType type,
                     const MapBox& box,
                     CUtensorMap* map) {
  if (encode_tensor_map() == nullptr) return cudaErrorNotSupported;
  const bool is_fp8 = type == model::DataType::kFp8;
  const cuuint64_t sizes[2] = {kHeadDim, static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes[1] = {static_cast<cuuint64_t>(kHeadDim) * (is_fp8 ? 1 : 2)};
  const cuuint32_t lengths[2] = {box.columns, kTileKeys};
  const cuuint32_t steps[2] = {1, 1};
  const CUresult made = encode_tensor_map()(
      map, is_fp8 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
      const_cast<void*>(cache), sizes, row_bytes, lengths, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      box.swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return made == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t map_mla_cache(const void* cache,
                          std::int64_t rows,
                          model::DataType type,
                          MlaCacheMaps* maps) {
  if (type != model::DataType::kFp8) {
    return make_map(cache, rows, type, {.columns = 64}, &maps->latents);
  }
  const cudaError_t made = make_map(cache, rows, type, {.columns = 128}, &maps->latents);
  if (made != cudaSuccess) return made;
  return make_map(cache, rows, type, {.columns = 64, .swizzle = CU_TENSOR_MAP_SWIZZLE_64B},
                  &maps->rotated);
}

cudaError_t prepare_mla_decode(const MlaDecodeArguments& arguments) {
  return with_mla_kernels(arguments, [](const auto& kernels) { return kernels.prepare(); });
}

cudaError_t mla_decode(const MlaDecodeArguments& arguments,
                       const MlaCacheMaps& maps,
                       cudaStream_t stream) {
  return with_mla_kernels(
      arguments, [&](const auto& kernels) { return kernels.launch(arguments, maps, stream); });
}

}  // namespace assay::collect
