// MLA's attention of one new token of each sequence to a cache of latents, of bfloat16 or fp8, by
// Assay's kernel.
#include <memory>
#include <utility>
#include <vector>

#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/mla_decode_kernels.h"
#include "collect/cuda/mla_decode_split.h"
#include "collect/cuda/work.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

// The scale is not 1, so that a check notices a kernel that does not use it.
constexpr double kLatentScale = 1.25;

std::optional<std::string> why_no_mla_kernel(const AttentionSpec& spec, int gpu_major) {
  constexpr int kHopper = 9;
  const std::string what = "the kernel over latents here is ";
  if (gpu_major != kHopper) return what + "for Hopper";
  const bool is_mla = spec.values_in_keys && spec.kv_heads == 1 && spec.head_dim == mla::kHeadDim &&
                      spec.value_dim == mla::kValueDim;
  if (!is_mla) return what + "for keys of 576 elements with values of 512 in them";
  if (spec.query_length > 1) return what + "for one new token";
  if (spec.window > 0) return what + "without a window";
  if (spec.type != DataType::kBfloat16) return what + "for queries of bfloat16";
  if (spec.page_size % mla::kTileKeys != 0) return what + "for pages of a multiple of 64 tokens";
  return std::nullopt;
}

class MlaDecode final : public CudaWork {
 public:
  MlaDecode(Gpu& gpu, model::L2State l2, const AttentionSpec& spec)
      : CudaWork(gpu, l2), spec_(spec) {}

  core::Status take_memory(model::L2State l2) {
    splits_ = choose_splits();
    ASSAY_TRY(cuda_status(prepare_mla_decode(shape()), "preparing a decoding of latents"));
    buffers_ = ASSAY_TRY(AttentionBuffers::take(gpu(), spec_, l2, {{sizeof(float)}}));
    ASSAY_TRY(
        buffers_.write_more(gpu(), kScale, std::vector<float>{static_cast<float>(scales().keys)}));
    for (std::int64_t copy = 0; copy < copies(); ++copy) {
      maps_.emplace_back();
      ASSAY_TRY(
          cuda_status(map_mla_cache(buffers_.keys(copy), rows(), spec_.kv_type, &maps_.back()),
                      "mapping a cache of latents"));
    }
    if (splits_ == 1) return {};
    // Launches run one after the other, so all copies can use the same memory.
    const auto bytes =
        static_cast<std::size_t>(parts() * (mla::kValueDim + kStatistics)) * sizeof(float);
    between_ = ASSAY_TRY(gpu().arena().take(bytes));
    gpu().arena().note_written(between_.memory(), bytes);
    return mla::joins_itself(splits_, groups(), processors()) ? take_counters() : core::Status{};
  }

  [[nodiscard]] std::string kernel_source() const override { return "assay_mla_decode"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override { return buffers_.spoil_output(gpu()); }

  core::Result<Accuracy> compare() override { return buffers_.compare(gpu(), scales()); }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    MlaDecodeArguments arguments = shape();
    arguments.query = buffers_.query(copy);
    arguments.output = buffers_.output(copy);
    arguments.pages = buffers_.pages(copy);
    arguments.scale = static_cast<const float*>(buffers_.more(kScale, copy));
    arguments.splits = splits_;
    arguments.sums = reinterpret_cast<float*>(between_.memory());
    arguments.statistics = splits_ == 1 ? nullptr : arguments.sums + parts() * mla::kValueDim;
    arguments.counters = reinterpret_cast<unsigned*>(counters_.memory());
    return cuda_status(mla_decode(arguments, maps_[static_cast<std::size_t>(copy)], gpu().stream()),
                       "launching a decoding of latents");
  }

 private:
  static constexpr std::size_t kScale = 0;
  static constexpr std::int64_t kStatistics =
      2;  // each part has its largest score and its sum of weights

  [[nodiscard]] CacheScales scales() const {
    const double scale = spec_.kv_type == DataType::kFp8 ? kLatentScale : 1;
    return {.keys = scale, .values = scale};
  }

  [[nodiscard]] std::int64_t parts() const { return spec_.batch * spec_.heads * splits_; }

  // The keys that the cache has room for.
  [[nodiscard]] std::int64_t rows() const { return layout_of(spec_).key_elements / mla::kHeadDim; }

  [[nodiscard]] MlaDecodeArguments shape() const {
    return {.batch = spec_.batch,
            .heads = spec_.heads,
            .keys = spec_.kv_length,
            .page_size = spec_.page_size,
            .pages_per_sequence = layout_of(spec_).pages_per_sequence,
            .cache = spec_.kv_type};
  }

  core::Status take_counters() {
    const auto bytes = static_cast<std::size_t>(groups()) * sizeof(unsigned);
    counters_ = ASSAY_TRY(gpu().arena().take(bytes));
    gpu().arena().note_written(counters_.memory(), bytes);
    return cuda_status(cudaMemsetAsync(counters_.memory(), 0, bytes, gpu().stream()),
                       "clearing the counters of parts");
  }

  [[nodiscard]] std::int64_t groups() const { return spec_.batch * mla::head_blocks(spec_.heads); }

  [[nodiscard]] std::int64_t processors() { return gpu().properties().multiProcessorCount; }

  [[nodiscard]] std::int64_t choose_splits() {
    return mla::splits_for(groups(), mla::tiles_of(spec_.kv_length), processors());
  }

  AttentionSpec spec_;
  std::int64_t splits_ = 1;
  AttentionBuffers buffers_;
  std::vector<MlaCacheMaps> maps_;
  ArenaSpace between_;
  ArenaSpace counters_;
};

}  // namespace

core::Result<MadeWork> make_mla_decode(Gpu& gpu, const AttentionSpec& spec, model::L2State l2) {
  if (auto reason = why_no_mla_kernel(spec, gpu.properties().major))
    return MadeWork(Unsupported{*reason});
  auto work = std::make_unique<MlaDecode>(gpu, l2, spec);
  ASSAY_TRY(work->take_memory(l2));
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
