#include "allreduce/worker/reference.cuh"

namespace assay::allreduce {
namespace {

constexpr unsigned char kPattern = 0xAB;
constexpr std::uint64_t kResidualSalt = 2;

template <class T>
__global__ void fill_values(Problem problem, std::uint32_t stream, T* to, std::int64_t count) {
  for_elements(count, [&](std::int64_t i) {
    to[i] = random_value<T>(problem, stream, static_cast<std::uint64_t>(i));
  });
}

__global__ void set_scale(float* scale, float value) {
  *scale = value;
}

template <class T>
__global__ void compare_call(Problem problem,
                             Summation summation,
                             Buffers buffers,
                             Findings* findings) {
  check_call<T>(problem, summation, buffers, findings);
}

__global__ void add_checksum(const std::uint32_t* words,
                             std::int64_t count,
                             std::uint64_t salt,
                             unsigned long long* checksum) {
  unsigned long long sum = checksum_part(words, count, salt);
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(checksum, sum);
}

__global__ void count_canaries(const unsigned char* behind, Findings* findings) {
  if (threadIdx.x < kCanaryBytes && behind[threadIdx.x] != kPattern)
    atomicAdd(&findings->canaries, 1ULL);
}

__global__ void reset(Findings* findings) {
  *findings = {};
}

void check_output(const void* output,
                  std::size_t bytes,
                  std::uint64_t salt,
                  Findings* findings,
                  cudaStream_t stream) {
  if (output == nullptr) return;
  const auto words = static_cast<std::int64_t>(bytes / 4);
  add_checksum<<<blocks_for(words), kThreads, 0, stream>>>(
      static_cast<const std::uint32_t*>(output), words, salt,
      salt == kResidualSalt ? &findings->residual_checksum : &findings->checksum);
  count_canaries<<<1, kThreads, 0, stream>>>(static_cast<const unsigned char*>(output) + bytes,
                                             findings);
}

}  // namespace

OutputBytes output_bytes(const Cell& cell, const Variant& variant) {
  OutputBytes bytes;
  bytes.message = static_cast<std::size_t>(cell.size_bytes());
  bytes.output = variant.operation == Operation::kReduceScatter
                     ? bytes.message / static_cast<std::size_t>(cell.world_size)
                     : bytes.message;
  bytes.gamma = static_cast<std::size_t>(cell.hidden_size * bytes_of(cell.data_type));
  const auto elements = static_cast<std::size_t>(cell.hidden_size * cell.num_tokens);
  if (cell.fusion == Fusion::kResidualRmsNormQuantFp8) {
    bytes.quantized = elements;
    if (variant.scale_layout == ScaleLayout::kPerToken)
      bytes.scale_out = static_cast<std::size_t>(cell.num_tokens) * sizeof(float);
    if (variant.scale_layout == ScaleLayout::kPerGroup128)
      bytes.scale_out = elements / kFp8Group * sizeof(float);
  }
  if (cell.fusion == Fusion::kResidualRmsNormQuantNvfp4) {
    bytes.quantized = elements / 2;
    bytes.scale_out = static_cast<std::size_t>(
        nvfp4_scale_bytes(variant.scale_layout, cell.num_tokens, cell.hidden_size));
  }
  return bytes;
}

cudaError_t fill(const Problem& problem, const Buffers& buffers, cudaStream_t stream) {
  const Cell& cell = problem.cell;
  const std::int64_t count = cell.num_tokens * cell.hidden_size;
  with_type(cell.data_type, [&](auto zero) {
    using T = decltype(zero);
    const auto make = [&](Stream what, std::uint32_t which, void* to, std::int64_t many) {
      if (to != nullptr)
        fill_values<T><<<blocks_for(many), kThreads, 0, stream>>>(
            problem, static_cast<std::uint32_t>(what) + which, static_cast<T*>(to), many);
    };
    make(Stream::kInput, static_cast<std::uint32_t>(problem.rank), buffers.input, count);
    make(Stream::kResidual, 0, buffers.residual_in, count);
    make(Stream::kGamma, 0, buffers.gamma, cell.hidden_size);
  });
  if (buffers.scale != nullptr)
    set_scale<<<1, 1, 0, stream>>>(buffers.scale, scale_of(cell.fusion));
  const OutputBytes bytes = output_bytes(cell, problem.variant);
  const auto cover = [&](void* output, std::size_t size) {
    if (output != nullptr) cudaMemsetAsync(output, kPattern, size + kCanaryBytes, stream);
  };
  cover(buffers.output, bytes.output);
  cover(buffers.residual_out, bytes.message);
  cover(buffers.quantized, bytes.quantized);
  cover(buffers.scale_out, bytes.scale_out);
  return cudaGetLastError();
}

cudaError_t sum_up(const Cell& cell,
                   const Variant& variant,
                   const Buffers& buffers,
                   Findings* findings,
                   cudaStream_t stream) {
  const OutputBytes bytes = output_bytes(cell, variant);
  reset<<<1, 1, 0, stream>>>(findings);
  check_output(buffers.output, bytes.output, 1, findings, stream);
  check_output(buffers.residual_out, bytes.message, kResidualSalt, findings, stream);
  check_output(buffers.quantized, bytes.quantized, 3, findings, stream);
  check_output(buffers.scale_out, bytes.scale_out, 4, findings, stream);
  return cudaGetLastError();
}

cudaError_t compare(const Problem& problem,
                    Summation summation,
                    const Buffers& buffers,
                    Findings* findings,
                    cudaStream_t stream) {
  const Cell& cell = problem.cell;
  sum_up(cell, problem.variant, buffers, findings, stream);
  with_type(cell.data_type, [&](auto zero) {
    compare_call<decltype(zero)>
        <<<blocks_for(cell), kThreads, 0, stream>>>(problem, summation, buffers, findings);
  });
  return cudaGetLastError();
}

}  // namespace assay::allreduce
