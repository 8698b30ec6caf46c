// The gated delta net, by Assay's own kernels.
#include <memory>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/delta_net_kernels.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"

namespace assay::collect {
namespace {

bool is_prompt(const DeltaNetSpec& spec) {
  return spec.phase == DeltaNetSpec::Phase::kPrompt;
}

bool is_convolution(const DeltaNetSpec& spec) {
  return spec.part == DeltaNetSpec::Part::kConvolution;
}

std::size_t size_of(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

std::int64_t state_bytes(const DeltaNetSpec& spec) {
  constexpr std::int64_t kBfloat16Bytes = 2;
  if (is_convolution(spec))
    return spec.batch * (spec.taps - 1) * channels_of(spec) * kBfloat16Bytes;
  return spec.batch * spec.value_heads * kDeltaNetDim * kDeltaNetDim *
         static_cast<std::int64_t>(sizeof(float));
}

// Returns the bytes of the state that a check must keep, because a launch overwrites it.
std::int64_t before_bytes(const DeltaNetSpec& spec) {
  if (is_prompt(spec)) return 0;
  if (is_convolution(spec)) return state_bytes(spec);
  return kCheckedHeads * kDeltaNetDim * kDeltaNetDim * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t record_bytes(const DeltaNetSpec& spec) {
  if (!is_prompt(spec) || is_convolution(spec)) return 0;
  const std::int64_t chunks = (spec.length + kDeltaNetChunk - 1) / kDeltaNetChunk;
  return spec.batch * spec.value_heads * chunks * kChunkRecordBytes;
}

// Returns the buffers in the order of DeltaNetWork::Buffer. The state is a cache: an engine finds
// it where it left it many layers before.
std::vector<BufferSpec> delta_net_buffers(const DeltaNetSpec& spec) {
  constexpr std::int64_t kBfloat16Bytes = 2;
  const std::int64_t tokens = spec.batch * spec.length;
  const bool convolves = is_convolution(spec);
  const std::int64_t gates = convolves ? 0 : tokens * spec.value_heads * kBfloat16Bytes;
  const std::int64_t rates =
      convolves ? 0 : spec.value_heads * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t outputs =
      tokens * (convolves ? channels_of(spec) : spec.value_heads * kDeltaNetDim) * kBfloat16Bytes;
  const auto numbers = [](float amplitude, std::uint32_t seed) {
    return Fill{.kind = Fill::Kind::kUniform, .amplitude = amplitude, .seed = seed};
  };
  Fill rate = numbers(1, 5);
  rate.type = DataType::kFloat32;
  Fill bias = rate;  // decays of a few percent to a half
  bias.offset = -2;
  bias.seed = 6;
  Fill state = numbers(1, 7);
  if (!convolves) state.type = DataType::kFloat32;
  return {
      {size_of(convolves ? channels_of(spec) * spec.taps * kBfloat16Bytes : 0), numbers(1, 1),
       BufferRole::kWeight},
      {size_of(rates), rate, BufferRole::kWeight},
      {size_of(rates), bias, BufferRole::kWeight},
      {size_of(state_bytes(spec)), state, BufferRole::kCache},
      {size_of(tokens * channels_of(spec) * kBfloat16Bytes), numbers(1, 2)},
      {size_of(gates), numbers(1, 3)},
      {size_of(gates), numbers(2, 4)},
      {size_of(record_bytes(spec))},
      {size_of(outputs)},
      {size_of(before_bytes(spec))},
  };
}

class DeltaNetWork : public CudaWork {
 public:
  DeltaNetWork(Gpu& gpu, model::L2State l2, const DeltaNetSpec& spec, Buffers buffers)
      : CudaWork(gpu, l2), spec_(spec), buffers_(std::move(buffers)) {}

  [[nodiscard]] std::string kernel_source() const override {
    if (is_convolution(spec_)) return "assay_convolution";
    return is_prompt(spec_) ? "assay_delta_rule_chunked" : "assay_delta_rule";
  }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  // The state of a request that decodes is an input, which the check keeps.
  core::Status spoil() override {
    ASSAY_TRY(buffers_.spoil(gpu(), kOutput));
    if (is_prompt(spec_)) return buffers_.spoil(gpu(), kState);
    const cudaStream_t stream = gpu().stream();
    if (!is_convolution(spec_)) {
      return cuda_status(save_states(arguments(0), buffers_.at<float>(kBefore, 0), stream),
                         "keeping states");
    }
    return cuda_status(
        cudaMemcpyAsync(buffers_.at(kBefore, 0), buffers_.at(kState, 0),
                        size_of(before_bytes(spec_)), cudaMemcpyDeviceToDevice, stream),
        "keeping windows");
  }

  core::Result<Accuracy> compare() override {
    const Accuracy output = ASSAY_TRY(compare_result(DeltaNetResult::kOutput));
    return worse(output, ASSAY_TRY(compare_result(DeltaNetResult::kState)));
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    return cuda_status(run_delta_net(arguments(copy), gpu().stream()), "a kernel");
  }

 private:
  enum Buffer : std::size_t {
    kWeight,
    kRateLog,
    kStepBias,
    kState,
    kInput,
    kAlpha,
    kBeta,
    kRecords,
    kOutput,
    kBefore
  };

  core::Result<Accuracy> compare_result(DeltaNetResult result) {
    DeltaNetCheck check{.arguments = arguments(0)};
    if (!is_prompt(spec_)) {
      check.window_before = buffers_.at(kBefore, 0);
      check.state_before = buffers_.at<float>(kBefore, 0);
    }
    ASSAY_TRY(
        cuda_status(compare_delta_net(check, result, gpu().samples(), gpu().stream()), "checking"));
    const bool is_output = result == DeltaNetResult::kOutput;
    const std::int64_t columns = is_convolution(spec_) ? channels_of(spec_) : kDeltaNetDim;
    return accuracy_of_samples(gpu(), delta_net_samples(spec_, result), columns,
                               is_output ? "output" : "state");
  }

  [[nodiscard]] DeltaNetArguments arguments(std::int64_t copy) const {
    return {.spec = spec_,
            .input = buffers_.at(kInput, copy),
            .output = buffers_.at(kOutput, copy),
            .weight = buffers_.at(kWeight, copy),
            .window = buffers_.at(kState, copy),
            .alpha = buffers_.at(kAlpha, copy),
            .beta = buffers_.at(kBeta, copy),
            .rate_log = buffers_.at<float>(kRateLog, copy),
            .step_bias = buffers_.at<float>(kStepBias, copy),
            .state = buffers_.at<float>(kState, copy),
            .records = buffers_.at(kRecords, copy)};
  }

  DeltaNetSpec spec_;
  Buffers buffers_;
};

std::string why_no_delta_net(const DeltaNetSpec& spec) {
  constexpr std::int64_t kMostRequests = 65535;
  constexpr std::int64_t kMostLength = std::int64_t{1} << 21U;
  if (spec.key_dim != kDeltaNetDim || spec.value_dim != kDeltaNetDim)
    return "heads of other sizes than 128";
  if (spec.taps < kLeastTaps || spec.taps > kMostTaps)
    return "convolutions of other lengths than 2 to 4";
  if (spec.batch > kMostRequests) return "more than 65535 requests";
  if (!is_prompt(spec) && spec.length != 1) return "more than one token in decoding";
  return spec.length > kMostLength ? "prompts of more than 2^21 tokens" : "";
}

}  // namespace

core::Result<MadeWork> make_delta_net(Gpu& gpu, const DeltaNetSpec& spec, model::L2State l2) {
  const std::string reason = why_no_delta_net(spec);
  if (!reason.empty()) return MadeWork(Unsupported{reason});
  ASSAY_TRY(cuda_status(prepare_delta_net(), "preparing kernels"));
  Buffers buffers = ASSAY_TRY(Buffers::take(gpu, delta_net_buffers(spec), l2));
  constexpr std::size_t kStateBuffer = 3;
  const auto* state = buffers.at<char>(kStateBuffer, 0);
  const auto* last = buffers.at<char>(kStateBuffer, buffers.copies() - 1);
  gpu.arena().note_written(state, size_of(last - state + state_bytes(spec)));
  return MadeWork(std::make_unique<DeltaNetWork>(gpu, l2, spec, std::move(buffers)));
}

}  // namespace assay::collect
