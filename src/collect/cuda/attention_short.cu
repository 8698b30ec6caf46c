// Attention over at most 16 keys. The scores of 16 rows are two products of tensor cores, the
// softmax stays in a warp's registers, and nothing goes through shared memory. As in the decoding
// kernel, the order of a product's summands and columns is chosen so that a lane's numbers lie side
// by side: it reads 16 bytes at a time, and writes 32.
#include <cuda_bf16.h>

#include <cstdint>

#include "collect/cuda/attention_short.h"

namespace assay::collect {
namespace {

constexpr int kShortWarps = 4;  // of a block
constexpr int kShortRows = 16;
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

// Rows of a warp: queries of one sequence and one head of keys.
struct ShortTile {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  int first_row = 0;
};

struct ShortRow {
  bool exists = false;
  int query = 0;
  std::int64_t head = 0;
};

__device__ ShortRow short_row(const AttentionSpec& spec, const ShortTile& tile, int row) {
  const auto group = static_cast<int>(spec.heads / spec.kv_heads);
  const int at = tile.first_row + row;
  return {.exists = at < static_cast<int>(spec.query_length) * group,
          .query = at / group,
          .head = tile.kv_head * group + at % group};
}

__device__ void add_short_product(float (&to)[4],
                                  const std::uint32_t (&left)[4],
                                  std::uint32_t low,
                                  std::uint32_t high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(low), "r"(high));
}

__device__ std::uint32_t bfloat16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

// The scores of a lane: [8 keys each][rows lane / 4 and 8 below, two keys of each].
using ShortScores = float[2][4];

template <int kHeadDim>
__device__ void short_scores(const ShortArguments& with,
                             const ShortTile& tile,
                             const ShortRow (&rows)[2],
                             ShortScores& scores) {
  constexpr int kChunks = kHeadDim / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const AttentionLayout& layout = with.layout;
  const int last = static_cast<int>(with.spec.kv_length) - 1;
  uint4 queries[2][kChunks];
  uint4 keys[2][kChunks];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto* query = static_cast<const __nv_bfloat16*>(with.query) +
                        tile.batch * layout.query[0] + rows[half].head * layout.query[1] +
                        rows[half].query * layout.query[2] + lane % 4 * 8;
    const auto* key = static_cast<const __nv_bfloat16*>(with.keys) + tile.batch * layout.keys[0] +
                      tile.kv_head * layout.keys[1] +
                      min(lane / 4 + half * 8, last) * layout.keys[2] + lane % 4 * 8;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      queries[half][chunk] =
          rows[half].exists ? *reinterpret_cast<const uint4*>(query + chunk * 32) : uint4{};
      keys[half][chunk] = *reinterpret_cast<const uint4*>(key + chunk * 32);
    }
  }
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const uint4 upper = queries[0][chunk];
    const uint4 lower = queries[1][chunk];
    const std::uint32_t first[4] = {upper.x, lower.x, upper.y, lower.y};
    const std::uint32_t second[4] = {upper.z, lower.z, upper.w, lower.w};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      add_short_product(scores[half], first, keys[half][chunk].x, keys[half][chunk].y);
      add_short_product(scores[half], second, keys[half][chunk].z, keys[half][chunk].w);
    }
  }
}

// Turns scores into weights. A query sees at least its own key.
template <int kHeadDim>
__device__ void short_softmax(const AttentionSpec& spec,
                              const ShortRow (&rows)[2],
                              ShortScores& scores) {
  const float scale = 1.4426950408889634F * rsqrtf(static_cast<float>(kHeadDim));
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const VisibleKeys visible = visible_keys(spec, rows[row].exists ? rows[row].query : 0);
    float largest = -INFINITY;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = i / 2 * 8 + lane % 4 * 2 + i % 2;
      float& score = scores[i / 2][row * 2 + i % 2];
      if (key < visible.begin || key >= visible.end) score = -INFINITY;
      largest = fmaxf(largest, score);
    }
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 2));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[i / 2][row * 2 + i % 2];
      score = exp2f((score - largest) * scale);
      sum += score;
    }
    sum += __shfl_xor_sync(kWholeWarp, sum, 1);
    sum += __shfl_xor_sync(kWholeWarp, sum, 2);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scores[i / 2][row * 2 + i % 2] /= sum;
  }
}

// Writes 16 columns of a row, which are the lane's results of eight products.
__device__ void write_short_row(__nv_bfloat16* to, const float (&output)[8][4], int row) {
  uint4 words[2];
  auto* of = reinterpret_cast<std::uint32_t*>(words);
#pragma unroll
  for (int word = 0; word < 8; ++word) {
    const int column = row * 2 + word / 4;
    of[word] = bfloat16_pair(output[word % 4 * 2][column], output[word % 4 * 2 + 1][column]);
  }
  reinterpret_cast<uint4*>(to)[0] = words[0];
  reinterpret_cast<uint4*>(to)[1] = words[1];
}

template <int kValueDim>
__device__ void short_output(const ShortArguments& with,
                             const ShortTile& tile,
                             const ShortRow (&rows)[2],
                             const ShortScores& weights) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const AttentionLayout& layout = with.layout;
  const int last = static_cast<int>(with.spec.kv_length) - 1;
  const std::uint32_t left[4] = {
      bfloat16_pair(weights[0][0], weights[0][1]), bfloat16_pair(weights[0][2], weights[0][3]),
      bfloat16_pair(weights[1][0], weights[1][1]), bfloat16_pair(weights[1][2], weights[1][3])};
  const auto* values = static_cast<const __nv_bfloat16*>(with.values) +
                       tile.batch * layout.values[0] + tile.kv_head * layout.values[1];
#pragma unroll
  for (int chunk = 0; chunk < kValueDim / 64; ++chunk) {
    uint4 of[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = min(i / 2 * 8 + lane % 4 * 2 + i % 2, last);
      of[i] = *reinterpret_cast<const uint4*>(values + key * layout.values[2] + chunk * 64 +
                                              lane / 4 * 8);
    }
    float output[8][4] = {};
#pragma unroll
    for (int column = 0; column < 8; ++column) {
      const unsigned selector = column % 2 == 0 ? 0x5410U : 0x7632U;
      const auto word = [&](int i) {
        return reinterpret_cast<const std::uint32_t*>(&of[i])[column / 2];
      };
      add_short_product(output[column], left, __byte_perm(word(0), word(1), selector),
                        __byte_perm(word(2), word(3), selector));
    }
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if (!rows[row].exists) continue;
      auto* to = static_cast<__nv_bfloat16*>(with.output) + tile.batch * layout.output[0] +
                 rows[row].head * layout.output[1] + rows[row].query * layout.output[2] +
                 chunk * 64 + lane % 4 * 16;
      write_short_row(to, output, row);
    }
  }
}

template <int kHeadDim, int kValueDim>
__global__ void __launch_bounds__(kShortWarps * 32)
    attend_short(const __grid_constant__ ShortArguments with, std::int64_t tiles, int row_tiles) {
  const std::int64_t at =
      std::int64_t{blockIdx.x} * kShortWarps + static_cast<int>(threadIdx.x) / 32;
  if (at >= tiles) return;
  const std::int64_t group = at / row_tiles;
  const ShortTile tile{.batch = group / with.spec.kv_heads,
                       .kv_head = group % with.spec.kv_heads,
                       .first_row = static_cast<int>(at % row_tiles) * kShortRows};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const ShortRow rows[2] = {short_row(with.spec, tile, lane / 4),
                            short_row(with.spec, tile, lane / 4 + 8)};
  ShortScores scores = {};
  short_scores<kHeadDim>(with, tile, rows, scores);
  short_softmax<kHeadDim>(with.spec, rows, scores);
  short_output<kValueDim>(with, tile, rows, scores);
}

template <int kHeadDim, int kValueDim>
cudaError_t launch_short(const ShortArguments& arguments, cudaStream_t stream) {
  const AttentionSpec& spec = arguments.spec;
  const std::int64_t rows = spec.query_length * (spec.heads / spec.kv_heads);
  const auto row_tiles = static_cast<int>((rows + kShortRows - 1) / kShortRows);
  const std::int64_t tiles = spec.batch * spec.kv_heads * row_tiles;
  const auto blocks = static_cast<unsigned>((tiles + kShortWarps - 1) / kShortWarps);
  attend_short<kHeadDim, kValueDim>
      <<<blocks, kShortWarps * 32, 0, stream>>>(arguments, tiles, row_tiles);
  return cudaGetLastError();
}

}  // namespace

cudaError_t short_attention(const ShortArguments& arguments, cudaStream_t stream) {
  const AttentionSpec& spec = arguments.spec;
  if (!has_short_kernel(spec.head_dim, spec.value_dim)) return cudaErrorInvalidValue;
  if (spec.value_dim < spec.head_dim) return launch_short<192, 128>(arguments, stream);
  switch (spec.head_dim) {
    case 64:
      return launch_short<64, 64>(arguments, stream);
    case 128:
      return launch_short<128, 128>(arguments, stream);
    case 192:
      return launch_short<192, 192>(arguments, stream);
    default:
      return launch_short<256, 256>(arguments, stream);
  }
}

}  // namespace assay::collect
