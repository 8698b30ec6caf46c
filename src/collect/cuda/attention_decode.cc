// Attention of one new token of each sequence, with queries of bfloat16, to a cache of fp8, which
// no library has, or of bfloat16, for which cuDNN is slower over pages and where a launch is short.
#include <memory>
#include <utility>

#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/attention_decode_tile.h"
#include "collect/cuda/attention_kernels.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

// The scales are not 1, so that a check notices a kernel that does not use them.
constexpr CacheScales kFp8Scales{.keys = 1.25, .values = 0.75};

CacheScales scales_of(const AttentionSpec& spec) {
  return spec.kv_type == DataType::kFp8 ? kFp8Scales : CacheScales{};
}

std::int64_t number_bytes(const AttentionSpec& spec) {
  return spec.kv_type == DataType::kFp8 ? 1 : 2;
}

std::optional<std::string> why_no_decode_kernel(const AttentionSpec& spec) {
  const std::string what = "no kernel here decodes with queries of bfloat16 ";
  if (spec.query_length > 1) return what + "for several new tokens after others";
  if (spec.values_in_keys) return what + "where values are in the keys";
  const bool is_known =
      spec.head_dim == 64 || spec.head_dim == 128 || spec.head_dim == 192 || spec.head_dim == 256;
  if (!is_known || spec.value_dim != spec.head_dim)
    return what + "but for heads of 64, 128, 192 and 256";
  if (spec.page_size % decode::kTileKeys != 0) return what + "in pages of no multiple of 16 tokens";
  return std::nullopt;
}

class DecodeAttention final : public CudaWork {
 public:
  DecodeAttention(Gpu& gpu, model::L2State l2, const AttentionSpec& spec)
      : CudaWork(gpu, l2), spec_(spec) {}

  core::Status take_memory(model::L2State l2) {
    ASSAY_TRY(choose_parts());
    buffers_ = ASSAY_TRY(AttentionBuffers::take(gpu(), spec_, l2, {{2 * sizeof(float)}}));
    const std::vector<float> scales = {static_cast<float>(scales_of(spec_).keys),
                                       static_cast<float>(scales_of(spec_).values)};
    ASSAY_TRY(buffers_.write_more(gpu(), kScalesBuffer, scales));
    if (division_.splits == 1) return {};
    // Launches run one after the other, so all copies can use the same memory.
    const auto bytes =
        static_cast<std::size_t>(parts() * (spec_.head_dim + kStatistics)) * sizeof(float);
    between_ = ASSAY_TRY(gpu().arena().take(bytes));
    gpu().arena().note_written(between_.memory(), bytes);
    return {};
  }

  [[nodiscard]] std::string kernel_source() const override { return "assay_decode"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override { return buffers_.spoil_output(gpu()); }

  core::Result<Accuracy> compare() override { return buffers_.compare(gpu(), scales_of(spec_)); }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    auto* sums = reinterpret_cast<float*>(between_.memory());
    const DecodeArguments arguments{
        .spec = spec_,
        .layout = layout_of(spec_),
        .query = buffers_.query(copy),
        .keys = buffers_.keys(copy),
        .values = buffers_.values(copy),
        .output = buffers_.output(copy),
        .pages = buffers_.pages(copy),
        .scales = static_cast<const float*>(buffers_.more(kScalesBuffer, copy)),
        .sharers = division_.sharers,
        .splits = division_.splits,
        .sums = sums,
        .statistics = division_.splits == 1 ? nullptr : sums + parts() * spec_.head_dim};
    return cuda_status(decode_attention(arguments, gpu().stream()), "launching a decoding");
  }

 private:
  static constexpr std::size_t kScalesBuffer = 0;
  static constexpr std::int64_t kStatistics =
      2;  // each part has its largest score and its sum of weights

  [[nodiscard]] std::int64_t parts() const { return spec_.batch * spec_.heads * division_.splits; }

  core::Status choose_parts() {
    int blocks = 0;
    ASSAY_TRY(cuda_status(prepare_decode(spec_, &blocks), "preparing a decoding"));
    const VisibleKeys visible = visible_keys(spec_, 0);
    const decode::TileRange tiles =
        decode::tiles_of_part(static_cast<int>(visible.begin), static_cast<int>(visible.end), 0, 1);
    const std::int64_t group = spec_.heads / spec_.kv_heads;
    const int rows = decode::kTileRows * decode::row_tiles_of_block(group, spec_.head_dim);
    const std::int64_t groups = spec_.batch * spec_.kv_heads * decode::ceil_div(group, rows);
    const std::int64_t count = tiles.last - tiles.first;
    const decode::Machine machine{
        .processors = gpu().properties().multiProcessorCount,
        .blocks = blocks,
        .row_bytes = static_cast<int>(spec_.head_dim * number_bytes(spec_)),
        .number_bytes = static_cast<int>(number_bytes(spec_))};
    division_ = decode::division_for(groups, group, count, machine);
    return {};
  }

  AttentionSpec spec_;
  decode::Division division_;
  AttentionBuffers buffers_;
  ArenaSpace between_;
};

}  // namespace

core::Result<MadeWork> make_decode_attention(Gpu& gpu,
                                             const AttentionSpec& spec,
                                             model::L2State l2) {
  if (auto reason = why_no_decode_kernel(spec)) return MadeWork(Unsupported{*reason});
  auto work = std::make_unique<DecodeAttention>(gpu, l2, spec);
  ASSAY_TRY(work->take_memory(l2));
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
