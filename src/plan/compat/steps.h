// Times of steps as the public planner adds them up from its operators. With drafts a step that
// decodes is that of as many times the requests, attention included, and all its operators take
// (layers + drafts) / layers of their time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/compat/operators.h"

namespace assay::plan::compat {

// All requests have these tokens.
struct Lengths {
  std::int64_t prompt = 4000;
  std::int64_t output = 1000;
  std::int64_t prefix = 0;  // of the prompt, that are in the cache
  // Its nextn and nextn_accepted: tokens drafted of each request in a step, and how many of them
  // come out in the mean.
  std::int64_t drafts = 0;
  double accepted = 0;

  // Tokens of a request that come out of a step.
  [[nodiscard]] double progress() const { return 1 + accepted; }

  // Steps of a request.
  [[nodiscard]] double iterations() const {
    if (drafts == 0) return static_cast<double>(output);
    return 1 + static_cast<double>(output - 1) / progress();
  }
};

struct OperatorTime {
  std::string name;
  double ms = 0;
};

// Each function gives NaN times where an operator is unknown at this size.

// A step that computes prompts of all requests at once.
std::vector<OperatorTime> prompt_times(const Operators& operators,
                                       std::int64_t requests,
                                       const Lengths& lengths);

// All steps that decode after it, each 32nd of which stands for those up to the next.
std::vector<OperatorTime> decode_times(const Operators& operators,
                                       std::int64_t requests,
                                       const Lengths& lengths);

double sum_ms(const std::vector<OperatorTime>& times);

// A step with this many tokens of prompts and one token of each of `decodes` requests: what both
// share as for one prompt of all these tokens, with logits of one row, and attention for each.
// Where attention is part of a block (DeepSeek), the block counts as shared, and decoding's
// attention is left out.
double mixed_step_ms(const Operators& operators,
                     std::int64_t prompt_tokens,
                     std::int64_t decodes,
                     const Lengths& lengths);

// A step without prompts, with half of the output in the cache.
double decode_step_ms(const Operators& operators, std::int64_t decodes, const Lengths& lengths);

}  // namespace assay::plan::compat
