#include "plan/schedule/check_inputs.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::plan {
namespace {

core::Status check_limits(const Limits& limits) {
  const auto positive = [](std::int64_t value, const char* name) -> core::Status {
    if (value < 1) return core::Error{fmt::format("{} is {}: it must be at least 1", name, value)};
    return {};
  };
  ASSAY_TRY(positive(limits.max_batch, "the greatest batch"));
  ASSAY_TRY(positive(limits.max_tokens, "the number of tokens of a step"));
  ASSAY_TRY(positive(limits.max_prefill_tokens, "the number of prompt tokens of a step"));
  ASSAY_TRY(positive(limits.kv_block_tokens, "the number of tokens of a block of the cache"));
  ASSAY_TRY(positive(limits.kv_tokens, "the number of tokens that the cache holds"));
  ASSAY_TRY(positive(limits.groups, "the number of groups"));
  ASSAY_TRY(positive(limits.groups_of_experts, "the number of groups that share experts"));
  if (limits.groups % limits.groups_of_experts != 0)
    return core::Error{fmt::format("{} groups can't be parted into {} that share experts",
                                   limits.groups, limits.groups_of_experts)};
  if (!std::is_sorted(limits.graph_batches.begin(), limits.graph_batches.end()))
    return core::Error{"the batches of CUDA graphs must grow"};
  if (!(limits.request_ms >= 0) || !(limits.client_ms >= 0))
    return core::Error{"the time of a request in the front end cannot be negative"};
  if (!(limits.eager_step_ms >= 0))
    return core::Error{"the time of an eager step cannot be negative"};
  return {};
}

core::Status check_fit(const Limits& limits, const Workload& workload) {
  const std::int64_t cache = limits.kv_tokens / limits.kv_block_tokens * limits.kv_block_tokens;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    if (request.prompt_tokens + request.output_tokens > cache)
      return core::Error{
          fmt::format("request {} needs {} tokens of the cache, {} of its prompt and {} of its "
                      "output, but the cache holds {}",
                      i, request.prompt_tokens + request.output_tokens, request.prompt_tokens,
                      request.output_tokens, cache)};
    // What of a prompt others share need not be computed, so that it may fit all the same.
    if (limits.prompts == Limits::Prompts::kWhole && request.pieces == 0 &&
        request.prompt_tokens > limits.max_tokens)
      return core::Error{
          fmt::format("request {} has a prompt of {} tokens, but a step has at most {} and prompts "
                      "are not cut: allow more "
                      "tokens, or chunks",
                      i, request.prompt_tokens, limits.max_tokens)};
  }
  return {};
}

}  // namespace

core::Status check_inputs(const Limits& limits, const Workload& workload) {
  ASSAY_TRY(check_limits(limits));
  if (limits.request_ms > 0 && !workload.turns.empty())
    return core::Error{"a front end that takes time is not simulated for conversations"};
  return check_fit(limits, workload);
}

core::Status check_warm_up(std::int64_t warm_up_requests, const Workload& workload) {
  const auto requests = static_cast<std::int64_t>(workload.requests.size());
  if (warm_up_requests < 0 || warm_up_requests >= requests)
    return core::Error{
        fmt::format("{} of {} requests are left out as warm-up: at least one must be measured",
                    warm_up_requests, requests)};
  return {};
}

}  // namespace assay::plan
