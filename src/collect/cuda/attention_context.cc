// Attention of new tokens in fp8 by Assay's kernel.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/attention_context_kernels.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

// The scales are not 1, so that a check notices a kernel that does not use them.
constexpr CacheScales kContextScales{.keys = 1.25, .values = 0.75};

std::optional<std::string> why_no_context_kernel(const AttentionSpec& spec, int gpu_major) {
  constexpr int kHopper = 9;
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
  const std::string what = "the kernel for new tokens here is ";
  if (gpu_major != kHopper) return what + "for Hopper";
  if (spec.type != DataType::kFp8 || spec.kv_type != spec.type) return what + "for fp8";
  if (spec.page_size > 0 || spec.values_in_keys) return what + "for keys and values of their own";
  if (!has_context_kernel(spec.head_dim, spec.value_dim))
    return what + "for heads of 64, 128 and 256, and MLA's of 192";
  if (spec.batch * spec.heads * spec.kv_length > kMostTokens)
    return what + "for at most 2^30 tokens times heads";
  return std::nullopt;
}

class ContextAttention final : public CudaWork {
 public:
  ContextAttention(Gpu& gpu, model::L2State l2, const AttentionSpec& spec)
      : CudaWork(gpu, l2),
        spec_(spec),
        shape_{.batch = static_cast<int>(spec.batch),
               .queries = static_cast<int>(spec.query_length),
               .keys = static_cast<int>(spec.kv_length),
               .heads = static_cast<int>(spec.heads),
               .kv_heads = static_cast<int>(spec.kv_heads),
               .window = static_cast<int>(spec.window),
               .causal = spec.causal} {
    shape_.tile_queries = context::tile_queries_of(shape_, static_cast<int>(spec.head_dim),
                                                   gpu.properties().multiProcessorCount);
  }

  core::Status take_memory(model::L2State l2) {
    buffers_ = ASSAY_TRY(AttentionBuffers::take(gpu(), spec_, l2, {{2 * sizeof(float)}}));
    const std::vector<float> scales = {static_cast<float>(kContextScales.keys),
                                       static_cast<float>(kContextScales.values)};
    ASSAY_TRY(buffers_.write_more(gpu(), kScales, scales));
    ASSAY_TRY(cuda_status(prepare_context(arguments_of(0)), "preparing an attention in fp8"));
    for (std::int64_t copy = 0; copy < copies(); ++copy) {
      maps_.emplace_back();
      const ContextTensors tensors{.query = buffers_.query(copy),
                                   .keys = buffers_.keys(copy),
                                   .values = buffers_.values(copy)};
      ASSAY_TRY(cuda_status(map_context(arguments_of(copy), tensors, &maps_.back()),
                            "mapping the tensors of an attention in fp8"));
    }
    return {};
  }

  [[nodiscard]] std::string kernel_source() const override { return "assay_context"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override { return buffers_.spoil_output(gpu()); }

  core::Result<Accuracy> compare() override { return buffers_.compare(gpu(), kContextScales); }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    return cuda_status(context_attention(arguments_of(copy), maps_[static_cast<std::size_t>(copy)],
                                         gpu().properties().multiProcessorCount, gpu().stream()),
                       "launching an attention in fp8");
  }

 private:
  static constexpr std::size_t kScales = 0;

  [[nodiscard]] ContextArguments arguments_of(std::int64_t copy) const {
    return {.shape = shape_,
            .head_dim = static_cast<int>(spec_.head_dim),
            .value_dim = static_cast<int>(spec_.value_dim),
            .scales = static_cast<const float*>(buffers_.more(kScales, copy)),
            .output = buffers_.output(copy)};
  }

  AttentionSpec spec_;
  context::Shape shape_;
  AttentionBuffers buffers_;
  std::vector<ContextMaps> maps_;
};

}  // namespace

core::Result<MadeWork> make_context_attention(Gpu& gpu,
                                              const AttentionSpec& spec,
                                              model::L2State l2) {
  if (auto reason = why_no_context_kernel(spec, gpu.properties().major))
    return MadeWork(Unsupported{*reason});
  auto work = std::make_unique<ContextAttention>(gpu, l2, spec);
  ASSAY_TRY(work->take_memory(l2));
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
