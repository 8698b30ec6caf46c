// The kernels of attention: the decoding, and the softmax between two products.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "collect/cuda/attention_decode_warp.cuh"
#include "collect/cuda/attention_kernels.h"
#include "collect/cuda/join_parts.cuh"
#include "collect/cuda/launch_after.h"
#include "collect/cuda/tma.cuh"
#include "collect/cuda/vectors.cuh"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

using namespace decode;

constexpr int kThreads = kWarps * kLanes;
constexpr int kFewSplits = 12;  // that one thread for each column joins

// Joins the warps' sums.
template <int kHeadDim, int kRows>
__device__ void finish(const DecodeArguments& arguments,
                       const Part& part,
                       const float* sums,
                       const float* statistics) {
  for (int i = static_cast<int>(threadIdx.x); i < part.rows * kHeadDim; i += kThreads) {
    const int row = i / kHeadDim;
    const int column = i % kHeadDim;
    float largest = -INFINITY;
    for (int warp = 0; warp < kWarps; ++warp)
      largest = fmaxf(largest, statistics[(warp * kRows + row) * 2]);
    float sum = 0;
    float weights = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      const int at = warp * kRows + row;
      const float factor = power_of_two(statistics[at * 2] - largest);
      sum += sums[at * sum_words(kHeadDim) + sum_place(column)] * factor;
      weights += statistics[at * 2 + 1] * factor;
    }
    const std::int64_t head = part.batch * arguments.spec.heads + part.first_head + row;
    if (arguments.splits == 1) {
      static_cast<__nv_bfloat16*>(arguments.output)[head * kHeadDim + column] =
          __float2bfloat16(sum / weights * arguments.scales[1]);
      continue;
    }
    const std::int64_t at = head * arguments.splits + part.split;
    arguments.sums[at * kHeadDim + column] = sum;
    if (column != 0) continue;
    arguments.statistics[at * 2] = largest;
    arguments.statistics[at * 2 + 1] = weights;
  }
}

// The attention of a warp to its tiles of a part.
template <class Cache, class Its, int kSharers>
__device__ WarpAttention<Cache, Its> attention_of_warp(const DecodeArguments& arguments,
                                                       const Part& part,
                                                       char* shared) {
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  Tiles<Its, kSharers> tiles(arguments, part, shared + warp * Its::kStages * Its::kStageBytes);
  for (int n = 0; n < Its::kStages - 1; ++n)
    tiles.begin(n);
  WarpAttention<Cache, Its> attention(arguments, part);
  for (int n = 0; n < tiles.count(); ++n) {
    await_copies<Its::kStages - 2>();
    tiles.begin(n + Its::kStages - 1);  // in the place of tile n - 1
    attention.add(tiles, n);
  }
  await_copies<0>();
  return attention;
}

// A warp computes some query heads of one head of keys.
template <class Cache, class Its>
__global__ void __launch_bounds__(kThreads, Its::kBlocks)
    decode_by_warps(const __grid_constant__ DecodeArguments arguments) {
  extern __shared__ __align__(16) char shared[];
  constexpr int kRows = Its::kRows;
  const Part part =
      blockDim.x == kLanes ? part_of<kRows>(arguments) : part_of_warp<kRows>(arguments);
  if (part.rows == 0) return;
  attention_of_warp<Cache, Its, 1>(arguments, part, shared).write_output(arguments, part);
}

template <class Cache, class Its>
__global__ void __launch_bounds__(kThreads, Its::kBlocks)
    decode_part(const __grid_constant__ DecodeArguments arguments) {
  constexpr int kHeadDim = Its::kHeadDim;
  let_later_kernels_begin();
  extern __shared__ __align__(16) char shared[];
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  const Part part = part_of<Its::kRows>(arguments);
  const WarpAttention<Cache, Its> attention =
      attention_of_warp<Cache, Its, kWarps>(arguments, part, shared);
  __syncthreads();  // all warps have read their tiles
  auto* sums = reinterpret_cast<float*>(shared);
  float* statistics = sums + kWarps * Its::kRows * sum_words(kHeadDim);
  attention.write(part.rows, sums + warp * Its::kRows * sum_words(kHeadDim),
                  statistics + warp * Its::kRows * 2);
  __syncthreads();
  finish<kHeadDim, Its::kRows>(arguments, part, sums, statistics);
}

// A block computes one output. `kJoiners` threads for each column share the parts.
template <int kHeadDim, int kJoiners>
__global__ void __launch_bounds__(kHeadDim* kJoiners)
    join_parts(const __grid_constant__ DecodeArguments arguments) {
  constexpr int kJoinThreads = kHeadDim * kJoiners;
  __shared__ float factors[kMostSplits];
  __shared__ float parts[kJoinThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kHeadDim;
  const int splits = static_cast<int>(arguments.splits);
  const std::int64_t output = blockIdx.x;
  const float* statistics = arguments.statistics + output * splits * 2;
  const float* sums = arguments.sums + output * splits * kHeadDim;
  wait_for_earlier_kernels();
  float largest = -INFINITY;
  for (int split = thread; split < splits; split += kJoinThreads)
    largest = fmaxf(largest, statistics[split * 2]);
  largest = block_reduce(largest, Larger{});
  float weights = 0;
  for (int split = thread; split < splits; split += kJoinThreads) {
    factors[split] = power_of_two(statistics[split * 2] - largest);
    weights += statistics[split * 2 + 1] * factors[split];
  }
  weights = block_reduce(weights, Plus{});  // also waits for all factors
  float sum = 0;
  visit_parts<kJoiners>(thread / kHeadDim, splits, [&](int split, bool is_there) {
    const float part = is_there ? sums[split * kHeadDim + column] : 0;
    sum += part * (is_there ? factors[split] : 0);
  });
  parts[thread] = sum;
  __syncthreads();
  if (thread >= kHeadDim) return;
  for (int other = 1; other < kJoiners; ++other)
    sum += parts[other * kHeadDim + column];
  static_cast<__nv_bfloat16*>(arguments.output)[output * kHeadDim + column] =
      __float2bfloat16(sum / weights * arguments.scales[1]);
}

// The kernels of a head size and a number of tiles of rows.
template <class Cache, int kHeadDim, int kRowTiles>
struct Kernels {
  using Its = Size<Cache, kHeadDim, kRowTiles>;

  static cudaError_t prepare(int* blocks_at_a_time) {
    const cudaError_t allowed = cudaFuncSetAttribute(
        decode_part<Cache, Its>, cudaFuncAttributeMaxDynamicSharedMemorySize, Its::kSharedBytes);
    if (allowed != cudaSuccess) return allowed;
    const cudaError_t allowed_too =
        cudaFuncSetAttribute(decode_by_warps<Cache, Its>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, Its::kSharedBytes);
    if (allowed_too != cudaSuccess) return allowed_too;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks_at_a_time, decode_part<Cache, Its>,
                                                         kThreads, Its::kSharedBytes);
  }

  // Few warps are distributed over all multiprocessors.
  static cudaError_t launch_warps(const DecodeArguments& arguments, cudaStream_t stream) {
    constexpr std::int64_t kFewParts = 1024;
    const std::int64_t parts = warp_parts<Its::kRows>(arguments.spec);
    constexpr int kBytes = Its::kStages * Its::kStageBytes;  // of a warp
    if (parts <= kFewParts) {
      const dim3 blocks = blocks_of<Its::kRows>(arguments);
      decode_by_warps<Cache, Its><<<blocks, kLanes, kBytes, stream>>>(arguments);
    } else {
      const auto blocks = static_cast<unsigned>(ceil_div(parts, kWarps));
      decode_by_warps<Cache, Its><<<blocks, kThreads, kWarps * kBytes, stream>>>(arguments);
    }
    return cudaGetLastError();
  }

  template <int kJoiners>
  static cudaError_t launch_join(const DecodeArguments& arguments, cudaStream_t stream) {
    const auto outputs = static_cast<unsigned>(arguments.spec.batch * arguments.spec.heads);
    return launch_after(join_parts<kHeadDim, kJoiners>,
                        {.blocks = outputs, .threads = kHeadDim * kJoiners}, stream, arguments);
  }

  static cudaError_t launch(const DecodeArguments& arguments, cudaStream_t stream) {
    if (arguments.sharers == 1) return launch_warps(arguments, stream);
    const dim3 blocks = blocks_of<Its::kRows>(arguments);
    decode_part<Cache, Its><<<blocks, kThreads, Its::kSharedBytes, stream>>>(arguments);
    const cudaError_t launched = cudaGetLastError();
    if (launched != cudaSuccess || arguments.splits == 1) return launched;
    return arguments.splits <= kFewSplits ? launch_join<1>(arguments, stream)
                                          : launch_join<4>(arguments, stream);
  }
};

// Calls `use` with the kernels for these heads, and returns its result.
template <class Cache, class Use>
cudaError_t with_kernels_of(const AttentionSpec& spec, const Use& use) {
  const bool are_many = row_tiles_of_block(spec.heads / spec.kv_heads, spec.head_dim) == 2;
  switch (spec.head_dim) {
    case 64:
      return are_many ? use(Kernels<Cache, 64, 2>{}) : use(Kernels<Cache, 64, 1>{});
    case 128:
      return are_many ? use(Kernels<Cache, 128, 2>{}) : use(Kernels<Cache, 128, 1>{});
    case 192:
      return use(Kernels<Cache, 192, 1>{});
    case 256:
      return use(Kernels<Cache, 256, 1>{});
    default:
      return cudaErrorInvalidValue;
  }
}

template <class Use>
cudaError_t with_kernels(const AttentionSpec& spec, const Use& use) {
  return spec.kv_type == DataType::kFp8 ? with_kernels_of<Fp8Cache>(spec, use)
                                        : with_kernels_of<Bfloat16Cache>(spec, use);
}

constexpr int kSoftmaxThreads = 256;

__device__ float larger(float a, float b) {
  return fmaxf(a, b);
}

__device__ float sum_of(float a, float b) {
  return a + b;
}

// Combines the values of all threads of a block, and returns the result to all of them.
template <class Combine>
__device__ float over_block(float value, Combine combine) {
  __shared__ float parts[kSoftmaxThreads / kLanes];
  for (int half = kLanes / 2; half > 0; half /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, half));
  __syncthreads();  // all threads have read the parts of an earlier call
  if (threadIdx.x % kLanes == 0) parts[threadIdx.x / kLanes] = value;
  __syncthreads();
  float all = parts[0];
  for (int i = 1; i < kSoftmaxThreads / kLanes; ++i)
    all = combine(all, parts[i]);
  return all;
}

// A block works on one row, which it reads three times, the later times from the cache.
template <class T>
__global__ void softmax_rows(SoftmaxArguments arguments) {
  const AttentionSpec& spec = arguments.spec;
  const std::int64_t row = blockIdx.x;
  const VisibleKeys visible = visible_keys(spec, row / spec.heads % spec.query_length);
  const float* scores = arguments.scores + row * arguments.pitch;
  T* weights = static_cast<T*>(arguments.weights) + row * arguments.pitch;
  const float scale = 1.4426950408889634F * rsqrtf(static_cast<float>(spec.head_dim));
  float largest = -INFINITY;
  for (std::int64_t key = visible.begin + threadIdx.x; key < visible.end; key += kSoftmaxThreads)
    largest = fmaxf(largest, scores[key]);
  largest = over_block(largest, larger) * scale;
  float total = 0;
  for (std::int64_t key = visible.begin + threadIdx.x; key < visible.end; key += kSoftmaxThreads)
    total += exp2f(scores[key] * scale - largest);
  const float factor = 1 / over_block(total, sum_of);
  for (std::int64_t key = threadIdx.x; key < spec.kv_length; key += kSoftmaxThreads) {
    const bool seen = key >= visible.begin && key < visible.end;
    weights[key] = T(seen ? exp2f(scores[key] * scale - largest) * factor : 0.0F);
  }
}

}  // namespace

cudaError_t prepare_decode(const AttentionSpec& spec, int* blocks_at_a_time) {
  return with_kernels(spec, [&](const auto& kernels) { return kernels.prepare(blocks_at_a_time); });
}

cudaError_t decode_attention(const DecodeArguments& arguments, cudaStream_t stream) {
  return with_kernels(arguments.spec,
                      [&](const auto& kernels) { return kernels.launch(arguments, stream); });
}

cudaError_t attention_softmax(const SoftmaxArguments& arguments, cudaStream_t stream) {
  const AttentionSpec& spec = arguments.spec;
  const auto rows = static_cast<unsigned>(spec.batch * spec.query_length * spec.heads);
  if (spec.type == DataType::kFloat16) {
    softmax_rows<__half><<<rows, kSoftmaxThreads, 0, stream>>>(arguments);
  } else {
    softmax_rows<__nv_bfloat16><<<rows, kSoftmaxThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

}  // namespace assay::collect
