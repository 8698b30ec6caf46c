// Attention of few new tokens of each of many requests by Assay's kernel.
#include "collect/cuda/attention_short.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

std::optional<std::string> why_no_short_kernel(const AttentionSpec& spec) {
  const std::string what = "the kernel for few keys here is ";
  if (spec.kv_length > kMostShortKeys) return what + "for at most 16 keys";
  if (spec.page_size > 0 || spec.values_in_keys) return what + "for keys and values of their own";
  if (spec.type != DataType::kBfloat16) return what + "for bfloat16";
  if (spec.kv_type != spec.type && !fills_cache(spec)) return what + "for a cache of bfloat16";
  if (!has_short_kernel(spec.head_dim, spec.value_dim))
    return what + "for heads of 64, 128, 192 and 256";
  return std::nullopt;
}

class ShortAttention final : public CudaWork {
 public:
  ShortAttention(Gpu& gpu, model::L2State l2, const AttentionSpec& spec)
      : CudaWork(gpu, l2), spec_(over_new_keys(spec)) {}

  core::Status take_memory(const AttentionSpec& spec, model::L2State l2) {
    std::vector<BufferSpec> more;
    if (fills_cache(spec)) {
      more = CacheFill::buffers_of(spec);
      cache_fill_.emplace(spec, 0);
    }
    buffers_ = ASSAY_TRY(AttentionBuffers::take(gpu(), spec_, l2, more));
    return {};
  }

  [[nodiscard]] std::string kernel_source() const override {
    return cache_fill_ ? "assay_short_assay_quantize" : "assay_short";
  }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    if (cache_fill_) ASSAY_TRY(cache_fill_->spoil(gpu(), buffers_));
    return buffers_.spoil_output(gpu());
  }

  core::Result<Accuracy> compare() override {
    const Accuracy output = ASSAY_TRY(buffers_.compare(gpu()));
    if (!cache_fill_) return output;
    return worse(output, ASSAY_TRY(cache_fill_->compare(gpu(), buffers_)));
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    const ShortArguments arguments{.spec = spec_,
                                   .layout = layout_of(spec_),
                                   .query = buffers_.query(copy),
                                   .keys = buffers_.keys(copy),
                                   .values = buffers_.values(copy),
                                   .output = buffers_.output(copy)};
    ASSAY_TRY(cuda_status(short_attention(arguments, gpu().stream()),
                          "launching an attention to few keys"));
    return cache_fill_ ? cache_fill_->enqueue(gpu(), buffers_, copy) : core::Status{};
  }

 private:
  AttentionSpec spec_;
  AttentionBuffers buffers_;
  std::optional<CacheFill> cache_fill_;
};

}  // namespace

core::Result<MadeWork> make_short_attention(Gpu& gpu,
                                            const AttentionSpec& spec,
                                            model::L2State l2) {
  if (auto reason = why_no_short_kernel(spec)) return MadeWork(Unsupported{*reason});
  auto work = std::make_unique<ShortAttention>(gpu, l2, spec);
  ASSAY_TRY(work->take_memory(spec, l2));
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
