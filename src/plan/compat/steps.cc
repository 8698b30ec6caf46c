#include "plan/compat/steps.h"

#include <algorithm>

namespace assay::plan::compat {
namespace {

constexpr std::int64_t kStride = 32;

std::int64_t rounded_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

Asked asked_of_decodes(std::int64_t requests, std::int64_t length, const Lengths& lengths) {
  const auto count = static_cast<double>(requests * (1 + lengths.drafts));
  return {.tokens = count, .requests = count, .length = static_cast<double>(length)};
}

// The shared part of a prompt's step; the logits of prompts are for one row of each.
Asked asked_of_prompts(std::int64_t requests, std::int64_t tokens, std::int64_t prefix) {
  return {.tokens = static_cast<double>(requests * tokens),
          .requests = static_cast<double>(requests),
          .length = static_cast<double>(tokens),
          .prefix = static_cast<double>(prefix)};
}

// What drafting adds to every operator of a step that decodes.
double draft_factor(const Operators& operators, const Lengths& lengths) {
  return 1 + static_cast<double>(lengths.drafts) / static_cast<double>(operators.layers);
}

double prompt_ms(const Operator& one, Asked asked) {
  if (one.kind == Kind::kLogits) asked.tokens = asked.requests;
  return one.ms(asked);
}

std::int64_t half_way(const Lengths& lengths) {
  return lengths.prompt + lengths.output / 2 + 1;
}

}  // namespace

std::vector<OperatorTime> prompt_times(const Operators& operators,
                                       std::int64_t requests,
                                       const Lengths& lengths) {
  const Asked asked = asked_of_prompts(requests, lengths.prompt - lengths.prefix, lengths.prefix);
  std::vector<OperatorTime> times;
  for (const Operator& one : operators.context)
    times.push_back({.name = one.name, .ms = prompt_ms(one, asked)});
  return times;
}

std::vector<OperatorTime> decode_times(const Operators& operators,
                                       std::int64_t requests,
                                       const Lengths& lengths) {
  const std::int64_t steps = std::max<std::int64_t>(0, lengths.output - 1);
  const double factor = draft_factor(operators, lengths) / lengths.progress();
  std::vector<OperatorTime> times;
  for (const Operator& one : operators.generation) {
    double sum = 0;
    if (one.by_tokens) {
      sum = static_cast<double>(steps) *
            one.ms(asked_of_decodes(requests, lengths.prompt + 1, lengths));
    } else {
      for (std::int64_t step = 0; step < steps; step += kStride) {
        const auto repeats = static_cast<double>(std::min(kStride, steps - step));
        sum += repeats * one.ms(asked_of_decodes(requests, lengths.prompt + step + 1, lengths));
      }
    }
    times.push_back({.name = one.name, .ms = factor * sum});
  }
  return times;
}

double sum_ms(const std::vector<OperatorTime>& times) {
  double sum = 0;
  for (const OperatorTime& one : times)
    sum += one.ms;
  return sum;
}

double mixed_step_ms(const Operators& operators,
                     std::int64_t prompt_tokens,
                     std::int64_t decodes,
                     const Lengths& lengths) {
  const std::int64_t prefix = lengths.prefix * (prompt_tokens / lengths.prompt);
  const Asked shared =
      asked_of_prompts(1, prompt_tokens + decodes * (1 + lengths.drafts) - prefix, prefix);
  const Asked prompts = asked_of_prompts(rounded_up(prompt_tokens, lengths.prompt),
                                         lengths.prompt - lengths.prefix, lengths.prefix);
  const auto parts = static_cast<double>(rounded_up(lengths.prompt, prompt_tokens));
  double sum = 0;
  for (const Operator& one : operators.context) {
    sum += one.kind == Kind::kPromptAttention ? prompt_ms(one, prompts) / parts
                                              : prompt_ms(one, shared);
  }
  if (decodes == 0) return sum;
  for (const Operator& one : operators.generation) {
    if (one.kind == Kind::kDecodeAttention)
      sum += draft_factor(operators, lengths) *
             one.ms(asked_of_decodes(decodes, half_way(lengths), lengths));
  }
  return sum;
}

double decode_step_ms(const Operators& operators, std::int64_t decodes, const Lengths& lengths) {
  if (decodes == 0) return 0;
  double sum = 0;
  for (const Operator& one : operators.generation)
    sum += one.ms(asked_of_decodes(decodes, half_way(lengths), lengths));
  return draft_factor(operators, lengths) * sum;
}

}  // namespace assay::plan::compat
