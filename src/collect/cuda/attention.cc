#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/attention_short.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"
#include "collect/kernels/attention_layout.h"
#include "core/statistics.h"

namespace assay::collect {
namespace {

bool is_usual(DataType type) {
  return type == DataType::kBfloat16 || type == DataType::kFloat16 || type == DataType::kFp8;
}

// Returns why no library supports this attention, whichever version it is; std::nullopt if one may.
std::optional<std::string> why_no_library(const AttentionSpec& spec) {
  if (auto reason = impossible(spec)) return reason;
  if (!is_usual(spec.type) || !is_usual(spec.kv_type)) {
    return fmt::format("no library has attention of {} over a cache of {}", name_of(spec.type),
                       name_of(spec.kv_type));
  }
  const bool is_mixed = spec.type == DataType::kBfloat16 && spec.kv_type == DataType::kFp8;
  if (spec.type != spec.kv_type && !is_mixed) {
    return fmt::format("no library reads a cache of {} with queries of {}", name_of(spec.kv_type),
                       name_of(spec.type));
  }
  return std::nullopt;
}

using Way = core::Result<MadeWork> (*)(Gpu&, const AttentionSpec&, model::L2State);

// Products may be faster for one query of each head over keys that all heads share: cuDNN fills few
// multiprocessors with a small batch, and products fill them all. Elsewhere cuDNN is faster, and
// trying would cost time.
bool may_be_faster_composed(const AttentionSpec& spec) {
  return spec.kv_heads == 1 && spec.query_length == 1 && spec.page_size == 0;
}

bool is_short(const AttentionSpec& spec) {
  return spec.kv_length <= kMostShortKeys && spec.page_size == 0;
}

// Over many latents Assay's kernel is faster than the others (H200: they were at up to 1024
// tokens).
bool is_long_mla_decode(const AttentionSpec& spec) {
  constexpr std::int64_t kManyLatents = 16384;
  return spec.values_in_keys && spec.query_length == 1 &&
         spec.batch * spec.kv_length > kManyLatents;
}

bool is_plain_decode(const AttentionSpec& spec) {
  return spec.query_length == 1 && spec.type == DataType::kBfloat16 && !spec.values_in_keys;
}

// Returns the ways that are worth trying. The first ones take less time to make.
std::vector<Way> ways_of(const AttentionSpec& spec) {
  std::vector<Way> ways;
  if (spec.values_in_keys) ways.push_back(make_mla_decode);
  if (is_long_mla_decode(spec)) return ways;
  if (is_short(spec)) ways.push_back(make_short_attention);
  if (spec.type != spec.kv_type && !fills_cache(spec)) {
    if (!spec.values_in_keys) ways.push_back(make_decode_attention);
    return ways;
  }
  if (spec.type == DataType::kFp8) ways.push_back(make_context_attention);
  if (is_plain_decode(spec)) ways.push_back(make_decode_attention);
  ways.push_back(make_cudnn_attention);
  if (in_whole_tiles(spec)) ways.push_back(make_padded_cudnn_attention);
  if (may_be_faster_composed(spec)) ways.push_back(make_composed_attention);
  return ways;
}

// All works that a way makes come from this folder.
CudaWork& cuda_work(const MadeWork& made) {
  return static_cast<CudaWork&>(*std::get<std::unique_ptr<Work>>(made));
}

core::Result<std::vector<double>> few_samples_ms(CudaWork& work) {
  constexpr std::int64_t kTries = 5;
  constexpr std::int64_t kLaunches = 4;
  const auto watch = ASSAY_TRY(work.stopwatch({.launches_per_sample = kLaunches}));
  std::vector<double> samples_ms = ASSAY_TRY(watch->sample(kTries));
  work.rewind();
  return samples_ms;
}

// The fastest of the ways so far, and what the others took or said.
class Trial {
 public:
  Trial(Gpu& gpu, const AttentionSpec& spec, model::L2State l2) : gpu_(gpu), spec_(spec), l2_(l2) {}

  [[nodiscard]] bool has_work() const { return best_.has_value(); }

  void add(Way way) {
    core::Result<MadeWork> made = way(gpu_, spec_, l2_);
    if (!made.ok()) {
      if (!error_) error_ = made.error();
    } else if (const auto* refused = std::get_if<Unsupported>(&made.value())) {
      reasons_ += (reasons_.empty() ? "" : "; ") + refused->reason;
    } else if (!best_) {
      best_ = std::move(made).value();
    } else {
      keep_faster(std::move(made).value());
    }
  }

  // An error counts only where no way works: the memory may suffice for one work but not for two.
  core::Result<MadeWork> result() {
    if (best_) {
      cuda_work(*best_).set_others(std::move(others_));
      return std::move(*best_);
    }
    if (error_) return *error_;
    return MadeWork(Unsupported{reasons_});
  }

 private:
  void keep_faster(MadeWork other) {
    const core::Result<std::vector<double>> sampled = few_samples_ms(cuda_work(other));
    if (!sampled.ok()) return;
    std::vector<double> other_ms = sampled.value();
    if (best_ms_.empty()) {
      const core::Result<std::vector<double>> first = few_samples_ms(cuda_work(*best_));
      if (first.ok()) best_ms_ = first.value();
    }
    if (best_ms_.empty() || core::median(other_ms) < core::median(best_ms_)) {
      std::swap(*best_, other);
      std::swap(best_ms_, other_ms);
    }
    if (!other_ms.empty()) others_.push_back({cuda_work(other).kernel_source(), other_ms});
  }

  Gpu& gpu_;
  const AttentionSpec& spec_;
  model::L2State l2_;
  std::optional<MadeWork> best_;
  std::vector<double> best_ms_;
  std::vector<OtherKernel> others_;
  std::optional<core::Error> error_;
  std::string reasons_;
};

}  // namespace

#if !ASSAY_HAVE_CUDNN
core::Result<MadeWork> make_cudnn_attention(Gpu& /*gpu*/,
                                            const AttentionSpec& /*spec*/,
                                            model::L2State /*l2*/) {
  return MadeWork(Unsupported{"this assay-worker was built without the headers of cuDNN"});
}

core::Result<MadeWork> make_padded_cudnn_attention(Gpu& gpu,
                                                   const AttentionSpec& spec,
                                                   model::L2State l2) {
  return make_cudnn_attention(gpu, spec, l2);
}

void expect_attention(Gpu& /*gpu*/, const AttentionSpec& /*spec*/) {}
#endif

core::Result<MadeWork> make_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2) {
  if (auto reason = why_no_library(spec)) return MadeWork(Unsupported{*reason});
  Trial trial(gpu, spec, l2);
  for (const Way way : ways_of(spec))
    trial.add(way);
  const bool is_long = is_long_mla_decode(spec);
  if (!trial.has_work() && is_long) trial.add(make_cudnn_attention);
  const bool was_composed = !is_long && may_be_faster_composed(spec);
  if (!trial.has_work() && spec.type == spec.kv_type && !was_composed)
    trial.add(make_composed_attention);
  return trial.result();
}

}  // namespace assay::collect
