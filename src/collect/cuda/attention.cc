#include <fmt/core.h>

#include <memory>
#include <utility>

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

// Products may be faster for one query of each head over keys that all heads share: cuDNN fills few
// multiprocessors with a small batch, and products fill them all. Elsewhere cuDNN is faster, and
// trying would cost time.
bool may_be_faster_composed(const AttentionSpec& spec) {
  return spec.kv_heads == 1 && spec.query_length == 1 && spec.page_size == 0;
}

core::Result<double> typical_ms(CudaWork& work) {
  constexpr std::int64_t kTries = 5;
  constexpr std::int64_t kLaunches = 4;
  const auto watch = ASSAY_TRY(work.stopwatch({.launches_per_sample = kLaunches}));
  const double typical = core::median(ASSAY_TRY(watch->sample(kTries)));
  work.rewind();
  return typical;
}

// Returns the faster one, or the first where the other cannot be made or tried.
MadeWork faster(MadeWork first, core::Result<MadeWork> other) {
  if (!other.ok() || std::holds_alternative<Unsupported>(other.value())) return first;
  const auto time_ms = [](MadeWork& made) {
    // All works here come from this folder.
    return typical_ms(static_cast<CudaWork&>(*std::get<std::unique_ptr<Work>>(made)));
  };
  const core::Result<double> first_ms = time_ms(first);
  const core::Result<double> other_ms = time_ms(other.value());
  const bool is_better = first_ms.ok() && other_ms.ok() && other_ms.value() < first_ms.value();
  return is_better ? std::move(other).value() : std::move(first);
}

}  // namespace

#if !ASSAY_HAVE_CUDNN
core::Result<MadeWork> make_cudnn_attention(Gpu& /*gpu*/,
                                            const AttentionSpec& /*spec*/,
                                            model::L2State /*l2*/) {
  return MadeWork(Unsupported{"this assay-worker was built without the headers of cuDNN"});
}

void expect_attention(Gpu& /*gpu*/, const AttentionSpec& /*spec*/) {}
#endif

core::Result<MadeWork> make_attention(Gpu& gpu, const AttentionSpec& spec, model::L2State l2) {
  if (auto reason = why_no_library(spec)) return MadeWork(Unsupported{*reason});
  if (spec.type != spec.kv_type) {
    return fills_cache(spec) ? make_cudnn_attention(gpu, spec, l2)
                             : make_decode_attention(gpu, spec, l2);
  }
  MadeWork by_cudnn = ASSAY_TRY(make_cudnn_attention(gpu, spec, l2));
  const auto* refused = std::get_if<Unsupported>(&by_cudnn);
  if (refused == nullptr) {
    if (!may_be_faster_composed(spec)) return by_cudnn;
    return faster(std::move(by_cudnn), make_composed_attention(gpu, spec, l2));
  }
  MadeWork composed = ASSAY_TRY(make_composed_attention(gpu, spec, l2));
  if (const auto* also = std::get_if<Unsupported>(&composed))
    return MadeWork(Unsupported{refused->reason + "; " + also->reason});
  return composed;
}

}  // namespace assay::collect
