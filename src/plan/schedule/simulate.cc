#include "plan/schedule/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "plan/schedule/group.h"
#include "plan/schedule/step_time.h"

namespace assay::plan {
namespace {

// Bounds how far the parabola reaches.
constexpr std::int64_t kLongestRun = 256;
constexpr double kPieceChange = 0.003;

struct Arrival {
  std::size_t request = 0;
  double sent_ms = 0;
  double at_ms = 0;  // when the scheduler sees it
};

class Simulation {
 public:
  Simulation(const StepCost& cost,
             const Policy& policy,
             const Limits& limits,
             const Workload& workload,
             const SimulationOptions& options);

  core::Result<ServingMetrics> run();

 private:
  void send(double at_ms);
  void deliver();
  bool choose();
  [[nodiscard]] core::Error stuck() const;
  [[nodiscard]] std::int64_t steady_steps() const;
  [[nodiscard]] double step_ms(double further) const;
  [[nodiscard]] StepRun run_of(std::int64_t steps) const;
  [[nodiscard]] std::int64_t steps_until_arrival(const StepRun& times, std::int64_t most) const;
  void advance(std::int64_t steps, const StepRun& times);
  void count_step(std::int64_t steps, double ms);
  void count_tokens(Group& group, std::int64_t steps, const StepRun& times);
  void count_ended(Group& group);

  const Workload& workload_;
  const Limits& limits_;
  SimulationOptions options_;
  StepTime step_time_;
  std::vector<Group> groups_;
  std::vector<Step> steps_;  // of each group, in this step
  MetricsRecorder recorder_;
  ServingMetrics metrics_;

  std::vector<Arrival> arrivals_;  // known ones, by time
  std::size_t delivered_ = 0;
  std::size_t ended_ = 0;
  double now_ms_ = 0;
  double decided_ms_ =
      0;  // what arrived before is known to the next decision, where steps follow each other
  bool busy_ = false;  // a step has just ended

  double computing_ms_ = 0;
  double mixed_ms_ = 0;
  double prompt_ms_ = 0;
  double eager_ms_ = 0;
  double kv_token_ms_ = 0;
  double batch_sum_ = 0;
};

Simulation::Simulation(const StepCost& cost,
                       const Policy& policy,
                       const Limits& limits,
                       const Workload& workload,
                       const SimulationOptions& options)
    : workload_(workload),
      limits_(limits),
      options_(options),
      step_time_(cost, policy, limits),
      groups_(static_cast<std::size_t>(limits.groups), Group(policy, limits, workload)),
      steps_(groups_.size()),
      recorder_(workload, options.warm_up_requests) {
  const std::size_t known =
      workload.concurrency == 0
          ? workload.requests.size()
          : std::min(static_cast<std::size_t>(workload.concurrency), workload.requests.size());
  arrivals_.reserve(workload.requests.size());
  for (std::size_t i = 0; i < known; ++i)
    send(workload.concurrency == 0 ? workload.requests[i].arrival_ms : 0);
}

// The next request leaves its client, and the front end takes it when it is done with those before.
void Simulation::send(double at_ms) {
  const double free_ms = arrivals_.empty() ? 0 : arrivals_.back().at_ms;
  arrivals_.push_back({arrivals_.size(), at_ms, std::max(at_ms, free_ms) + limits_.request_ms});
}

// Requests that the next decision knows. While steps follow each other, one that replaces a request
// that ended with a step comes too late for the decision at the end of that step.
void Simulation::deliver() {
  for (; delivered_ < arrivals_.size(); ++delivered_) {
    const Arrival& arrival = arrivals_[delivered_];
    if (busy_ ? arrival.at_ms >= decided_ms_ : arrival.at_ms > now_ms_) return;
    recorder_.arrived(arrival.request, arrival.sent_ms);
    groups_[delivered_ % groups_.size()].arrive(arrival.request);
  }
}

// False where no group computes anything.
bool Simulation::choose() {
  bool any = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    steps_[i] = groups_[i].choose();
    any = any || steps_[i].tokens() > 0;
  }
  return any;
}

core::Error Simulation::stuck() const {
  for (const Group& group : groups_) {
    const auto first = group.first_waiting();
    if (!first) continue;
    const Request& request = workload_.requests[*first];
    return core::Error{
        fmt::format("request {} with {} prompt and {} output tokens can never be scheduled: the "
                    "cache holds {} tokens, "
                    "a step {}",
                    *first, request.prompt_tokens, request.output_tokens, limits_.kv_tokens,
                    limits_.max_tokens)};
  }
  return core::Error{"requests run, but no step computes any of them"};
}

std::int64_t Simulation::steady_steps() const {
  std::int64_t steps =
      options_.stepping == SimulationOptions::Stepping::kOneByOne ? 1 : kLongestRun;
  for (const Group& group : groups_) {
    if (steps == 1) break;
    steps = group.steady_steps(steps);
  }
  return steps;
}

// Steps of all groups end with the slowest.
double Simulation::step_ms(double further) const {
  double slowest = 0;
  for (const Step& step : steps_)
    if (step.tokens() > 0) slowest = std::max(slowest, step_time_.ms(step, further));
  return slowest;
}

StepRun Simulation::run_of(std::int64_t steps) const {
  const double first = step_ms(0);
  if (steps == 1) return {1, first, first, first};
  const auto span = static_cast<double>(steps - 1);
  return {steps, first, steps == 2 ? first : step_ms(span / 2), step_ms(span)};
}

// Steps until the one whose decision knows the next arrival.
std::int64_t Simulation::steps_until_arrival(const StepRun& times, std::int64_t most) const {
  if (delivered_ == arrivals_.size() || most == 1) return most;
  const double wait_ms = arrivals_[delivered_].at_ms - now_ms_;
  const std::int64_t passed = wait_ms < 0 ? 0 : times.steps_beyond(wait_ms, most);
  const std::int64_t late = limits_.overlap == Limits::Overlap::kOneStep ? 1 : 0;
  return std::clamp<std::int64_t>(passed + late, 1, most);
}

void Simulation::count_step(std::int64_t steps, double ms) {
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
      metrics_.prompt_tokens_computed += chunk.requests * chunk.new_tokens;
    }
  }
  metrics_.steps += steps;
  batch_sum_ += batch * static_cast<double>(steps);
  computing_ms_ += ms;
  if (prompts) (decodes ? mixed_ms_ : prompt_ms_) += ms;
  if (eager) eager_ms_ += ms;
}

// The tokens of a group's requests, before they are added to what they have.
void Simulation::count_tokens(Group& group, std::int64_t steps, const StepRun& times) {
  const double first_end = now_ms_ + times.until_ms(1);
  const double end = now_ms_ + times.until_ms(steps);
  std::int64_t decoding = 0;
  for (Sequence& sequence : group.running()) {
    if (sequence.tokens_now == 0) continue;
    if (!sequence.decodes() && sequence.tokens_now < sequence.prompt_left()) continue;
    if (sequence.generated == 0) {
      recorder_.first_token(sequence.request, first_end);
    } else if (recorder_.measures(sequence.request)) {
      recorder_.between_tokens(first_end - sequence.last_token_ms, 1);
      ++decoding;
    } else {
      recorder_.unmeasured_tokens(steps);
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
    recorder_.between_tokens(
        (times.until_ms(until) - times.until_ms(from)) / static_cast<double>(until - from),
        decoding * (until - from));
    from = until;
  }
}

void Simulation::count_ended(Group& group) {
  for (const Sequence& sequence : group.ended_now()) {
    recorder_.ended(sequence.request, now_ms_);
    ++ended_;
    if (workload_.concurrency > 0 && arrivals_.size() < workload_.requests.size()) send(now_ms_);
  }
}

void Simulation::advance(std::int64_t steps, const StepRun& times) {
  const double ms = times.until_ms(steps);
  count_step(steps, ms);
  const double begin_ms = now_ms_;
  double held = 0;
  for (Group& group : groups_) {
    count_tokens(group, steps, times);
    const auto before = static_cast<double>(group.held_tokens());
    group.advance(steps);
    const auto after = static_cast<double>(group.held_tokens());
    held += (before + after) / 2;
    metrics_.peak_kv_tokens = std::max(metrics_.peak_kv_tokens, after);
  }
  kv_token_ms_ += held * ms;
  now_ms_ += ms;
  busy_ = true;
  // A decision that overlaps with the step before is taken when that step begins.
  const bool late = limits_.overlap == Limits::Overlap::kOneStep;
  decided_ms_ = late ? begin_ms + times.until_ms(steps - 1) : now_ms_;
  for (Group& group : groups_) {
    count_ended(group);
    if (!late) group.let_ended_go();
  }
}

core::Result<ServingMetrics> Simulation::run() {
  while (ended_ < workload_.requests.size()) {
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
      advance(steps_until_arrival(times, most), times);
    } else if (busy_) {
      busy_ = false;  // nothing to overlap with: all that came is known now
    } else if (!released) {
      if (delivered_ == arrivals_.size()) return stuck();
      now_ms_ = std::max(now_ms_, arrivals_[delivered_].at_ms);
    }
  }
  recorder_.write(options_.level, metrics_);
  for (const Group& group : groups_)
    metrics_.preemptions += group.preemptions();
  metrics_.mean_batch = batch_sum_ / static_cast<double>(metrics_.steps);
  metrics_.mean_kv_tokens = kv_token_ms_ / computing_ms_ / static_cast<double>(groups_.size());
  metrics_.mixed_time_share = mixed_ms_ / computing_ms_;
  metrics_.prompt_time_share = prompt_ms_ / computing_ms_;
  metrics_.eager_time_share = eager_ms_ / computing_ms_;
  return metrics_;
}

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
  if (!std::is_sorted(limits.graph_batches.begin(), limits.graph_batches.end()))
    return core::Error{"the batches of CUDA graphs must grow"};
  if (!(limits.request_ms >= 0))
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

core::Result<ServingMetrics> simulate(const StepCost& cost,
                                      const Policy& policy,
                                      const Limits& limits,
                                      const Workload& workload,
                                      const SimulationOptions& options) {
  ASSAY_TRY(check_workload(workload));
  ASSAY_TRY(check_limits(limits));
  ASSAY_TRY(check_fit(limits, workload));
  const auto requests = static_cast<std::int64_t>(workload.requests.size());
  if (options.warm_up_requests < 0 || options.warm_up_requests >= requests)
    return core::Error{
        fmt::format("{} of {} requests are left out as warm-up: at least one must be measured",
                    options.warm_up_requests, requests)};
  return Simulation(cost, policy, limits, workload, options).run();
}

}  // namespace assay::plan
