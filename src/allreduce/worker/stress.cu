#include <algorithm>
#include <random>

#include "allreduce/worker/reference.cuh"
#include "allreduce/worker/stress.h"

namespace assay::allreduce {
namespace {

constexpr std::uint32_t kPatternWord = 0xABABABABU;

__device__ Problem in_turn(Problem problem, const std::uint64_t* turn) {
  problem.seed += *turn * 0x100000;
  return problem;
}

template <class T>
__device__ void fill_with(const Problem& problem,
                          std::uint32_t stream,
                          void* to,
                          std::int64_t count) {
  if (to == nullptr) return;
  for_elements(count, [&](std::int64_t i) {
    static_cast<T*>(to)[i] = random_value<T>(problem, stream, static_cast<std::uint64_t>(i));
  });
}

__device__ void cover(void* output, std::size_t bytes) {
  if (output == nullptr) return;
  for_elements(static_cast<std::int64_t>(bytes / 4),
               [&](std::int64_t i) { static_cast<std::uint32_t*>(output)[i] = kPatternWord; });
}

template <class T>
__global__ void fill_all(Problem problem,
                         Buffers buffers,
                         OutputBytes bytes,
                         const std::uint64_t* turn) {
  problem = in_turn(problem, turn);
  const std::int64_t count = problem.cell.num_tokens * problem.cell.hidden_size;
  const bool gathers = problem.variant.operation == Operation::kAllGather;
  fill_with<T>(problem, static_cast<std::uint32_t>(problem.rank), buffers.input,
               gathers ? count / problem.cell.world_size : count);
  fill_with<T>(problem, static_cast<std::uint32_t>(Stream::kResidual), buffers.residual_in, count);
  fill_with<T>(problem, static_cast<std::uint32_t>(Stream::kGamma), buffers.gamma,
               problem.cell.hidden_size);
  cover(buffers.output, bytes.output);
  cover(buffers.residual_out, bytes.message);
  cover(buffers.quantized, bytes.quantized);
  cover(buffers.scale_out, bytes.scale_out);
  if (buffers.scale != nullptr && blockIdx.x == 0 && threadIdx.x == 0)
    *buffers.scale = scale_of(problem.cell.fusion);
}

template <class T>
__global__ void check_all(Problem problem,
                          Buffers buffers,
                          OutputBytes bytes,
                          const std::uint64_t* turn,
                          Findings* findings) {
  problem = in_turn(problem, turn);
  check_call<T>(problem, Summation::kFloat32, buffers, findings);
  if (problem.variant.operation == Operation::kReduceScatter) return;  // other rows on each rank
  std::uint64_t sum = 0;
  const auto add = [&](const void* output, std::size_t output_size, std::uint64_t salt) {
    if (output == nullptr) return;
    sum += checksum_part(static_cast<const std::uint32_t*>(output),
                         static_cast<std::int64_t>(output_size / 4), problem.seed + salt);
  };
  add(buffers.output, bytes.output, 1);
  add(buffers.residual_out, bytes.message, 2);
  add(buffers.quantized, bytes.quantized, 3);
  add(buffers.scale_out, bytes.scale_out, 4);
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(&findings->checksum, static_cast<unsigned long long>(sum));
}

__global__ void count_turn(std::uint64_t* turn) {
  ++*turn;
}

constexpr std::int64_t kMostBytes = 128 * 1024;  // of most messages; a few have 16 times as many

std::int64_t tokens_for(const MixedCall& call, std::mt19937_64& random) {
  const std::int64_t most_bytes = random() % 16 == 0 ? 16 * kMostBytes : kMostBytes;
  const std::int64_t row_bytes = call.cell.hidden_size * bytes_of(call.cell.data_type);
  const std::int64_t most = std::max<std::int64_t>(1, most_bytes / row_bytes);
  const auto tokens = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(most));
  if (call.variant.operation == Operation::kAllReduce) return tokens;
  return (tokens + call.cell.world_size - 1) / call.cell.world_size * call.cell.world_size;
}

Variant variant_for(Fusion fusion, std::mt19937_64& random) {
  Variant variant;
  if (fusion == Fusion::kNone) {
    variant.operation = static_cast<Operation>(random() % 3);
    return variant;
  }
  variant.weight_bias = random() % 2 == 0 ? 0.0F : 1.0F;
  variant.has_residual = random() % 4 != 0;
  variant.keeps_normalized = random() % 2 == 0;
  const auto layout = static_cast<int>(random() % 3);
  if (fusion == Fusion::kResidualRmsNormQuantFp8)
    variant.scale_layout = static_cast<ScaleLayout>(layout);
  if (fusion == Fusion::kResidualRmsNormQuantNvfp4)
    variant.scale_layout = static_cast<ScaleLayout>(layout == 0 ? 0 : layout + 2);
  return variant;
}

}  // namespace

std::vector<MixedCall> mixed_calls(int world_size, std::uint64_t seed, int count) {
  const std::vector<Strategy>& own = own_strategies();
  constexpr std::int64_t kHiddenSizes[] = {128, 256, 512, 640, 1024, 2048, 2944, 4096, 7168, 8192};
  constexpr DataType kTypes[] = {DataType::kBfloat16, DataType::kBfloat16, DataType::kFloat16,
                                 DataType::kFloat32};
  std::mt19937_64 random(seed);
  std::vector<MixedCall> calls(static_cast<std::size_t>(count));
  for (MixedCall& call : calls) {
    call.cell.world_size = world_size;
    call.cell.data_type = kTypes[random() % std::size(kTypes)];
    call.cell.fusion = static_cast<Fusion>(random() % kFusionNames.size());
    call.cell.hidden_size = kHiddenSizes[random() % std::size(kHiddenSizes)];
    call.variant = variant_for(call.cell.fusion, random);
    call.strategy = call.variant.operation == Operation::kAllReduce ? own[random() % own.size()]
                                                                    : Strategy::kTwoshotPush;
    call.cell.num_tokens = tokens_for(call, random);
  }
  return calls;
}

cudaError_t fill_in_turn(const Problem& problem,
                         const Buffers& buffers,
                         const std::uint64_t* turn,
                         cudaStream_t stream) {
  with_type(problem.cell.data_type, [&](auto zero) {
    fill_all<decltype(zero)>
        <<<blocks_for(problem.cell.num_tokens * problem.cell.hidden_size), kThreads, 0, stream>>>(
            problem, buffers, output_bytes(problem.cell, problem.variant), turn);
  });
  return cudaGetLastError();
}

cudaError_t check_in_turn(const Problem& problem,
                          const Buffers& buffers,
                          const std::uint64_t* turn,
                          Findings* findings,
                          cudaStream_t stream) {
  with_type(problem.cell.data_type, [&](auto zero) {
    check_all<decltype(zero)><<<blocks_for(problem.cell), kThreads, 0, stream>>>(
        problem, buffers, output_bytes(problem.cell, problem.variant), turn, findings);
  });
  return cudaGetLastError();
}

cudaError_t next_turn(std::uint64_t* turn, cudaStream_t stream) {
  count_turn<<<1, 1, 0, stream>>>(turn);
  return cudaGetLastError();
}

}  // namespace assay::allreduce
