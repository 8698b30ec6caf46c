#include <cuda_bf16.h>

#include <type_traits>

#include "collect/cuda/attention_decode_kernel.h"
#include "collect/cuda/attention_decode_tile.h"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {
namespace {

using namespace decode;

constexpr int kThreads = kWarps * kLanes;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;
constexpr int kJoiners = 4;  // threads for each column of an output

// What a block of this head size has in shared memory: for each warp tiles on their way, each
// lane's part of keys and values in a place of its own, so that no lane waits for another.
template <int kHeadDim>
struct Size {
  static constexpr int kBlocks = kHeadDim > 128 ? 2 : (kHeadDim > 64 ? 3 : 4);  // at a time
  static constexpr int kStages = kHeadDim > 192 ? 3 : 4;
  static constexpr int kKeyChunks = kHeadDim / kKeyChunk;
  static constexpr int kValueBytes = value_bytes(kHeadDim);
  using Bytes = std::conditional_t<kValueBytes == 16, uint4, uint2>;
  static constexpr int kValueChunks = kHeadDim / (8 * kValueBytes);
  static constexpr int kStageBytes = 2 * kTileKeys * kHeadDim;  // keys, then values
  static constexpr int kSharedBytes = kWarps * kStages * kStageBytes;
  // Used again for the warps' sums.
  static_assert(kWarps * kTileRows * (kHeadDim + 2) * 4 <= kSharedBytes);
};

// What a block does: some query heads of a head of keys, some of the keys.
struct Part {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t first_head = 0;
  int rows = 0;  // query heads, at most 16
  int split = 0;
  VisibleKeys visible;
  TileRange tiles;
};

// Blocks of the same keys are neighbours, so that the later find them in the L2 cache.
__device__ Part part_of(const DecodeArguments& with) {
  const AttentionSpec& spec = with.spec;
  const std::int64_t group = spec.heads / spec.kv_heads;
  const std::int64_t row_tiles = ceil_div(group, kTileRows);
  const std::int64_t row_tile = blockIdx.x % row_tiles;
  const std::int64_t split = blockIdx.x / row_tiles % with.splits;
  const std::int64_t at = blockIdx.x / row_tiles / with.splits;
  const std::int64_t rows_left = group - row_tile * kTileRows;
  const VisibleKeys visible = visible_keys(spec, 0);
  return {.batch = at / spec.kv_heads,
          .kv_head = at % spec.kv_heads,
          .first_head = at % spec.kv_heads * group + row_tile * kTileRows,
          .rows = static_cast<int>(rows_left < kTileRows ? rows_left : kTileRows),
          .split = static_cast<int>(split),
          .visible = visible,
          .tiles = tiles_of_part(visible.begin, visible.end, split, with.splits)};
}

template <int kBytes>
__device__ void copy_async(char* to, const char* from) {
  const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(place), "l"(from)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8;" ::"r"(place), "l"(from)
                 : "memory");
  }
}

__device__ void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until at most the last `kLeft` groups of copies are under way.
template <int kLeft>
__device__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// A warp's tiles on their way from the cache to shared memory.
template <int kHeadDim>
class Tiles {
 public:
  using Its = Size<kHeadDim>;

  __device__ Tiles(const DecodeArguments& with, const Part& part, char* shared)
      : with_(with), part_(part), shared_(shared), lane_(static_cast<int>(threadIdx.x) % kLanes) {
    const std::int64_t first = part.tiles.first + threadIdx.x / kLanes;
    first_ = static_cast<int>(first);
    count_ =
        first < part.tiles.last ? static_cast<int>(ceil_div(part.tiles.last - first, kWarps)) : 0;
  }

  [[nodiscard]] __device__ int count() const { return count_; }

  [[nodiscard]] __device__ int first_key(int n) const { return (first_ + n * kWarps) * kTileKeys; }

  // Begins the copies of tile `n` of this warp; called for 0, 1, 2, ..., past the last too.
  __device__ void begin(int n) {
    if (n % kLanes == 0) look_up_pages(n);
    if (n < count_) copy(n);
    end_copies();
  }

  // The lane's 16 bytes of a key. What waits is the lane's own: no barrier is needed.
  [[nodiscard]] __device__ uint4 keys(int n, int half, int chunk) const {
    return *reinterpret_cast<const uint4*>(key_place(n, half, chunk));
  }

  // The lane's bytes of a value.
  [[nodiscard]] __device__ typename Its::Bytes values(int n, int i, int chunk) const {
    return *reinterpret_cast<const typename Its::Bytes*>(value_place(n, i, chunk));
  }

 private:
  [[nodiscard]] __device__ char* stage(int n) const {
    return shared_ + n % Its::kStages * Its::kStageBytes;
  }

  [[nodiscard]] __device__ char* key_place(int n, int half, int chunk) const {
    return stage(n) + ((half * Its::kKeyChunks + chunk) * kLanes + lane_) * 16;
  }

  [[nodiscard]] __device__ char* value_place(int n, int i, int chunk) const {
    return stage(n) + kTileKeys * kHeadDim +
           ((i * Its::kValueChunks + chunk) * kLanes + lane_) * Its::kValueBytes;
  }

  // Of the next 32 tiles, one for each lane.
  __device__ void look_up_pages(int n) {
    if (with_.pages == nullptr || n + lane_ >= count_) return;
    const int page = first_key(n + lane_) / static_cast<int>(with_.spec.page_size);
    page_ = with_.pages[part_.batch * with_.layout.pages_per_sequence + page];
  }

  __device__ void copy(int n) {
    const int key = first_key(n);
    std::int64_t block = part_.batch;
    int row = key;
    if (with_.pages != nullptr) {
      block = __shfl_sync(kAllLanes, page_, n % kLanes);
      row = key % static_cast<int>(with_.spec.page_size);
    }
    // Past the end the last key is read again; its weight will be 0.
    const int last = static_cast<int>(part_.visible.end) - 1 - key;
    const AttentionStrides& key_strides = with_.layout.keys;
    const AttentionStrides& value_strides = with_.layout.values;
    const char* keys = static_cast<const char*>(with_.keys) + block * key_strides[0] +
                       part_.kv_head * key_strides[1] + row * key_strides[2];
    const char* values = static_cast<const char*>(with_.values) + block * value_strides[0] +
                         part_.kv_head * value_strides[1] + row * value_strides[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const char* from = keys + min(loaded_key(lane_, half), last) * key_strides[2];
#pragma unroll
      for (int chunk = 0; chunk < Its::kKeyChunks; ++chunk)
        copy_async<16>(key_place(n, half, chunk), from + loaded_key_column(lane_, chunk));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const char* from = values + min(loaded_value(lane_, i), last) * value_strides[2];
#pragma unroll
      for (int chunk = 0; chunk < Its::kValueChunks; ++chunk) {
        copy_async<Its::kValueBytes>(value_place(n, i, chunk),
                                     from + loaded_value_column(lane_, chunk, kHeadDim));
      }
    }
  }

  const DecodeArguments& with_;
  const Part& part_;
  char* shared_;
  int lane_;
  int first_ = 0;
  int count_ = 0;
  std::int32_t page_ = 0;
};

__device__ std::uint32_t as_bfloat16(std::uint32_t bytes) {
  const std::uint32_t tiny = tiny_bfloat16(bytes);
  const std::uint32_t factor = kTwoTo120;
  const __nv_bfloat162 product = __hmul2(reinterpret_cast<const __nv_bfloat162&>(tiny),
                                         reinterpret_cast<const __nv_bfloat162&>(factor));
  return reinterpret_cast<const std::uint32_t&>(product);
}

__device__ std::uint32_t bfloat16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

// The same byte of two keys' values.
template <class Bytes>
__device__ std::uint32_t column_of(const Bytes& first, const Bytes& second, int byte) {
  const int word = byte / 4;
  const unsigned of_both = 0x4400U + static_cast<unsigned>(byte % 4) * 0x1111U;
  return as_bfloat16(__byte_perm(reinterpret_cast<const std::uint32_t*>(&first)[word],
                                 reinterpret_cast<const std::uint32_t*>(&second)[word], of_both));
}

// to [16, 8] += a [16, 16] b [16, 8]
__device__ void multiply(float (&to)[4],
                         const std::uint32_t (&a)[4],
                         std::uint32_t b_low,
                         std::uint32_t b_high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

// The four lanes that share a row.
template <class Combine>
__device__ float over_row(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(kAllLanes, value, 1));
  return combine(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// A lane's part of a warp's attention: of rows lane / 4 and, in the second places, 8 rows below.
template <int kHeadDim>
class WarpAttention {
 public:
  using Its = Size<kHeadDim>;

  __device__ WarpAttention(const DecodeArguments& with, const Part& part)
      : visible_(part.visible),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        scale_(1.4426950408889634F * rsqrtf(static_cast<float>(kHeadDim)) * with.scales[0]) {
    load_query(with, part, 0);
    load_query(with, part, 1);
  }

  __device__ void add(const Tiles<kHeadDim>& tiles, int n) {
    float scores[2][4] = {};
    multiply_keys(tiles, n, scores);
    mask(tiles.first_key(n), scores);
    const float largest[2] = {larger_score(scores, 0), larger_score(scores, 1)};
    scale_down(largest);
    weigh(scores);
    multiply_values(tiles, n, scores);
  }

  // Sums of the block's rows [16, columns] and their statistics [16, 2].
  __device__ void write(float* sums, float* statistics) const {
#pragma unroll
    for (int tile = 0; tile < kHeadDim / 8; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[row(i / 2) * kHeadDim + output_column(lane_, tile, i, kHeadDim)] = output_[tile][i];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weights = over_row(weights_[half], Plus{});
      if (lane_ % 4 == 0) {
        statistics[row(half) * 2] = largest_[half];
        statistics[row(half) * 2 + 1] = weights;
      }
    }
  }

 private:
  [[nodiscard]] __device__ int row(int half) const {
    return half * 8 + lane_ / 4;
  }

  // Rows that there are not are 0.
  __device__ void load_query(const DecodeArguments& with, const Part& part, int half) {
    const bool exists = row(half) < part.rows;
    const auto* from = static_cast<const __nv_bfloat16*>(with.query) +
                       part.batch * with.layout.query[0] +
                       (part.first_head + row(half)) * with.layout.query[1];
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      const int column = loaded_key_column(lane_, step / 4) + step % 4 * 4;
      const uint2 four = exists ? *reinterpret_cast<const uint2*>(from + column) : uint2{0, 0};
      query_[step][half] = four.x;
      query_[step][2 + half] = four.y;
    }
  }

  __device__ void multiply_keys(const Tiles<kHeadDim>& tiles, int n, float (&scores)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int chunk = 0; chunk < Its::kKeyChunks; ++chunk) {
        const uint4 loaded = tiles.keys(n, half, chunk);
        const std::uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          multiply(scores[half], query_[chunk * 4 + word],
                   as_bfloat16(__byte_perm(words[word], 0, 0x1100)),
                   as_bfloat16(__byte_perm(words[word], 0, 0x3322)));
        }
      }
    }
  }

  // Also scales them, so that weights are powers of 2.
  __device__ void mask(int first_key, float (&scores)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first_key + score_key(lane_, half, i);
        const bool seen = key >= visible_.begin && key < visible_.end;
        scores[half][i] = seen ? scores[half][i] * scale_ : -INFINITY;
      }
    }
  }

  // Not -infinity: each tile has a key that is seen.
  [[nodiscard]] __device__ float larger_score(const float (&scores)[2][4], int half) const {
    float largest = largest_[half];
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i)
      largest = fmaxf(largest, fmaxf(scores[0][i], scores[1][i]));
    return over_row(largest, Larger{});
  }

  // To the new largest scores, if they are new.
  __device__ void scale_down(const float (&largest)[2]) {
    const bool is_new = largest[0] > largest_[0] || largest[1] > largest_[1];
    if (!__any_sync(kAllLanes, is_new)) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = exp2f(largest_[half] - largest[half]);
      largest_[half] = largest[half];
      weights_[half] *= factor;
#pragma unroll
      for (int tile = 0; tile < kHeadDim / 8; ++tile) {
        output_[tile][2 * half] *= factor;
        output_[tile][2 * half + 1] *= factor;
      }
    }
  }

  __device__ void weigh(float (&scores)[2][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[half][i] = exp2f(scores[half][i] - largest_[i / 2]);
        weights_[i / 2] += scores[half][i];
      }
    }
  }

  __device__ void multiply_values(const Tiles<kHeadDim>& tiles,
                                  int n,
                                  const float (&weights)[2][4]) {
    const std::uint32_t a[4] = {
        bfloat16_pair(weights[0][0], weights[0][1]), bfloat16_pair(weights[0][2], weights[0][3]),
        bfloat16_pair(weights[1][0], weights[1][1]), bfloat16_pair(weights[1][2], weights[1][3])};
#pragma unroll
    for (int chunk = 0; chunk < Its::kValueChunks; ++chunk) {
      typename Its::Bytes loaded[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        loaded[i] = tiles.values(n, i, chunk);
#pragma unroll
      for (int byte = 0; byte < Its::kValueBytes; ++byte) {
        multiply(output_[chunk * Its::kValueBytes + byte], a, column_of(loaded[0], loaded[1], byte),
                 column_of(loaded[2], loaded[3], byte));
      }
    }
  }

  const VisibleKeys visible_;
  int lane_;
  float scale_;
  std::uint32_t query_[kHeadDim / 16][4];
  float output_[kHeadDim / 8][4] = {};
  float largest_[2] = {-INFINITY, -INFINITY};
  float weights_[2] = {};
};

// Joins the warps' sums.
template <int kHeadDim>
__device__ void finish(const DecodeArguments& with,
                       const Part& part,
                       const float* sums,
                       const float* statistics) {
  for (int i = static_cast<int>(threadIdx.x); i < part.rows * kHeadDim; i += kThreads) {
    const int row = i / kHeadDim;
    const int column = i % kHeadDim;
    float largest = -INFINITY;
    for (int warp = 0; warp < kWarps; ++warp)
      largest = fmaxf(largest, statistics[(warp * kTileRows + row) * 2]);
    float sum = 0;
    float weights = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      const int at = warp * kTileRows + row;
      const float factor = exp2f(statistics[at * 2] - largest);
      sum += sums[at * kHeadDim + column] * factor;
      weights += statistics[at * 2 + 1] * factor;
    }
    const std::int64_t head = part.batch * with.spec.heads + part.first_head + row;
    if (with.splits == 1) {
      static_cast<__nv_bfloat16*>(with.output)[head * kHeadDim + column] =
          __float2bfloat16(sum / weights * with.scales[1]);
      continue;
    }
    const std::int64_t at = head * with.splits + part.split;
    with.sums[at * kHeadDim + column] = sum;
    if (column != 0) continue;
    with.statistics[at * 2] = largest;
    with.statistics[at * 2 + 1] = weights;
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, Size<kHeadDim>::kBlocks)
    decode_part(const __grid_constant__ DecodeArguments with) {
  using Its = Size<kHeadDim>;
  extern __shared__ __align__(16) char shared[];
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  const Part part = part_of(with);
  Tiles<kHeadDim> tiles(with, part, shared + warp * Its::kStages * Its::kStageBytes);
  for (int n = 0; n < Its::kStages - 1; ++n)
    tiles.begin(n);
  WarpAttention<kHeadDim> attention(with, part);
  for (int n = 0; n < tiles.count(); ++n) {
    await_copies<Its::kStages - 2>();
    tiles.begin(n + Its::kStages - 1);  // where tile n - 1 was
    attention.add(tiles, n);
  }
  await_copies<0>();
  __syncthreads();  // no warp reads tiles any more
  auto* sums = reinterpret_cast<float*>(shared);
  float* statistics = sums + kWarps * kTileRows * kHeadDim;
  attention.write(sums + warp * kTileRows * kHeadDim, statistics + warp * kTileRows * 2);
  __syncthreads();
  finish<kHeadDim>(with, part, sums, statistics);
}

// A block for each output.
template <int kHeadDim>
__global__ void __launch_bounds__(kHeadDim* kJoiners)
    join_parts(const __grid_constant__ DecodeArguments with) {
  constexpr int kJoinThreads = kHeadDim * kJoiners;
  __shared__ float factors[kMostSplits];
  __shared__ float parts[kJoinThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kHeadDim;
  const int splits = static_cast<int>(with.splits);
  const std::int64_t output = blockIdx.x;
  const float* statistics = with.statistics + output * splits * 2;
  const float* sums = with.sums + output * splits * kHeadDim;
  float largest = -INFINITY;
  for (int split = thread; split < splits; split += kJoinThreads)
    largest = fmaxf(largest, statistics[split * 2]);
  largest = block_reduce(largest, Larger{});
  float weights = 0;
  for (int split = thread; split < splits; split += kJoinThreads) {
    factors[split] = exp2f(statistics[split * 2] - largest);
    weights += statistics[split * 2 + 1] * factors[split];
  }
  weights = block_reduce(weights, Plus{});  // all factors are there, too
  float sum = 0;
#pragma unroll 8
  for (int split = thread / kHeadDim; split < splits; split += kJoiners)
    sum += sums[split * kHeadDim + column] * factors[split];
  parts[thread] = sum;
  __syncthreads();
  if (thread >= kHeadDim) return;
  for (int other = 1; other < kJoiners; ++other)
    sum += parts[other * kHeadDim + column];
  static_cast<__nv_bfloat16*>(with.output)[output * kHeadDim + column] =
      __float2bfloat16(sum / weights * with.scales[1]);
}

template <int kHeadDim>
cudaError_t prepare(int* blocks_at_a_time) {
  constexpr int kBytes = Size<kHeadDim>::kSharedBytes;
  const cudaError_t allowed = cudaFuncSetAttribute(
      decode_part<kHeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (allowed != cudaSuccess) return allowed;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks_at_a_time, decode_part<kHeadDim>,
                                                       kThreads, kBytes);
}

template <int kHeadDim>
cudaError_t launch(const DecodeArguments& with, cudaStream_t stream) {
  const AttentionSpec& spec = with.spec;
  const std::int64_t row_tiles = ceil_div(spec.heads / spec.kv_heads, kTileRows);
  const auto blocks = static_cast<unsigned>(spec.batch * spec.kv_heads * with.splits * row_tiles);
  decode_part<kHeadDim><<<blocks, kThreads, Size<kHeadDim>::kSharedBytes, stream>>>(with);
  if (with.splits == 1) return cudaGetLastError();
  const auto outputs = static_cast<unsigned>(spec.batch * spec.heads);
  join_parts<kHeadDim><<<outputs, kHeadDim * kJoiners, 0, stream>>>(with);
  return cudaGetLastError();
}

}  // namespace

cudaError_t prepare_decode(std::int64_t head_dim, int* blocks_at_a_time) {
  switch (head_dim) {
    case 64:
      return prepare<64>(blocks_at_a_time);
    case 128:
      return prepare<128>(blocks_at_a_time);
    case 192:
      return prepare<192>(blocks_at_a_time);
    case 256:
      return prepare<256>(blocks_at_a_time);
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t decode_attention(const DecodeArguments& arguments, cudaStream_t stream) {
  switch (arguments.spec.head_dim) {
    case 64:
      return launch<64>(arguments, stream);
    case 128:
      return launch<128>(arguments, stream);
    case 192:
      return launch<192>(arguments, stream);
    case 256:
      return launch<256>(arguments, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace assay::collect
