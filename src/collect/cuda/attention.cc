#include "collect/cuda/attention.h"

#include <fmt/core.h>

#include <utility>

#include "collect/attention_layout.h"
#include "collect/cuda/makers.h"

namespace assay::collect {
namespace {

bool is_usual(DataType type) {
  return type == DataType::kBfloat16 || type == DataType::kFloat16 || type == DataType::kFp8;
}

// What no library can do, before any is asked.
std::optional<std::string> refusal(const AttentionSpec& spec) {
  if (auto reason = impossible(spec)) return reason;
  if (!is_usual(spec.type) || !is_usual(spec.kv_type)) {
    return fmt::format("no library has attention of {} over a cache of {}", name_of(spec.type),
                       name_of(spec.kv_type));
  }
  if (spec.type != spec.kv_type) {
    return fmt::format("no library reads a cache of {} with queries of {}", name_of(spec.kv_type),
                       name_of(spec.type));
  }
  return std::nullopt;
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
  if (auto reason = refusal(spec)) return MadeWork(Unsupported{*reason});
  MadeWork by_cudnn = ASSAY_TRY(make_cudnn_attention(gpu, spec, l2));
  const auto* refused = std::get_if<Unsupported>(&by_cudnn);
  if (refused == nullptr) return by_cudnn;
  MadeWork composed = ASSAY_TRY(make_composed_attention(gpu, spec, l2));
  if (const auto* also = std::get_if<Unsupported>(&composed))
    return MadeWork(Unsupported{refused->reason + "; " + also->reason});
  return composed;
}

}  // namespace assay::collect
