// References of the gated delta net in float64: the convolution as its sum, and the delta rule
// token by token for some heads.
#include "collect/cuda/delta_net_kernels.h"
#include "collect/cuda/numbers.cuh"

namespace assay::collect {
namespace {

constexpr int kDeltaThreads = 512;
constexpr int kHeadDim = static_cast<int>(kDeltaNetDim);
constexpr int kRowParts = kDeltaThreads / kHeadDim;  // threads that share a column of a state
constexpr int kStatePitch = kHeadDim + 4;
constexpr int kTokensCompared = 2;    // of a head: the last one and another
constexpr int kStatesCompared = 256;  // elements of a head's state

// Outputs of prompts pass through bfloat16 in states, differences and updates. Those of single
// tokens are rounded once.
constexpr double kPromptTolerance = 0x1p-5;
constexpr double kTokenTolerance = 0x1p-8;

__host__ __device__ std::int64_t checked_head(const DeltaNetSpec& spec, int which) {
  const std::int64_t heads = spec.batch * spec.value_heads;
  if (which == 0) return 0;
  if (which == 1) return heads - 1;
  return static_cast<std::int64_t>(mixed_bits(static_cast<std::uint64_t>(which)) %
                                   static_cast<std::uint64_t>(heads));
}

__device__ double number(const void* from, std::int64_t at) {
  return load_number(DataType::kBfloat16, from, at);
}

__device__ double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

struct Followed {
  double state[kHeadDim][kStatePitch];
  double query[kHeadDim];
  double key[kHeadDim];
  double output[kHeadDim];
};

// The numbers of a token that all threads need.
struct TokenFactors {
  double decay;
  double rate;
  double query;  // the scale of queries
  double key;
};

class HeadFollower {
 public:
  __device__ HeadFollower(const DeltaNetCheck& check, int which, Followed& shared)
      : arguments_(check.arguments), spec_(check.arguments.spec), shared_(shared) {
    const std::int64_t head = checked_head(spec_, which);
    request_ = head / spec_.value_heads;
    head_ = head % spec_.value_heads;
    column_ = static_cast<int>(threadIdx.x) / kRowParts;
    part_ = static_cast<int>(threadIdx.x) % kRowParts;
    for (int row = part_; row < kHeadDim; row += kRowParts) {
      const std::int64_t at = (static_cast<std::int64_t>(which) * kHeadDim + row) * kHeadDim;
      shared_.state[row][column_] =
          check.state_before == nullptr ? 0.0 : check.state_before[at + column_];
    }
  }

  // Advances by a token; the output is in shared memory afterwards.
  __device__ void advance(std::int64_t token) {
    const std::int64_t at = request_ * spec_.length + token;
    const std::int64_t width = spec_.key_heads * kHeadDim;
    const std::int64_t first = at * (2 * width + spec_.value_heads * kHeadDim);
    const std::int64_t key_head = head_ / (spec_.value_heads / spec_.key_heads);
    __syncthreads();
    if (threadIdx.x < kHeadDim) {
      const std::int64_t of_head = first + key_head * kHeadDim + threadIdx.x;
      shared_.query[threadIdx.x] = number(arguments_.input, of_head);
      shared_.key[threadIdx.x] = number(arguments_.input, of_head + width);
    }
    __syncthreads();
    update(factors(at), number(arguments_.input, first + 2 * width + head_ * kHeadDim + column_));
  }

  [[nodiscard]] __device__ std::int64_t output_at(std::int64_t token, int column) const {
    return ((request_ * spec_.length + token) * spec_.value_heads + head_) * kHeadDim + column;
  }

  [[nodiscard]] __device__ std::int64_t state_at(int row, int column) const {
    return ((request_ * spec_.value_heads + head_) * kHeadDim + row) * kHeadDim + column;
  }

 private:
  __device__ static double over_parts(double value) {
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 1);
    return value + __shfl_xor_sync(0xFFFFFFFFU, value, 2);
  }

  [[nodiscard]] __device__ TokenFactors factors(std::int64_t at) const {
    double queries = 0;
    double keys = 0;
    for (int row = part_; row < kHeadDim; row += kRowParts) {
      queries += shared_.query[row] * shared_.query[row];
      keys += shared_.key[row] * shared_.key[row];
    }
    const double x = number(arguments_.alpha, at * spec_.value_heads + head_) +
                     static_cast<double>(arguments_.step_bias[head_]);
    const double rate = exp(static_cast<double>(arguments_.rate_log[head_]));
    return {.decay = exp(-rate * log1p(exp(x))),
            .rate = sigmoid(number(arguments_.beta, at * spec_.value_heads + head_)),
            .query = 1 / sqrt((over_parts(queries) + 1e-6) * kHeadDim),
            .key = 1 / sqrt(over_parts(keys) + 1e-6)};
  }

  __device__ void update(const TokenFactors& token, double value) {
    double kept = 0;
    for (int row = part_; row < kHeadDim; row += kRowParts)
      kept += shared_.key[row] * shared_.state[row][column_];
    const double change =
        token.rate * (value - token.decay * token.key * over_parts(kept)) * token.key;
    double output = 0;
    for (int row = part_; row < kHeadDim; row += kRowParts) {
      double& held = shared_.state[row][column_];
      held = token.decay * held + shared_.key[row] * change;
      output += shared_.query[row] * held;
    }
    output = over_parts(output) * token.query;
    if (part_ == 0) shared_.output[column_] = output;
  }

  DeltaNetArguments arguments_;
  DeltaNetSpec spec_;
  Followed& shared_;
  std::int64_t request_ = 0;
  std::int64_t head_ = 0;
  int column_ = 0;
  int part_ = 0;
};

__device__ std::int64_t compared_token(const DeltaNetSpec& spec, int which, int index) {
  if (index == 0) return spec.length - 1;
  const auto bits = mixed_bits(static_cast<std::uint64_t>(which) + 17);
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(spec.length));
}

__device__ double root_mean_square(const double* numbers) {
  double sum = 0;
  for (int i = 0; i < kHeadDim; ++i)
    sum += numbers[i] * numbers[i];
  return sqrt(sum / kHeadDim);
}

__device__ Sample sample_of(double value,
                            double expected,
                            double typical,
                            const DeltaNetSpec& spec) {
  const double tolerance =
      spec.phase == DeltaNetSpec::Phase::kPrompt ? kPromptTolerance : kTokenTolerance;
  return {.value = value,
          .expected = expected,
          .bound = tolerance * (typical + fabs(expected)) + 1e-9,
          .at = 0};
}

__global__ void __launch_bounds__(kDeltaThreads)
    follow_heads(DeltaNetCheck check, DeltaNetResult result, Sample* samples) {
  extern __shared__ __align__(16) unsigned char followed_memory[];
  auto& shared = *reinterpret_cast<Followed*>(followed_memory);
  const DeltaNetSpec spec = check.arguments.spec;
  const int which = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  HeadFollower follower(check, which, shared);
  for (std::int64_t token = 0; token < spec.length; ++token) {
    follower.advance(token);
    if (result != DeltaNetResult::kOutput) continue;
    for (int index = 0; index < kTokensCompared; ++index) {
      if (compared_token(spec, which, index) != token) continue;
      __syncthreads();
      if (thread >= kHeadDim) continue;
      const std::int64_t at = follower.output_at(token, thread);
      Sample& sample = samples[(which * kTokensCompared + index) * kHeadDim + thread];
      sample = sample_of(number(check.arguments.output, at), shared.output[thread],
                         root_mean_square(shared.output), spec);
      sample.at = at;
    }
  }
  if (result != DeltaNetResult::kState) return;
  __syncthreads();
  if (thread >= kStatesCompared) return;
  const auto bits = static_cast<unsigned>(mixed_bits(static_cast<std::uint64_t>(thread)) >> 32U);
  const int row = static_cast<int>(bits % kHeadDim);
  const int column = static_cast<int>(bits / kHeadDim % kHeadDim);
  const std::int64_t at = follower.state_at(row, column);
  Sample& sample = samples[which * kStatesCompared + thread];
  sample = sample_of(check.arguments.state[at], shared.state[row][column],
                     root_mean_square(shared.state[row]), spec);
  sample.at = at;
}

__global__ void copy_states(DeltaNetArguments arguments, float* to) {
  const int which = static_cast<int>(blockIdx.x);
  const float* from = arguments.state + checked_head(arguments.spec, which) * kHeadDim * kHeadDim;
  for (int i = static_cast<int>(threadIdx.x); i < kHeadDim * kHeadDim;
       i += static_cast<int>(blockDim.x))
    to[which * kHeadDim * kHeadDim + i] = from[i];
}

// The input of a token, which lies in the window of a request that decodes if it is negative.
__device__ double input_at(const DeltaNetCheck& check,
                           std::int64_t request,
                           std::int64_t token,
                           std::int64_t channel) {
  const DeltaNetSpec& spec = check.arguments.spec;
  const std::int64_t channels = (2 * spec.key_heads + spec.value_heads) * kHeadDim;
  if (token >= 0)
    return number(check.arguments.input, (request * spec.length + token) * channels + channel);
  if (check.window_before == nullptr) return 0;
  return number(check.window_before,
                ((request + 1) * (spec.taps - 1) + token) * channels + channel);
}

__global__ void convolution_samples(DeltaNetCheck check,
                                    DeltaNetResult result,
                                    std::int64_t all,
                                    std::int64_t count,
                                    Sample* samples) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const DeltaNetSpec& spec = check.arguments.spec;
  const std::int64_t channels = (2 * spec.key_heads + spec.value_heads) * kHeadDim;
  const std::int64_t at = sampled(i, all);
  const std::int64_t channel = at % channels;
  if (result == DeltaNetResult::kState) {
    const std::int64_t slot = at / channels % (spec.taps - 1);
    const double expected = input_at(check, at / channels / (spec.taps - 1),
                                     spec.length - (spec.taps - 1) + slot, channel);
    samples[i] = {
        .value = number(check.arguments.window, at), .expected = expected, .bound = 0, .at = at};
    return;
  }
  const std::int64_t token = at / channels % spec.length;
  const std::int64_t request = at / channels / spec.length;
  double sum = 0;
  double sizes = 0;
  for (std::int64_t tap = 0; tap < spec.taps; ++tap) {
    const double product = input_at(check, request, token - (spec.taps - 1) + tap, channel) *
                           number(check.arguments.weight, channel * spec.taps + tap);
    sum += product;
    sizes += fabs(product);
  }
  const double expected = sum * sigmoid(sum);
  samples[i] = {.value = number(check.arguments.output, at),
                .expected = expected,
                .bound = 0.5 * spacing_of(DataType::kBfloat16, expected) + sizes * 0x1p-10 + 1e-9,
                .at = at};
}

std::int64_t convolution_elements(const DeltaNetSpec& spec, DeltaNetResult result) {
  const std::int64_t tokens = result == DeltaNetResult::kOutput ? spec.length : spec.taps - 1;
  return spec.batch * tokens * channels_of(spec);
}

}  // namespace

cudaError_t save_states(const DeltaNetArguments& arguments, float* to, cudaStream_t stream) {
  copy_states<<<static_cast<unsigned>(kCheckedHeads), 256, 0, stream>>>(arguments, to);
  return cudaGetLastError();
}

std::int64_t delta_net_samples(const DeltaNetSpec& spec, DeltaNetResult result) {
  if (spec.part == DeltaNetSpec::Part::kConvolution)
    return samples_of(convolution_elements(spec, result));
  return kCheckedHeads *
         (result == DeltaNetResult::kOutput ? kTokensCompared * kHeadDim : kStatesCompared);
}

cudaError_t compare_delta_net(const DeltaNetCheck& check,
                              DeltaNetResult result,
                              Sample* samples,
                              cudaStream_t stream) {
  const DeltaNetSpec& spec = check.arguments.spec;
  if (spec.part == DeltaNetSpec::Part::kConvolution) {
    const std::int64_t count = delta_net_samples(spec, result);
    convolution_samples<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(
        check, result, convolution_elements(spec, result), count, samples);
    return cudaGetLastError();
  }
  const cudaError_t error = cudaFuncSetAttribute(
      follow_heads, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Followed));
  if (error != cudaSuccess) return error;
  follow_heads<<<static_cast<unsigned>(kCheckedHeads), kDeltaThreads, sizeof(Followed), stream>>>(
      check, result, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
