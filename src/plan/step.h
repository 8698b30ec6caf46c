// What one step of an engine computes on one group of GPUs that share requests, and its time.
// Schedulers make steps; prices of operators (price/) tell how long each takes.
#pragma once

#include <cstdint>
#include <span>

#include "model/serving/attention_chunks.h"

namespace assay::plan {

// An engine may cut prompts: what it computes of them in one step is a chunk of each.
using Chunks = serving::Prompts;

// A step computes chunks of prompts, and one new token of each request that decodes.
struct Step {
  std::span<const Chunks> chunks = {};
  std::int64_t finished_prompts = 0;  // prompts whose last chunk this is: each gets its first token
  std::int64_t decodes = 0;           // requests that decode
  double decode_cached = 0;           // the mean of their tokens in the cache
  // Tokens of a group, in the mean of those whose tokens meet at the same experts; 0: each of them
  // has as many as this step.
  double group_tokens = 0;

  [[nodiscard]] std::int64_t prompt_tokens() const {
    std::int64_t tokens = 0;
    for (const Chunks& chunk : chunks)
      tokens += chunk.requests * chunk.new_tokens;
    return tokens;
  }

  [[nodiscard]] std::int64_t tokens() const { return prompt_tokens() + decodes; }
};

// The time of steps. Schedulers ask it some thousand times for each deployment, so that an answer
// should take well below a microsecond.
class StepCost {
 public:
  virtual ~StepCost() = default;

  // Milliseconds from the beginning of the step to the beginning of the next.
  [[nodiscard]] virtual double ms(const Step& step) const = 0;

 protected:
  StepCost() = default;
  StepCost(const StepCost&) = default;
  StepCost& operator=(const StepCost&) = default;
};

}  // namespace assay::plan
