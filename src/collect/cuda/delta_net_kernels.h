// Assay's kernels of the gated delta net, and their references in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

inline constexpr std::int64_t kDeltaNetDim =
    128;  // elements of a head that the rule's kernels take
inline constexpr std::int64_t kDeltaNetChunk =
    64;  // tokens of a prompt that are multiplied at once
inline constexpr std::int64_t kLeastTaps = 2;
inline constexpr std::int64_t kMostTaps = 4;
// The products between the tokens of a chunk, which are computed before the states.
inline constexpr std::int64_t kChunkRecordBytes = 17408;

// The numbers of bfloat16 that a token has for the queries, keys and values of all heads.
inline std::int64_t channels_of(const DeltaNetSpec& spec) {
  return 2 * spec.key_heads * spec.key_dim + spec.value_heads * spec.value_dim;
}

struct DeltaNetArguments {
  DeltaNetSpec spec;
  // bfloat16 [batch, length, channels]: queries of all heads, then keys, then values. The rule
  // takes them after the convolution.
  const void* input = nullptr;
  void* output =
      nullptr;  // bfloat16 [batch, length, channels], or [batch, length, value heads, 128]

  // Only the convolution has these.
  const void* weight =
      nullptr;             // bfloat16 [channels, taps]; the last tap is that of the token itself
  void* window = nullptr;  // bfloat16 [batch, taps - 1, channels]: the last inputs

  // Only the rule has these.
  const void* alpha = nullptr;       // bfloat16 [batch, length, value heads]
  const void* beta = nullptr;        // the same
  const float* rate_log = nullptr;   // [value heads]; a token's decay is
                                     // exp(-exp(rate_log) softplus(alpha + step_bias))
  const float* step_bias = nullptr;  // [value heads]
  float* state = nullptr;   // [batch, value heads, 128, 128]: a row for each element of a key
  void* records = nullptr;  // of prompts: kChunkRecordBytes for each request, value head and chunk
};

// Prepares launches of the rule; the others need none.
cudaError_t prepare_delta_net();

cudaError_t run_delta_net(const DeltaNetArguments& arguments, cudaStream_t stream);

// The parts of run_delta_net(), of which each checks nothing.
cudaError_t convolve_prompt(const DeltaNetArguments& arguments, cudaStream_t stream);
cudaError_t convolve_token(const DeltaNetArguments& arguments, cudaStream_t stream);
cudaError_t delta_rule_prompt(const DeltaNetArguments& arguments, cudaStream_t stream);
cudaError_t delta_rule_token(const DeltaNetArguments& arguments, cudaStream_t stream);

// A check compares the arguments' outputs, and begins with the state before the launch.
struct DeltaNetCheck {
  DeltaNetArguments arguments;
  const void* window_before = nullptr;  // of the convolution's update
  const float* state_before = nullptr;  // of decoding: the states of the sampled heads
};

inline constexpr std::int64_t kCheckedHeads = 4;  // heads of requests whose states a check follows

// Copies the states of the sampled heads to `to`, [kCheckedHeads, 128, 128].
cudaError_t save_states(const DeltaNetArguments& arguments, float* to, cudaStream_t stream);

// Writes delta_net_samples() samples of the output, or of the window or state after the launch.
enum class DeltaNetResult : std::uint8_t { kOutput, kState };
std::int64_t delta_net_samples(const DeltaNetSpec& spec, DeltaNetResult result);
cudaError_t compare_delta_net(const DeltaNetCheck& check,
                              DeltaNetResult result,
                              Sample* samples,
                              cudaStream_t stream);

}  // namespace assay::collect
