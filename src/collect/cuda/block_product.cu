// A block of threads multiplies 128 rows of the weight with all tokens, over a part of k. The
// weight is the left operand of the tensor cores, whose least number of rows is 64, and the tokens
// are the right one. One thread keeps the copy engine busy, and two warpgroups multiply: the sum of
// each 128 of k is scaled and added in float32, because tensor cores keep about 14 bits of sums of
// fp8. The blocks of a cluster have the parts of k, and add their sums through each other's shared
// memory.
#include <cooperative_groups.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <array>

#include "collect/cuda/block_product.h"
#include "collect/cuda/tensor_map.h"
#include "collect/cuda/tma.cuh"
#include "collect/cuda/wgmma.cuh"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kGroups = 2;  // warpgroups that multiply
constexpr int kGroupThreads = 128;
constexpr int kMultipliers = kGroups * kGroupThreads;
constexpr int kThreads = kMultipliers + 32;
constexpr int kStepBytes = 128;  // of k
constexpr int kRows = 128;       // of the weight, which have one scale for a step
constexpr int kGroupRows = kRows / kGroups;
constexpr int kSumsPitch = kRows + 4;  // floats; no two lanes of a warp write to one bank
constexpr int kLanes = 32;
constexpr int kBlocks = 2;  // of a multiprocessor

struct Operands {
  CUtensorMap weight;
  CUtensorMap input;
  __nv_bfloat16* output;
  const float* weight_scales;
  const float* input_scales;
  int tokens;
  int n;
  int k;
  int weight_pitch;  // of scales
  int input_pitch;
};

// The shared memory of a block, of which two are on a multiprocessor. A stage has the weight's
// rows, the tokens, and the tokens' scales.
template <int kTokens>
struct Layout {
  static constexpr int kTokensAt = kRows * kStepBytes;
  static constexpr int kScalesAt = kTokensAt + kTokens * kStepBytes;
  static constexpr int kStageBytes = kScalesAt + 1024;  // swizzled boxes begin at multiples of it
  static constexpr int kMostBytes = 112'000;
  static constexpr int kStages = kMostBytes / kStageBytes;
  static constexpr int kBarriersAt = kStages * kStageBytes;
  static constexpr int kSharedBytes = kBarriersAt + 2 * kStages * 8;
  // The sums take the place of the stages.
  static_assert(kTokens * kSumsPitch * 4 <= kBarriersAt);
};

// The place of a block: its rows of the weight, and its steps of 128 along k.
struct Part {
  int splits;
  int split;
  int tile;
  int begin;
  int count;

  __device__ explicit Part(int k) {
    const auto cluster = cooperative_groups::this_cluster();
    splits = static_cast<int>(cluster.num_blocks());
    split = static_cast<int>(cluster.block_rank());
    tile = static_cast<int>(blockIdx.x) / splits;
    const int steps = k / kStepBytes;
    begin = steps * split / splits;
    count = steps * (split + 1) / splits - begin;
  }
};

// Waits for the other blocks of the cluster.
__device__ void meet(const Part& part) {
  if (part.splits > 1) {
    cooperative_groups::this_cluster().sync();
  } else {
    __syncthreads();
  }
}

template <int kTokens>
struct Ring {
  using Stage = Layout<kTokens>;

  std::uint32_t shared;
  int stage = 0;
  std::uint32_t parity = 0;

  [[nodiscard]] __device__ std::uint32_t at(int offset) const {
    return shared + static_cast<std::uint32_t>(stage * Stage::kStageBytes + offset);
  }

  [[nodiscard]] __device__ std::uint32_t full() const {
    return shared + static_cast<std::uint32_t>(Stage::kBarriersAt + stage * 8);
  }

  [[nodiscard]] __device__ std::uint32_t empty() const {
    return full() + static_cast<std::uint32_t>(Stage::kStages * 8);
  }

  __device__ void advance() {
    if (++stage < Stage::kStages) return;
    stage = 0;
    parity ^= 1U;
  }
};

template <int kTokens>
__device__ void make_barriers(Ring<kTokens> ring) {
  for (; ring.parity == 0; ring.advance()) {
    make_barrier(ring.full(), 1);
    make_barrier(ring.empty(), kMultipliers / kLanes);
  }
  publish_barriers();
}

template <int kTokens>
__device__ void copy_step(const Operands& operands,
                          const Part& part,
                          int step,
                          const Ring<kTokens>& ring) {
  using Stage = Layout<kTokens>;
  const int column = step * kStepBytes;
  const auto scale_bytes = static_cast<std::uint32_t>(operands.input_pitch * 4);
  wait_for_phase(ring.empty(), ring.parity ^ 1U);
  arrive_and_expect(ring.full(), Stage::kScalesAt + scale_bytes);
  copy_box(ring.at(0), operands.weight, column, part.tile * kRows, ring.full());
  copy_box(ring.at(Stage::kTokensAt), operands.input, column, 0, ring.full());
  copy_bytes(ring.at(Stage::kScalesAt),
             operands.input_scales + std::int64_t{step} * operands.input_pitch, scale_bytes,
             ring.full());
}

// The weight's scales, of which a lane has that of one step of 32. Those of the next 32 are on
// their way.
class WeightScaleSteps {
 public:
  __device__ WeightScaleSteps(const Operands& operands, const Part& part)
      : scales_(operands.weight_scales + std::int64_t{part.tile} * operands.weight_pitch +
                part.begin),
        count_(part.count),
        now_(of_lane(0)),
        next_(of_lane(kLanes)) {}

  // Called once for each step, in their order.
  __device__ float at(int step) {
    if (step > 0 && step % kLanes == 0) {
      now_ = next_;
      next_ = of_lane(step + kLanes);
    }
    return __shfl_sync(0xFFFFFFFFU, now_, step % kLanes);
  }

 private:
  [[nodiscard]] __device__ float of_lane(int first) const {
    const int step = first + static_cast<int>(threadIdx.x) % kLanes;
    return step < count_ ? __ldg(scales_ + step) : 0;
  }

  const float* scales_;
  int count_;
  float now_;
  float next_;
};

template <int kTokens>
__device__ void add_scaled(float (&sums)[kTokens / 2],
                           const float (&products)[kTokens / 2],
                           float weight_scale,
                           const float* token_scales) {
#pragma unroll
  for (int group = 0; group < kTokens / 8; ++group) {
    const float2 of_tokens =
        *reinterpret_cast<const float2*>(token_scales + group * 8 + threadIdx.x % 4 * 2);
    const float first = weight_scale * of_tokens.x;
    const float second = weight_scale * of_tokens.y;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = group * 4 + half * 2;
      sums[at] += products[at] * first;
      sums[at + 1] += products[at + 1] * second;
    }
  }
}

template <int kTokens>
__device__ void multiply_steps(const Part& part,
                               const char* memory,
                               WeightScaleSteps& weight_scales,
                               float (&sums)[kTokens / 2]) {
  using Stage = Layout<kTokens>;
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads * kGroupRows * kStepBytes;
  Ring<kTokens> ring{shared_address(memory)};
  for (int step = 0; step < part.count; ++step, ring.advance()) {
    const float weight_scale = weight_scales.at(step);
    wait_for_phase(ring.full(), ring.parity);
    const std::uint64_t a = matrix_descriptor(ring.at(group));
    const std::uint64_t b = matrix_descriptor(ring.at(Stage::kTokensAt));
    float products[kTokens / 2];
    begin_products();
#pragma unroll
    for (int i = 0; i < kStepBytes / 32; ++i)
      product_fp8(products, a + 2 * i, b + 2 * i, i);
    commit_products();
    wait_for_products<0>();
    hold(products);
    const char* stage = memory + ring.stage * Stage::kStageBytes;
    add_scaled<kTokens>(sums, products, weight_scale,
                        reinterpret_cast<const float*>(stage + Stage::kScalesAt));
    __syncwarp();
    if (threadIdx.x % kLanes == 0) arrive(ring.empty());
  }
}

// Writes the sums of this block as [tokens, rows].
template <int kTokens>
__device__ void write_sums(float* to, const float (&sums)[kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int first_row = static_cast<int>(threadIdx.x) / kLanes * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < kTokens / 2; ++i) {
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    to[token * kSumsPitch + first_row + i / 2 % 2 * 8] = sums[i];
  }
}

// Adds four sums of all blocks of the cluster. Several loads are under way at a time, because those
// of other blocks take long.
__device__ float4 cluster_sum(float* mine, int blocks) {
  const auto cluster = cooperative_groups::this_cluster();
  constexpr int kLoads = 4;
  float4 sum{0, 0, 0, 0};
  for (int first = 0; first < blocks; first += kLoads) {
    float4 loaded[kLoads] = {};
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (first + i < blocks)
        loaded[i] = *reinterpret_cast<const float4*>(cluster.map_shared_rank(mine, first + i));
    }
#pragma unroll
    for (const float4& one : loaded) {
      sum.x += one.x;
      sum.y += one.y;
      sum.z += one.z;
      sum.w += one.w;
    }
  }
  return sum;
}

// Writes a part of the outputs of the cluster, whose blocks' sums it adds.
__device__ void write_output(const Operands& operands, const Part& part, float* sums) {
  constexpr int kFours = kRows / 4;
  const int fours = operands.tokens * kFours;
  const int end = fours * (part.split + 1) / part.splits;
  for (int at = fours * part.split / part.splits + static_cast<int>(threadIdx.x); at < end;
       at += kThreads) {
    const int token = at / kFours;
    const int row = at % kFours * 4;
    const float4 sum = cluster_sum(sums + token * kSumsPitch + row, part.splits);
    const __nv_bfloat162 pairs[2] = {__floats2bfloat162_rn(sum.x, sum.y),
                                     __floats2bfloat162_rn(sum.z, sum.w)};
    *reinterpret_cast<uint2*>(operands.output + std::int64_t{token} * operands.n +
                              part.tile * kRows + row) = reinterpret_cast<const uint2&>(pairs);
  }
}

template <int kTokens>
__global__ void __launch_bounds__(kThreads, kBlocks)
    block_product_kernel(const __grid_constant__ Operands operands) {
  extern __shared__ __align__(1024) char memory[];
  const Part part(operands.k);
  Ring<kTokens> ring{shared_address(memory)};
  const bool multiplies = threadIdx.x < kMultipliers;
  const bool copies = threadIdx.x == kMultipliers;
  // They are asked for before all the rest, behind which they would wait.
  WeightScaleSteps weight_scales(operands, part);
  int copied = 0;
  if (copies) {
    prefetch_map(operands.weight);
    prefetch_map(operands.input);
    make_barriers(ring);
    // The first stages are free: they are filled before the other threads know the barriers.
    for (; copied < min(part.count, Layout<kTokens>::kStages); ++copied, ring.advance())
      copy_step(operands, part, part.begin + copied, ring);
  }
  __syncthreads();
  float sums[kTokens / 2] = {};
  if (multiplies) multiply_steps<kTokens>(part, memory, weight_scales, sums);
  for (; copies && copied < part.count; ++copied, ring.advance())
    copy_step(operands, part, part.begin + copied, ring);
  __syncthreads();
  auto* const shared_sums = reinterpret_cast<float*>(memory);
  if (multiplies) write_sums<kTokens>(shared_sums, sums);
  meet(part);
  write_output(operands, part, shared_sums);
  if (part.splits > 1) meet(part);  // no block may end while others read its sums
}

template <int kTokens>
cudaError_t launch_tokens(const Operands& operands, int splits, cudaStream_t stream) {
  constexpr int kBytes = Layout<kTokens>::kSharedBytes;
  const auto kernel = block_product_kernel<kTokens>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(splits);
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(operands.n / kRows * splits));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = splits > 1 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, operands);
}

// A map with boxes of 128 bytes of k in `box_rows` rows. What lies outside of the matrix is zero.
cudaError_t describe_rows(
    const void* memory, std::int64_t rows, std::int64_t k, int box_rows, CUtensorMap& map) {
  if (encode_tensor_map() == nullptr) return cudaErrorNotSupported;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(k), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(k)};
  const cuuint32_t box[2] = {kStepBytes, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  const CUresult made = encode_tensor_map()(
      &map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<void*>(memory), sizes, pitch, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return made == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

int tokens_of_tile(std::int64_t m) {
  return m <= 16 ? 16 : (m <= 32 ? 32 : 64);
}

}  // namespace

bool block_product_takes(const GemmSpec& spec) {
  return spec.type == DataType::kFp8Block && spec.batch == 1 && spec.m <= kMostBlockTokens &&
         spec.n % kRows == 0 && spec.k % kScaleBlock == 0;
}

std::vector<int> block_product_splits(const GemmSpec& spec) {
  // More blocks than run at once were never faster, unless there is no choice, nor were fewer than
  // half as many as an H200 has multiprocessors.
  constexpr std::int64_t kFewest = 64;
  constexpr std::int64_t kMost = 132 * kBlocks;
  constexpr std::array kAll = {1, 2, 3, 4, 5, 6, 8, 16};
  const std::int64_t tiles = spec.n / kRows;
  const std::int64_t most = std::min<std::int64_t>(spec.k / kScaleBlock, kAll.back());
  std::vector<int> splits;
  for (const int parts : kAll) {
    if (parts > most || (parts > 1 && tiles * parts > kMost)) break;
    if (tiles * parts >= kFewest || 2 * parts > most) splits.push_back(parts);
  }
  return splits;
}

cudaError_t block_product(const GemmSpec& spec,
                          const ProductArguments& arguments,
                          int splits,
                          cudaStream_t stream) {
  Operands operands{
      .weight = {},
      .input = {},
      .output = static_cast<__nv_bfloat16*>(arguments.output),
      .weight_scales = arguments.weight_scales,
      .input_scales = arguments.input_scales,
      .tokens = static_cast<int>(spec.m),
      .n = static_cast<int>(spec.n),
      .k = static_cast<int>(spec.k),
      .weight_pitch = static_cast<int>(WeightScales{spec.n, spec.k}.pitch()),
      .input_pitch = static_cast<int>(InputScales{spec.m, spec.k}.pitch()),
  };
  const int tokens = tokens_of_tile(spec.m);
  cudaError_t error = describe_rows(arguments.weight, spec.n, spec.k, kRows, operands.weight);
  if (error == cudaSuccess)
    error = describe_rows(arguments.input, spec.m, spec.k, tokens, operands.input);
  if (error != cudaSuccess) return error;
  if (tokens == 16) return launch_tokens<16>(operands, splits, stream);
  if (tokens == 32) return launch_tokens<32>(operands, splits, stream);
  return launch_tokens<64>(operands, splits, stream);
}

}  // namespace assay::collect
