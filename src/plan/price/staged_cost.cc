#include "plan/price/staged_cost.h"

#include <algorithm>

namespace assay::plan {
namespace {

constexpr double kHiddenBytes = 2;  // of an element in bfloat16
constexpr double kMs = 1e3;

}  // namespace

StagedCost::StagedCost(const StepPrices& prices, const Pipeline& pipeline)
    : prices_(prices), pipeline_(pipeline) {
  const std::int64_t hops = pipeline.stages - 1;
  const std::int64_t between = (pipeline.stages - 1) / pipeline.stages_per_node;
  const auto add = [&](const StageLink& link, std::int64_t count) {
    if (count == 0) return;
    const auto times = static_cast<double>(count);
    latency_ms_ += times * kMs * link.latency_s;
    ms_per_token_ +=
        times * kMs * kHiddenBytes * static_cast<double>(pipeline.hidden) / link.bytes_per_s;
  };
  add(pipeline.within, hops - between);
  add(pipeline.between, between);
}

double StagedCost::transfer_ms(std::int64_t tokens) const {
  return latency_ms_ + ms_per_token_ * static_cast<double>(tokens);
}

double StagedCost::ms(const Step& step) const {
  const double whole = prices_.ms(step);
  if (pipeline_.stages == 1 || step.tokens() == 0) return whole;
  const double logits = prices_.logits_of(step);
  const double of_slowest =
      pipeline_.excess * (whole - logits) + static_cast<double>(pipeline_.stages) * logits;
  return std::max(of_slowest, whole + transfer_ms(step.tokens()));
}

}  // namespace assay::plan
