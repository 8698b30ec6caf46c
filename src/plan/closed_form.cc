#include "plan/closed_form.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::plan {
namespace {

// Lengths in steps and tokens, of every request.
struct Life {
  std::int64_t chunk = 1;  // tokens of a prompt in a step
  double prompt_tokens = 1;
  double prompt_steps = 1;
  double further_tokens = 1;  // behind the first
  double decode_steps = 1;
  double cached = 0;  // tokens of a request that decodes, in the mean
  std::int64_t cached_before_chunk = 0;
};

std::int64_t further_tokens_of(const SteadyLoad& load) {
  return std::max<std::int64_t>(1, load.output_tokens - 1);
}

// A prompt is cut into as few chunks as the budget of a step allows, all of about the same length.
struct PromptCut {
  std::int64_t new_tokens = 1;
  std::int64_t steps = 1;
  std::int64_t chunk = 1;
};

PromptCut cut_of(const SteadyLoad& load) {
  PromptCut cut{.new_tokens = std::max<std::int64_t>(1, load.prompt_tokens - load.cached_prefix)};
  cut.steps = (cut.new_tokens - 1) / load.token_budget + 1;
  cut.chunk = (cut.new_tokens - 1) / cut.steps + 1;
  return cut;
}

Life life_of(const SteadyLoad& load) {
  const PromptCut cut = cut_of(load);
  Life life{.chunk = cut.chunk,
            .prompt_tokens = static_cast<double>(cut.new_tokens),
            .prompt_steps = static_cast<double>(cut.steps),
            .further_tokens = static_cast<double>(further_tokens_of(load)),
            .decode_steps = expected_steps(load.speculation, further_tokens_of(load))};
  life.cached = static_cast<double>(load.prompt_tokens) + 0.5 * life.further_tokens;
  life.cached_before_chunk = load.cached_prefix + (cut.new_tokens - cut.chunk) / 2;
  return life;
}

// Requests that decode: those that are not in their prompt, and of which as many end in a step as
// its budget lets in.
double decoding(const SteadyLoad& load, const Life& life) {
  const auto concurrency = static_cast<double>(load.concurrency);
  const auto budget = static_cast<double>(load.token_budget);
  const double all = concurrency * life.decode_steps / (life.prompt_steps + life.decode_steps);
  if (load.prompts == PromptSteps::kApart) return all;
  const auto verified = static_cast<double>(load.speculation.verified());
  const double most =
      budget * life.decode_steps / (life.prompt_tokens + verified * life.decode_steps);
  if (load.prompts == PromptSteps::kCutBeside || all < most) return std::min(all, most);
  const double prompts = std::max(1.0, std::floor((budget - verified * most) / life.prompt_tokens));
  return std::min(all, prompts * life.decode_steps);
}

// How likely it is that a step of one group has at most so many chunks of prompts, if it has `mean`
// of them and can hold `most`: they come by chance, and what does not fit waits.
class ChunkCounts {
 public:
  ChunkCounts(double mean, std::int64_t most) {
    constexpr std::size_t kMost = 64;
    const std::size_t last = std::min(kMost, static_cast<std::size_t>(most));
    double part = std::exp(-mean);
    if (last == 1) part = std::max(0.0, 1 - mean);
    double sum = part;
    for (std::size_t count = 0; count < last; ++count) {
      at_most_.push_back(sum);
      part *= mean / static_cast<double>(count + 1);
      sum += part;
    }
    at_most_.push_back(1);
  }

  [[nodiscard]] std::size_t most() const { return at_most_.size() - 1; }

  // That the most of any of so many groups is `count`.
  [[nodiscard]] double most_of_any(std::size_t count, std::int64_t groups) const {
    const auto power = static_cast<double>(groups);
    const double fewer = count == 0 ? 0 : std::pow(at_most_[count - 1], power);
    return std::pow(at_most_[count], power) - fewer;
  }

  // Returns how many chunks a group has in the mean, where the most that any of so many groups has
  // is `count`.
  [[nodiscard]] double mean_where_most_is(std::size_t count, std::int64_t groups) const {
    const double fewer = count == 0 ? 0 : sum_within(count - 1, groups);
    return (sum_within(count, groups) - fewer) / most_of_any(count, groups);
  }

 private:
  // The mean of a group's chunks, those counted as none where any of so many groups has more.
  [[nodiscard]] double sum_within(std::size_t count, std::int64_t groups) const {
    double sum = 0;
    for (std::size_t chunks = 1; chunks <= count; ++chunks)
      sum += static_cast<double>(chunks) * (at_most_[chunks] - at_most_[chunks - 1]);
    return sum * std::pow(at_most_[count], static_cast<double>(groups - 1));
  }

  std::vector<double> at_most_;
};

class Steps {
 public:
  Steps(const StepCost& cost, const SteadyLoad& load, const Life& life, double decodes)
      : cost_(cost), load_(load), life_(life), decodes_(std::llround(decodes)) {}

  [[nodiscard]] double decode_ms() const {
    return cost_.ms(
        {.decodes = std::max<std::int64_t>(1, decodes_), .decode_cached = life_.cached});
  }

  // A step has the chunks of so many prompts, and beside them what decodes. `of_groups` is how many
  // chunks a group has, in the mean of those that send their tokens to the same experts.
  [[nodiscard]] double mixed_ms(double prompts, double of_groups) const {
    return with_prompts_ms(prompts, decodes_, tokens_of_group(of_groups, 1));
  }

  // `decoding`: the share of those groups that decode meanwhile.
  [[nodiscard]] double prompts_alone_ms(double prompts, double of_groups, double decoding) const {
    return with_prompts_ms(prompts, 0, tokens_of_group(of_groups, decoding));
  }

  // Chunks that a step has room for.
  [[nodiscard]] std::int64_t most_chunks() const { return static_cast<std::int64_t>(room()); }

  // Chunks that a step has room for, the last of them in part.
  [[nodiscard]] double room() const {
    const std::int64_t beside =
        load_.prompts == PromptSteps::kApart ? 0 : decodes_ * load_.speculation.verified();
    return std::max(
        1.0, static_cast<double>(load_.token_budget - beside) / static_cast<double>(life_.chunk));
  }

 private:
  [[nodiscard]] double tokens_of_group(double chunks, double decoding) const {
    if (load_.groups_of_experts == 1) return 0;
    return chunks * static_cast<double>(life_.chunk) +
           decoding * static_cast<double>(decodes_ * load_.speculation.verified());
  }

  // Between whole numbers it is the mean of steps with one prompt less and more.
  [[nodiscard]] double with_prompts_ms(double prompts,
                                       std::int64_t decodes,
                                       double group_tokens) const {
    const double fewer = std::floor(prompts);
    const double share = prompts - fewer;
    const auto whole = static_cast<std::int64_t>(fewer);
    if (share == 0) return with_prompts_ms(whole, decodes, group_tokens);
    return (1 - share) * with_prompts_ms(whole, decodes, group_tokens) +
           share * with_prompts_ms(whole + 1, decodes, group_tokens);
  }

  [[nodiscard]] double with_prompts_ms(std::int64_t prompts,
                                       std::int64_t decodes,
                                       double group_tokens) const {
    const std::array<Chunks, 1> chunks = {Chunks{.requests = prompts,
                                                 .new_tokens = life_.chunk,
                                                 .cached_tokens = life_.cached_before_chunk}};
    return cost_.ms({.chunks = chunks,
                     .finished_prompts = prompts,
                     .decodes = decodes,
                     .decode_cached = life_.cached,
                     .group_tokens = group_tokens});
  }

  const StepCost& cost_;
  const SteadyLoad& load_;
  const Life& life_;
  std::int64_t decodes_;
};

// The time from one step that decodes a request to the next.
struct TokenTime {
  double ms = 0;
  double mixed_ms = 0;     // of a step with prompts
  double mixed_share = 0;  // of steps
};

TokenTime of_one_group(const Steps& steps, double chunks) {
  const double share = std::min(1.0, chunks);
  const double prompts = std::max(1.0, chunks);
  const double mixed = steps.mixed_ms(prompts, prompts);
  return {share * mixed + (1 - share) * steps.decode_ms(), mixed, share};
}

// Every group waits for those that have the most prompts.
TokenTime of_groups(const Steps& steps, double chunks, const SteadyLoad& load) {
  const ChunkCounts counts(chunks, steps.most_chunks());
  const std::int64_t groups = load.groups;
  TokenTime time;
  for (std::size_t count = 1; count <= counts.most(); ++count) {
    const double share = counts.most_of_any(count, groups);
    if (share < 1e-6) continue;
    time.mixed_share += share;
    const double of_groups = counts.mean_where_most_is(count, load.groups_of_experts);
    time.mixed_ms += share * steps.mixed_ms(static_cast<double>(count), of_groups);
  }
  time.ms = time.mixed_ms + counts.most_of_any(0, groups) * steps.decode_ms();
  if (time.mixed_share > 0) time.mixed_ms /= time.mixed_share;
  return time;
}

// A group's steps of prompts come between those in which it decodes, and take what came during the
// step before; other groups wait for them.
TokenTime of_prompts_apart(const Steps& steps, double chunks, const SteadyLoad& load) {
  const auto most = static_cast<double>(steps.most_chunks());
  const double times = most == 1 ? chunks : std::max(-std::expm1(-chunks), chunks / most);
  const double share = times / (1 + times);
  const double none = std::pow(1 - share, static_cast<double>(load.groups));
  const double prompts = std::max(1.0, chunks / times);
  // One of the groups that share experts has prompts for certain.
  const double with_prompts =
      share / (1 - std::pow(1 - share, static_cast<double>(load.groups_of_experts)));
  const double apart = steps.prompts_alone_ms(prompts, with_prompts * prompts, 1 - with_prompts);
  return {(1 + times) * ((1 - none) * apart + none * steps.decode_ms()), apart, 1 - none};
}

TokenTime token_time(const SteadyLoad& load, const Steps& steps, double chunks) {
  if (load.prompts == PromptSteps::kApart) return of_prompts_apart(steps, chunks, load);
  if (load.groups == 1) return of_one_group(steps, chunks);
  return of_groups(steps, chunks, load);
}

// Answers of one token end with their prompts: nothing decodes, and every step is full of prompts,
// of which only engines that cut none leave a rest.
SteadyLatencies latencies_of_prompts(const StepCost& cost,
                                     const SteadyLoad& load,
                                     const Life& life) {
  const Steps steps(cost, load, life, 0);
  const auto requests = static_cast<double>(load.concurrency);
  const bool are_cut = load.prompts != PromptSteps::kWholeBeside;
  const double most = are_cut ? steps.room() : static_cast<double>(steps.most_chunks());
  const double prompts = std::min(requests, most);
  const double step_ms = steps.mixed_ms(prompts, prompts);
  const double ends = prompts / life.prompt_steps;  // requests, in a step
  return {.ttft_ms = requests / ends * step_ms,
          .decode_step_ms = steps.decode_ms(),
          .mixed_step_ms = step_ms,
          .mixed_share = 1,
          .requests_per_s = 1000 * ends / step_ms};
}

}  // namespace

SteadySteps steady_steps(const SteadyLoad& load) {
  const PromptCut cut = cut_of(load);
  const std::int64_t further_tokens = further_tokens_of(load);
  const double decode_steps = expected_steps(load.speculation, further_tokens);
  const auto concurrency = static_cast<double>(load.concurrency);
  SteadySteps steps;
  steps.prompt_steps = static_cast<double>(cut.steps);
  steps.decode_steps = decode_steps;
  steps.stay = steps.prompt_steps + decode_steps;
  steps.decodes = static_cast<std::int64_t>(std::llround(concurrency * decode_steps / steps.stay));
  steps.decode_cached =
      static_cast<double>(load.prompt_tokens) + 0.5 * static_cast<double>(further_tokens);
  steps.chunks = {Chunks{.requests = 1,
                         .new_tokens = cut.chunk,
                         .cached_tokens = load.cached_prefix + (cut.new_tokens - cut.chunk) / 2}};
  steps.mixed_share = std::min(1.0, concurrency / steps.stay * steps.prompt_steps);
  return steps;
}

SteadyLatencies steady_latencies(const StepCost& cost, const SteadyLoad& load) {
  const Life life = life_of(load);
  if (load.output_tokens < 2) return latencies_of_prompts(cost, load, life);
  const double decodes = decoding(load, life);
  const double ends = decodes / life.decode_steps;  // requests, in a step
  const double chunks = ends * life.prompt_steps;   // of prompts, in a step
  const Steps steps(cost, load, life, decodes);
  const TokenTime time = token_time(load, steps, chunks);
  // Those that neither decode nor compute their prompt wait for the others to end.
  constexpr double kRounding = 1e-9;
  double waiting = static_cast<double>(load.concurrency) - decodes - chunks;
  if (waiting < kRounding * decodes) waiting = 0;
  // While a request decodes, the prompts beside it are those of others; of those that wait, one
  // always takes its place.
  const auto requests = static_cast<double>(load.concurrency * load.groups);
  const double of_others = waiting > 0 ? chunks : chunks * (requests - 1) / requests;
  const TokenTime seen = token_time(load, steps, of_others);
  return {.ttft_ms = 0.5 * seen.ms + life.prompt_steps * time.mixed_ms + waiting / ends * time.ms,
          .tpot_ms = seen.ms * (life.decode_steps / life.further_tokens),
          .decode_step_ms = steps.decode_ms(),
          .mixed_step_ms = time.mixed_ms,
          .mixed_share = time.mixed_share,
          .requests_per_s = 1000 * ends / time.ms,
          .decode_step_tokens = life.further_tokens / life.decode_steps};
}

}  // namespace assay::plan
