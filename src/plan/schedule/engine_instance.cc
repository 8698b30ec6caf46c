#include "plan/schedule/engine_instance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace assay::plan {
namespace {

// Bounds how far the parabola reaches.
constexpr std::int64_t kLongestRun = 256;
constexpr double kPieceChange = 0.003;

}  // namespace

void WorkDone::add(const WorkDone& other) {
  steps += other.steps;
  batch_sum += other.batch_sum;
  computing_ms += other.computing_ms;
  mixed_ms += other.mixed_ms;
  prompt_ms += other.prompt_ms;
  eager_ms += other.eager_ms;
  kv_token_ms += other.kv_token_ms;
  peak_kv_tokens = std::max(peak_kv_tokens, other.peak_kv_tokens);
  prompt_tokens_computed += other.prompt_tokens_computed;
  preemptions += other.preemptions;
}

void WorkDone::write(std::int64_t groups, ServingMetrics& metrics) const {
  metrics.steps = steps;
  metrics.mean_batch = batch_sum / static_cast<double>(steps);
  metrics.preemptions = preemptions;
  metrics.peak_kv_tokens = peak_kv_tokens;
  metrics.mean_kv_tokens = kv_token_ms / computing_ms / static_cast<double>(groups);
  metrics.mixed_time_share = mixed_ms / computing_ms;
  metrics.prompt_time_share = prompt_ms / computing_ms;
  metrics.eager_time_share = eager_ms / computing_ms;
  metrics.prompt_tokens_computed = prompt_tokens_computed;
}

EngineInstance::EngineInstance(const StepCost& cost,
                               const Policy& policy,
                               const Limits& limits,
                               const Workload& workload,
                               Stepping stepping,
                               MetricsRecorder* recorder)
    : workload_(&workload),
      limits_(&limits),
      stepping_(stepping),
      step_time_(cost, policy, limits),
      groups_(static_cast<std::size_t>(limits.groups), Group(policy, limits, workload)),
      steps_(groups_.size()),
      recorder_(recorder) {}

void EngineInstance::send(std::size_t request, double at_ms, Prompt prompt) {
  const Arrival arrival{request, at_ms, prompt};
  if (arrivals_.size() == delivered_ || arrivals_.back().at_ms <= at_ms) {
    arrivals_.push_back(arrival);
    return;
  }
  // A turn that follows others, where it is known earlier who comes later.
  const auto place = std::upper_bound(
      arrivals_.begin() + static_cast<std::ptrdiff_t>(delivered_), arrivals_.end(), arrival,
      [](const Arrival& a, const Arrival& b) { return a.at_ms < b.at_ms; });
  arrivals_.insert(place, arrival);
}

// In turn; what a client said before is in the cache of the group that it went to.
Group& EngineInstance::group_of(std::size_t request) {
  if (workload_->turns.empty()) return groups_[delivered_ % groups_.size()];
  const auto known = group_of_client_.try_emplace(workload_->client_of(request),
                                                  group_of_client_.size() % groups_.size());
  return groups_[known.first->second];
}

double EngineInstance::next_ms() const {
  const bool idle =
      std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.idle(); });
  if (!idle) return now_ms_;
  if (delivered_ == arrivals_.size()) return std::numeric_limits<double>::infinity();
  return std::max(now_ms_, arrivals_[delivered_].at_ms);
}

// Requests that the next decision knows. While steps follow each other, one that replaces a request
// that ended with a step comes too late for the decision at the end of that step.
void EngineInstance::deliver() {
  for (; delivered_ < arrivals_.size(); ++delivered_) {
    const Arrival& arrival = arrivals_[delivered_];
    if (busy_ ? arrival.at_ms >= decided_ms_ : arrival.at_ms > now_ms_) return;
    Group& group = group_of(arrival.request);
    if (arrival.prompt == Prompt::kCached)
      group.arrive_cached(arrival.request, arrival.at_ms);
    else
      group.arrive(arrival.request);
  }
}

// False where no group computes anything.
bool EngineInstance::choose() {
  bool any = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    steps_[i] = groups_[i].choose();
    any = any || steps_[i].tokens() > 0;
  }
  if (limits_->groups_of_experts > 1) meet();
  return any;
}

// Each step learns how many tokens its experts get.
void EngineInstance::meet() {
  const auto of_experts = static_cast<std::size_t>(limits_->groups_of_experts);
  for (std::size_t first = 0; first < steps_.size(); first += of_experts) {
    const std::span<Step> steps = std::span(steps_).subspan(first, of_experts);
    const double tokens = step_time_.group_tokens(steps);
    for (Step& step : steps)
      step.group_tokens = tokens;
  }
}

core::Error EngineInstance::stuck() const {
  for (const Group& group : groups_) {
    const auto first = group.first_waiting();
    if (!first) continue;
    const Request& request = workload_->requests[*first];
    return core::Error{
        fmt::format("request {} with {} prompt and {} output tokens can never be scheduled: the "
                    "cache holds {} tokens, "
                    "a step {}",
                    *first, request.prompt_tokens, request.output_tokens, limits_->kv_tokens,
                    limits_->max_tokens)};
  }
  return core::Error{"requests run, but no step computes any of them"};
}

std::int64_t EngineInstance::steady_steps() const {
  std::int64_t steps = stepping_ == Stepping::kOneByOne ? 1 : kLongestRun;
  for (const Group& group : groups_) {
    if (steps == 1) break;
    steps = group.steady_steps(steps);
  }
  return steps;
}

// Steps of all groups end with the slowest.
double EngineInstance::step_ms(double further) const {
  double slowest = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].tokens() == 0) continue;
    slowest = std::max(slowest, step_time_.ms(steps_[i], further * groups_[i].tokens_per_step()));
  }
  return slowest;
}

StepRun EngineInstance::run_of(std::int64_t steps) const {
  const double first = step_ms(0);
  if (steps == 1) return {1, first, first, first};
  const auto span = static_cast<double>(steps - 1);
  return {steps, first, steps == 2 ? first : step_ms(span / 2), step_ms(span)};
}

// Steps until the one whose decision knows what comes at a time.
std::int64_t EngineInstance::steps_until(double at_ms,
                                         const StepRun& times,
                                         std::int64_t most) const {
  if (most == 1 || !std::isfinite(at_ms)) return most;
  const double wait_ms = at_ms - now_ms_;
  const std::int64_t passed = wait_ms < 0 ? 0 : times.steps_beyond(wait_ms, most);
  const std::int64_t late = limits_->overlap == Limits::Overlap::kOneStep ? 1 : 0;
  return std::clamp<std::int64_t>(passed + late, 1, most);
}

void EngineInstance::count_step(std::int64_t steps, double ms) {
  bool prompts = false;
  bool decodes = false;
  bool eager = false;
  double batch = 0;
  for (const Step& step : steps_) {
    if (step.tokens() == 0) continue;
    decodes = decodes || step.decodes > 0;
    prompts = prompts || !step.chunks.empty();
    eager = eager || step_time_.eager(step);
    batch += static_cast<double>(step.decodes);
    for (const Chunks& chunk : step.chunks) {
      batch += static_cast<double>(chunk.requests);
      done_.prompt_tokens_computed += chunk.requests * chunk.new_tokens;
    }
  }
  done_.steps += steps;
  done_.batch_sum += batch * static_cast<double>(steps);
  done_.computing_ms += ms;
  if (prompts) (decodes ? done_.mixed_ms : done_.prompt_ms) += ms;
  if (eager) done_.eager_ms += ms;
}

void EngineInstance::log_step(std::int64_t steps) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].tokens() == 0) continue;
    Step mean = steps_[i];
    mean.decode_cached += 0.5 * static_cast<double>(steps - 1) * groups_[i].tokens_per_step();
    log_->add(step_time_.as_run(mean), steps);
  }
}

// The tokens of a group's requests, before they are added to what they have.
void EngineInstance::count_tokens(Group& group, std::int64_t steps, const StepRun& times) {
  const double first_end = now_ms_ + times.until_ms(1);
  const double end = now_ms_ + times.until_ms(steps);
  std::int64_t decoding = 0;
  for (Sequence& sequence : group.running()) {
    if (sequence.tokens_now == 0) continue;
    if (!sequence.decodes() && sequence.tokens_now < sequence.prompt_left()) continue;
    // Accepted drafts come out with the token before them.
    const std::int64_t drafts =
        sequence.decodes() ? sequence.generated_after(steps) - sequence.generated - steps : 0;
    if (sequence.generated == 0) {
      recorder_->first_token(sequence.request, first_end);
    } else if (recorder_->measures(sequence.request)) {
      recorder_->between_tokens(first_end - sequence.last_token_ms, 1);
      recorder_->between_tokens(0, drafts);
      ++decoding;
    } else {
      recorder_->unmeasured_tokens(steps + drafts, end);
    }
    sequence.last_token_ms = end;
  }
  // Percentiles need the steps of a run in pieces whose times hardly differ.
  const double change =
      std::abs(times.until_ms(steps) - times.until_ms(steps - 1) - times.until_ms(1));
  const auto pieces =
      static_cast<std::int64_t>(std::clamp(change / (kPieceChange * times.until_ms(1)), 1.0, 32.0));
  for (std::int64_t piece = 0, from = 1; piece < pieces && from < steps; ++piece) {
    const std::int64_t until = std::max(from, 1 + (steps - 1) * (piece + 1) / pieces);
    if (until == from) continue;
    recorder_->between_tokens(
        (times.until_ms(until) - times.until_ms(from)) / static_cast<double>(until - from),
        decoding * (until - from));
    from = until;
  }
}

void EngineInstance::take(std::int64_t steps, const StepRun& times) {
  const double ms = times.until_ms(steps);
  count_step(steps, ms);
  if (log_ != nullptr) log_step(steps);
  const double begin_ms = now_ms_;
  double held = 0;
  for (Group& group : groups_) {
    if (recorder_ != nullptr) count_tokens(group, steps, times);
    const auto before = static_cast<double>(group.held_tokens());
    group.advance(steps);
    const auto after = static_cast<double>(group.held_tokens());
    held += (before + after) / 2;
    done_.peak_kv_tokens = std::max(done_.peak_kv_tokens, after);
    for (const Sequence& sequence : group.ended_now())
      ended_.push_back({sequence.request, std::max<std::int64_t>(0, sequence.found)});
  }
  done_.kv_token_ms += held * ms;
  now_ms_ += ms;
  busy_ = true;
  // A decision that overlaps with the step before is taken when that step begins.
  const bool late = limits_->overlap == Limits::Overlap::kOneStep;
  decided_ms_ = late ? begin_ms + times.until_ms(steps - 1) : now_ms_;
  if (late) return;
  for (Group& group : groups_)
    group.let_ended_go();
}

core::Status EngineInstance::advance(double until_ms) {
  ended_.clear();
  deliver();
  const bool any = choose();
  const bool released = std::any_of(groups_.begin(), groups_.end(),
                                    [](const Group& group) { return group.any_ended(); });
  for (Group& group : groups_)
    group.let_ended_go();
  if (any) {
    const std::int64_t most = steady_steps();
    const StepRun times = run_of(most);
    const double first_ms = times.until_ms(1);
    if (!(first_ms > 0) || !std::isfinite(first_ms))
      return core::Error{
          fmt::format("a step of {} tokens was priced at {} ms", steps_[0].tokens(), first_ms)};
    if (delivered_ < arrivals_.size()) until_ms = std::min(until_ms, arrivals_[delivered_].at_ms);
    take(steps_until(until_ms, times, most), times);
  } else if (busy_) {
    busy_ = false;  // nothing to overlap with: all that came is known now
  } else if (!released) {
    if (delivered_ == arrivals_.size()) return stuck();
    now_ms_ = std::max(now_ms_, arrivals_[delivered_].at_ms);
  }
  return {};
}

std::int64_t EngineInstance::first_tokens() const {
  std::int64_t tokens = 0;
  for (const Group& group : groups_)
    tokens += group.first_tokens();
  return tokens;
}

std::int64_t EngineInstance::further_tokens() const {
  std::int64_t tokens = 0;
  for (const Group& group : groups_)
    tokens += group.further_tokens();
  return tokens;
}

WorkDone EngineInstance::work_done() const {
  WorkDone done = done_;
  for (const Group& group : groups_)
    done.preemptions += group.preemptions();
  return done;
}

}  // namespace assay::plan
