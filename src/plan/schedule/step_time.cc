#include "plan/schedule/step_time.h"

#include <algorithm>

namespace assay::plan {

std::int64_t StepTime::tokens_of(const Step& step) const {
  return step.prompt_tokens() + step.decodes * limits_->speculation.verified();
}

double StepTime::group_tokens(std::span<const Step> steps) const {
  std::int64_t largest = 0;
  std::int64_t sum = 0;
  bool has_eager = false;
  for (const Step& step : steps) {
    has_eager = has_eager || eager(step);
    sum += tokens_of(step);
    largest = std::max(largest, tokens_of(as_run(step)));
  }
  if (!has_eager) return static_cast<double>(largest);
  return static_cast<double>(sum) / static_cast<double>(steps.size());
}

// Graphs of decoding alone count requests, others tokens.
std::int64_t StepTime::graph_size(const Step& step) const {
  return policy_->graphs == Policy::Graphs::kDecodeOnly ? step.decodes : tokens_of(step);
}

std::int64_t StepTime::captured_size(const Step& step) const {
  if (!step.chunks.empty() && policy_->graphs == Policy::Graphs::kDecodeOnly) return 0;
  const auto& captured = limits_->graph_batches;
  const auto found = std::lower_bound(captured.begin(), captured.end(), graph_size(step));
  return found == captured.end() ? 0 : *found;
}

void StepTime::fill(Step& step, std::int64_t captured) const {
  const std::int64_t filling = captured - graph_size(step);
  if (filling <= 0) return;
  const auto real = static_cast<double>(step.decodes);
  const std::int64_t of_request =
      policy_->graphs == Policy::Graphs::kDecodeOnly ? 1 : limits_->speculation.verified();
  step.decodes += (filling + of_request - 1) / of_request;
  step.decode_cached *= real / static_cast<double>(step.decodes);
}

double StepTime::ms(Step step, double further) const {
  step.decode_cached += further;
  const std::int64_t captured = captured_size(step);
  if (captured == 0) return std::max(cost_->ms(step), limits_->eager_step_ms);
  fill(step, captured);
  return cost_->ms(step);
}

Step StepTime::as_run(Step step) const {
  if (const std::int64_t captured = captured_size(step); captured > 0) fill(step, captured);
  return step;
}

StepRun::StepRun(std::int64_t steps, double first_ms, double middle_ms, double last_ms)
    : constant_(first_ms) {
  if (steps < 2) return;
  const auto span = static_cast<double>(steps - 1);
  if (steps > 2) square_ = 2 * (first_ms - 2 * middle_ms + last_ms) / (span * span);
  linear_ = (last_ms - first_ms) / span - square_ * span;
}

double StepRun::until_ms(std::int64_t steps) const {
  const auto n = static_cast<double>(steps);
  return n * (constant_ + (n - 1) / 2 * (linear_ + square_ * (2 * n - 1) / 3));
}

std::int64_t StepRun::steps_beyond(double ms, std::int64_t most) const {
  std::int64_t low = 1;
  while (low < most) {
    const std::int64_t middle = low + (most - low) / 2;
    if (until_ms(middle) > ms)
      most = middle;
    else
      low = middle + 1;
  }
  return most;
}

}  // namespace assay::plan
