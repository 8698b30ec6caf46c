// A block of threads multiplies 128 rows of the weight with all tokens, over a part of k. The
// weight is the left operand of the tensor cores, whose least number of rows is 64, and the tokens
// are the right one, of which 8 suffice. The sum of each 128 of k is scaled and added in float32,
// because tensor cores keep about 14 bits of sums of fp8. The blocks of a cluster have the parts of
// k, and add their sums through each other's shared memory.
#include <cooperative_groups.h>
#include <cuda_bf16.h>

#include "collect/cuda/block_product.h"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;  // two warpgroups of 64 rows
constexpr int kTileRows = 128;
constexpr int kTileBytes = kTileRows * 128;
constexpr int kStages = 4;
constexpr int kPartPitch = kTileRows + 4;  // floats; no two lanes of a warp write to one bank
constexpr int kMostSplits = 16;

struct Operands {
  const char* weight = nullptr;
  const char* input = nullptr;
  __nv_bfloat16* output = nullptr;
  const float* weight_scales = nullptr;
  const float* input_scales = nullptr;
  int tokens = 1;
  int n = 1;
  int k = 1;
  int weight_pitch = 1;  // of scales
  int input_pitch = 1;
};

// A stage also has the scales of its tokens and of its weight, and is filled up to what swizzled
// tiles ask for.
template <int kTokens>
constexpr int kStageBytes = kTileBytes + kTokens * 128 + 1024;

template <int kTokens>
constexpr int kPartsBytes = kTokens* kPartPitch * 4;

template <int kTokens>
constexpr int kSharedBytes = (kStages * kStageBytes<kTokens> > kPartsBytes<kTokens>
                                  ? kStages * kStageBytes<kTokens>
                                  : kPartsBytes<kTokens>)+1024;

__device__ void copy_16(std::uint32_t to, const void* from, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

__device__ void copy_4(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from));
}

// Copies rows of 128 bytes. Chunks of 16 bytes are swizzled as the tensor cores expect it.
__device__ void copy_rows(
    std::uint32_t to, const char* from, std::int64_t pitch, int rows, int existing) {
  for (int chunk = threadIdx.x; chunk < rows * 8; chunk += kThreads) {
    const int row = chunk / 8;
    const int column = chunk % 8;
    const bool exists = row < existing;
    copy_16(to + row * 128 + ((column ^ (row % 8)) * 16),
            from + (exists ? row : 0) * pitch + column * 16, exists);
  }
}

// Describes a matrix of rows of 128 bytes in shared memory, swizzled in groups of 8 rows.
__device__ std::uint64_t description_of(std::uint32_t address) {
  constexpr std::uint64_t kGroupBytes = 1024;
  constexpr std::uint64_t kSwizzle128 = 1;
  return ((address & 0x3FFFFU) >> 4U) | (std::uint64_t{1} << 16U) | ((kGroupBytes >> 4U) << 32U) |
         (kSwizzle128 << 62U);
}

template <int kTokens>
struct Multiply;

template <>
struct Multiply<8> {
  static __device__ void run(float (&d)[4], std::uint64_t a, std::uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %5, p, 1, 1;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a), "l"(b), "r"(add));
  }
};

template <>
struct Multiply<16> {
  static __device__ void run(float (&d)[8], std::uint64_t a, std::uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "%8, %9, p, 1, 1;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "l"(a), "l"(b), "r"(add));
  }
};

template <>
struct Multiply<32> {
  static __device__ void run(float (&d)[16], std::uint64_t a, std::uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3 {%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, 1, 1;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b), "r"(add));
  }
};

template <>
struct Multiply<64> {
  static __device__ void run(float (&d)[32], std::uint64_t a, std::uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
        "%26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(add));
  }
};

template <int kTokens>
__device__ void copy_stage(const Operands& operands, std::uint32_t stage, int tile, int block) {
  const std::int64_t k = operands.k;
  const std::int64_t column = std::int64_t{block} * kScaleBlock;
  copy_rows(stage, operands.weight + std::int64_t{tile} * kTileRows * k + column, k, kTileRows,
            kTileRows);
  copy_rows(stage + kTileBytes, operands.input + column, k, kTokens, operands.tokens);
  const std::uint32_t scales = stage + kTileBytes + kTokens * 128;
  if (threadIdx.x < kTokens / 4) {
    const int token = static_cast<int>(threadIdx.x) * 4;
    const bool exists = token < operands.input_pitch;
    copy_16(
        scales + token * 4,
        operands.input_scales + std::int64_t{block} * operands.input_pitch + (exists ? token : 0),
        exists);
  }
  if (threadIdx.x == kThreads - 1)
    copy_4(scales + kTokens * 4,
           operands.weight_scales + std::int64_t{tile} * operands.weight_pitch + block);
}

template <int kTokens>
__device__ void multiply_stage(float (&sums)[kTokens / 2], const char* stage, std::uint32_t at) {
  const std::uint32_t rows = at + threadIdx.x / 128 * 64 * 128;
  const std::uint32_t tokens = at + kTileBytes;
  float part[kTokens / 2];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int step = 0; step < 4; ++step)
    Multiply<kTokens>::run(part, description_of(rows + step * 32),
                           description_of(tokens + step * 32), step);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const auto* scales = reinterpret_cast<const float*>(stage + kTileBytes + kTokens * 128);
  const float weight_scale = scales[kTokens];
#pragma unroll
  for (int group = 0; group < kTokens / 8; ++group) {
    const float2 of_tokens =
        *reinterpret_cast<const float2*>(scales + group * 8 + threadIdx.x % 4 * 2);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int first = group * 4 + half * 2;
      sums[first] += part[first] * (weight_scale * of_tokens.x);
      sums[first + 1] += part[first + 1] * (weight_scale * of_tokens.y);
    }
  }
}

// Writes the sums of this block as [tokens, rows].
template <int kTokens>
__device__ void write_sums(float* parts, const float (&sums)[kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < kTokens / 2; ++i) {
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    parts[token * kPartPitch + first_row + i / 2 % 2 * 8] = sums[i];
  }
}

template <int kTokens>
__global__ void __launch_bounds__(kThreads) block_product_kernel(Operands operands) {
  extern __shared__ char unaligned[];
  const auto cluster = cooperative_groups::this_cluster();
  const int splits = static_cast<int>(cluster.num_blocks());
  const int split = static_cast<int>(cluster.block_rank());
  const int tile = static_cast<int>(blockIdx.x) / splits;
  const int blocks = operands.k / kScaleBlock;
  const int begin = blocks * split / splits;
  const int count = blocks * (split + 1) / splits - begin;

  auto first = static_cast<std::uint32_t>(__cvta_generic_to_shared(unaligned));
  char* shared = unaligned + (1024 - first % 1024) % 1024;
  first = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));

  for (int i = 0; i < kStages - 1; ++i) {
    if (i < count) copy_stage<kTokens>(operands, first + i * kStageBytes<kTokens>, tile, begin + i);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  float sums[kTokens / 2] = {};
  for (int i = 0; i < count; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    // The tensor cores read what this thread has copied.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const int next = i + kStages - 1;
    if (next < count)
      copy_stage<kTokens>(operands, first + next % kStages * kStageBytes<kTokens>, tile,
                          begin + next);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const int offset = i % kStages * kStageBytes<kTokens>;
    multiply_stage<kTokens>(sums, shared + offset, first + offset);
  }
  __syncthreads();
  auto* parts = reinterpret_cast<float*>(shared);
  write_sums<kTokens>(parts, sums);
  cluster.sync();
  const int pairs = operands.tokens * (kTileRows / 2);
  for (int pair = split * kThreads + static_cast<int>(threadIdx.x); pair < pairs;
       pair += splits * kThreads) {
    const int token = pair / (kTileRows / 2);
    const int row = pair % (kTileRows / 2) * 2;
    float2 sum{0, 0};
    for (int other = 0; other < splits; ++other) {
      const float2 part = *reinterpret_cast<const float2*>(cluster.map_shared_rank(parts, other) +
                                                           token * kPartPitch + row);
      sum.x += part.x;
      sum.y += part.y;
    }
    *reinterpret_cast<__nv_bfloat162*>(operands.output + std::int64_t{token} * operands.n +
                                       tile * kTileRows + row) = __float22bfloat162_rn(sum);
  }
  cluster.sync();  // no block may end while others read its sums
}

template <int kTokens>
cudaError_t launch_tokens(const Operands& operands, int splits, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kTokens>;
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
  config.gridDim = dim3(static_cast<unsigned>(operands.n / kTileRows * splits));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, operands);
}

}  // namespace

bool block_product_takes(const GemmSpec& spec) {
  return spec.type == DataType::kFp8Block && spec.batch == 1 && spec.m <= kMostBlockTokens &&
         spec.n % kTileRows == 0 && spec.k % kScaleBlock == 0;
}

std::vector<int> block_product_splits(const GemmSpec& spec) {
  // Fewer blocks than half the multiprocessors, or more than a few for each, are never fastest.
  constexpr std::int64_t kFewest = 64;
  constexpr std::int64_t kMost = 1200;
  const std::int64_t tiles = spec.n / kTileRows;
  const std::int64_t blocks = spec.k / kScaleBlock;
  std::vector<int> splits;
  for (int parts = 1; parts <= kMostSplits; parts *= 2) {
    if (parts > 1 && (parts > blocks || tiles * parts > kMost)) break;
    if (tiles * parts < kFewest && parts < kMostSplits && 2 * parts <= blocks) continue;
    splits.push_back(parts);
  }
  return splits;
}

cudaError_t block_product(const GemmSpec& spec,
                          const ProductArguments& arguments,
                          int splits,
                          cudaStream_t stream) {
  const Operands operands{
      .weight = static_cast<const char*>(arguments.weight),
      .input = static_cast<const char*>(arguments.input),
      .output = static_cast<__nv_bfloat16*>(arguments.output),
      .weight_scales = arguments.weight_scales,
      .input_scales = arguments.input_scales,
      .tokens = static_cast<int>(spec.m),
      .n = static_cast<int>(spec.n),
      .k = static_cast<int>(spec.k),
      .weight_pitch = static_cast<int>(WeightScales{spec.n, spec.k}.pitch()),
      .input_pitch = static_cast<int>(InputScales{spec.m, spec.k}.pitch()),
  };
  if (spec.m <= 8) return launch_tokens<8>(operands, splits, stream);
  if (spec.m <= 16) return launch_tokens<16>(operands, splits, stream);
  if (spec.m <= 32) return launch_tokens<32>(operands, splits, stream);
  return launch_tokens<64>(operands, splits, stream);
}

}  // namespace assay::collect
