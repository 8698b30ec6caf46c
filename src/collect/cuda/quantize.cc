// Conversion of bfloat16 to fp8 with a scale, by Assay's own kernels.
#include <memory>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/quantize_kernels.h"
#include "collect/cuda/work.h"

namespace assay::collect {
namespace {

class QuantizeWork : public CudaWork {
 public:
  QuantizeWork(Gpu& gpu, model::L2State l2, const QuantizeSpec& spec, Buffers buffers)
      : CudaWork(gpu, l2), spec_(spec), buffers_(std::move(buffers)) {}

  [[nodiscard]] std::string kernel_source() const override { return "assay"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    ASSAY_TRY(buffers_.spoil(gpu(), kOutput));
    if (!is_computed()) return {};
    return buffers_.spoil(gpu(), kScale);
  }

  core::Result<Accuracy> compare() override {
    ASSAY_TRY(
        cuda_status(compare_quantized(arguments(0), gpu().samples(), gpu().stream()), "checking"));
    const std::int64_t count = samples_of(spec_.m * spec_.k);
    return accuracy_of_samples(gpu(), count + 1, spec_.k, "output");
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    return cuda_status(quantize(arguments(copy), gpu().stream()), "a kernel");
  }

 private:
  enum Buffer : std::size_t { kInput, kOutput, kScale, kMaxima };

  [[nodiscard]] bool is_computed() const { return spec_.scale == QuantizeSpec::Scale::kComputed; }

  [[nodiscard]] QuantizeArguments arguments(std::int64_t copy) const {
    return {.input = buffers_.at(kInput, copy),
            .output = buffers_.at(kOutput, copy),
            .scale = buffers_.at<float>(kScale, copy),
            .maxima = is_computed() ? buffers_.at<float>(kMaxima, copy) : nullptr,
            .count = spec_.m * spec_.k};
  }

  QuantizeSpec spec_;
  Buffers buffers_;
};

}  // namespace

core::Result<MadeWork> make_quantize(Gpu& gpu, const QuantizeSpec& spec, model::L2State l2) {
  const auto count = static_cast<std::size_t>(spec.m * spec.k);
  // With this scale most numbers fit into fp8 and some are cut to the largest number of fp8.
  const Fill numbers{.kind = Fill::Kind::kUniform, .amplitude = 3.0F, .seed = 1};
  const Fill given{.kind = Fill::Kind::kUniform,
                   .type = DataType::kFloat32,
                   .amplitude = 0,
                   .offset = 0.0065F,
                   .seed = 2};
  const bool computed = spec.scale == QuantizeSpec::Scale::kComputed;
  Buffers buffers = ASSAY_TRY(Buffers::take(gpu,
                                            {{count * 2, numbers},
                                             {count},
                                             {sizeof(float), computed ? Fill{} : given},
                                             {kMaximumBlocks * sizeof(float)}},
                                            l2));
  return MadeWork(std::make_unique<QuantizeWork>(gpu, l2, spec, std::move(buffers)));
}

}  // namespace assay::collect
