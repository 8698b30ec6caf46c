// The causal convolution of each channel over its last tokens, with SiLU. The memory bandwidth
// limits it: a thread has eight channels, and walks over the tokens with the last inputs in
// registers.
#include <algorithm>

#include "collect/cuda/delta_net_kernels.h"
#include "collect/cuda/vectors.cuh"

namespace assay::collect {
namespace {

constexpr int kConvolutionThreads = 128;
constexpr std::int64_t kMostRun = 32;  // tokens of a thread

using Channels = Vector<__nv_bfloat16>;
constexpr int kWide = Channels::kSize;

// x / (1 + exp(-x)) with one instruction for the transcendental part; its error of 2^-11 is below
// the spacing of bfloat16.
__device__ float fast_silu(float x) {
  float tanh_half = 0;
  asm("tanh.approx.f32 %0, %1;" : "=f"(tanh_half) : "f"(0.5F * x));
  return 0.5F * x * (1.0F + tanh_half);
}

// The weights of eight channels, and the last inputs.
template <int kTaps>
struct Taps {
  float weights[kTaps][kWide];
  float last[kTaps - 1][kWide];

  __device__ void load_weights(const void* from, std::int64_t vector) {
    const auto* all = static_cast<const __nv_bfloat16*>(from) + vector * kWide * kTaps;
    __nv_bfloat16 loaded[kTaps * kWide];
#pragma unroll
    for (int i = 0; i < kTaps; ++i)
      reinterpret_cast<Channels*>(loaded)[i] = load_vector(all, i);
#pragma unroll
    for (int i = 0; i < kTaps * kWide; ++i)
      weights[i % kTaps][i / kTaps] = as_float(loaded[i]);
  }

  __device__ void set_last(int tap, const Channels& input) {
#pragma unroll
    for (int c = 0; c < kWide; ++c)
      last[tap][c] = as_float(input.values[c]);
  }

  [[nodiscard]] __device__ Channels last_of(int tap) const {
    Channels made;
#pragma unroll
    for (int c = 0; c < kWide; ++c)
      made.values[c] = __float2bfloat16(last[tap][c]);
    return made;
  }

  __device__ Channels next(const Channels& input) {
    Channels output;
#pragma unroll
    for (int c = 0; c < kWide; ++c) {
      const float newest = as_float(input.values[c]);
      float sum = weights[kTaps - 1][c] * newest;
#pragma unroll
      for (int tap = 0; tap < kTaps - 1; ++tap)
        sum += weights[tap][c] * last[tap][c];
      output.values[c] = __float2bfloat16(fast_silu(sum));
#pragma unroll
      for (int tap = 0; tap + 1 < kTaps - 1; ++tap)
        last[tap][c] = last[tap + 1][c];
      last[kTaps - 2][c] = newest;
    }
    return output;
  }
};

__device__ Channels no_channels() {
  const uint4 zero{0, 0, 0, 0};
  return reinterpret_cast<const Channels&>(zero);
}

template <int kTaps>
__global__ void __launch_bounds__(kConvolutionThreads)
    convolve_runs(DeltaNetArguments arguments, std::int64_t vectors, std::int64_t run) {
  const std::int64_t vector = blockIdx.x * std::int64_t{kConvolutionThreads} + threadIdx.x;
  if (vector >= vectors) return;
  const std::int64_t length = arguments.spec.length;
  const std::int64_t begin = blockIdx.y * run;
  const std::int64_t end = min(begin + run, length);
  const std::int64_t request = blockIdx.z;
  const auto* input =
      static_cast<const __nv_bfloat16*>(arguments.input) + request * length * vectors * kWide;
  auto* output = static_cast<__nv_bfloat16*>(arguments.output) + request * length * vectors * kWide;
  const auto at = [&](std::int64_t token) {
    return token < 0 ? no_channels() : load_vector(input, token * vectors + vector);
  };
  Taps<kTaps> taps;
  taps.load_weights(arguments.weight, vector);
#pragma unroll
  for (int i = 0; i < kTaps - 1; ++i)
    taps.set_last(i, at(begin - (kTaps - 1) + i));
  // The next inputs are on their way while these are multiplied.
  constexpr int kAhead = 4;
  Channels next[kAhead];
  const auto load = [&](std::int64_t token) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      next[i] = token + i < end ? at(token + i) : no_channels();
  };
  load(begin);
  for (std::int64_t token = begin; token < end; token += kAhead) {
    Channels loaded[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      loaded[i] = next[i];
    load(token + kAhead);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (token + i < end)
        store_vector(output, (token + i) * vectors + vector, taps.next(loaded[i]));
    }
  }
  if (end != length) return;
  auto* window =
      static_cast<__nv_bfloat16*>(arguments.window) + request * (kTaps - 1) * vectors * kWide;
#pragma unroll
  for (int i = 0; i < kTaps - 1; ++i)
    store_vector(window, i * vectors + vector, taps.last_of(i));
}

template <int kTaps>
__global__ void __launch_bounds__(kConvolutionThreads)
    convolve_one(DeltaNetArguments arguments, std::int64_t vectors, std::int64_t all) {
  const std::int64_t at = blockIdx.x * std::int64_t{kConvolutionThreads} + threadIdx.x;
  if (at >= all) return;
  const std::int64_t request = at / vectors;
  const std::int64_t vector = at % vectors;
  const auto* input = static_cast<const __nv_bfloat16*>(arguments.input);
  auto* window =
      static_cast<__nv_bfloat16*>(arguments.window) + request * (kTaps - 1) * vectors * kWide;
  Taps<kTaps> taps;
  const Channels token = load_vector(input, at);
#pragma unroll
  for (int i = 0; i < kTaps - 1; ++i)
    taps.set_last(i, load_vector(window, i * vectors + vector));
  taps.load_weights(arguments.weight, vector);
  store_vector(static_cast<__nv_bfloat16*>(arguments.output), at, taps.next(token));
#pragma unroll
  for (int i = 0; i < kTaps - 1; ++i)
    store_vector(window, i * vectors + vector, taps.last_of(i));
}

unsigned convolution_blocks(std::int64_t vectors) {
  return static_cast<unsigned>((vectors + kConvolutionThreads - 1) / kConvolutionThreads);
}

// Long runs read few inputs twice; short ones keep all multiprocessors busy.
std::int64_t run_of(const DeltaNetSpec& spec, std::int64_t vectors) {
  constexpr std::int64_t kEnoughThreads = 132 * 1024;
  std::int64_t run = kMostRun;
  while (run > 1 && spec.batch * vectors * ((spec.length + run - 1) / run) < kEnoughThreads)
    run /= 2;
  return run;
}

template <int kTaps>
cudaError_t launch_runs(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const std::int64_t vectors = channels_of(arguments.spec) / kWide;
  const std::int64_t run = run_of(arguments.spec, vectors);
  const dim3 blocks(convolution_blocks(vectors),
                    static_cast<unsigned>((arguments.spec.length + run - 1) / run),
                    static_cast<unsigned>(arguments.spec.batch));
  convolve_runs<kTaps><<<blocks, kConvolutionThreads, 0, stream>>>(arguments, vectors, run);
  return cudaGetLastError();
}

template <int kTaps>
cudaError_t launch_one(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const std::int64_t vectors = channels_of(arguments.spec) / kWide;
  const std::int64_t all = vectors * arguments.spec.batch;
  convolve_one<kTaps>
      <<<convolution_blocks(all), kConvolutionThreads, 0, stream>>>(arguments, vectors, all);
  return cudaGetLastError();
}

}  // namespace

cudaError_t convolve_prompt(const DeltaNetArguments& arguments, cudaStream_t stream) {
  switch (arguments.spec.taps) {
    case 2:
      return launch_runs<2>(arguments, stream);
    case 3:
      return launch_runs<3>(arguments, stream);
    case 4:
      return launch_runs<4>(arguments, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t convolve_token(const DeltaNetArguments& arguments, cudaStream_t stream) {
  switch (arguments.spec.taps) {
    case 2:
      return launch_one<2>(arguments, stream);
    case 3:
      return launch_one<3>(arguments, stream);
    case 4:
      return launch_one<4>(arguments, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace assay::collect
