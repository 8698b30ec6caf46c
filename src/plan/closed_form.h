// What a deployment reaches under a steady load, without simulating it.
#pragma once

#include <array>
#include <cstdint>

#include "plan/speculation.h"
#include "plan/step.h"

namespace assay::plan {

// How steps take the prompts of others.
enum class PromptSteps : std::uint8_t {
  kCutBeside,    // cut to what the budget leaves beside the requests that decode
  kWholeBeside,  // beside the requests that decode, and never cut
  kApart,        // in steps of their own, in which nothing decodes
};

// A closed loop: as soon as a request ends, the next begins. All have the same lengths.
struct SteadyLoad {
  std::int64_t concurrency = 1;        // requests in flight, of one group of GPUs
  std::int64_t groups = 1;             // with as many requests each, whose steps end together
  std::int64_t groups_of_experts = 1;  // of these: so many send their tokens to the same experts
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  std::int64_t cached_prefix = 0;    // tokens of each prompt that are in the cache
  std::int64_t token_budget = 8192;  // most new tokens of prompts in a step
  PromptSteps prompts = PromptSteps::kCutBeside;
  Speculation speculation = {};
};

// The two kinds of steps under such a load.
struct SteadySteps {
  std::array<Chunks, 1> chunks = {};
  std::int64_t decodes = 0;
  double decode_cached = 0;
  double prompt_steps = 1;  // of a request
  double stay = 1;          // steps of a request
  double decode_steps = 1;  // of these, those that decode
  double mixed_share = 0;   // of steps: those with a chunk of a prompt

  // Of requests that decode; at least one does.
  [[nodiscard]] Step decoding() const {
    return {.decodes = decodes > 0 ? decodes : 1, .decode_cached = decode_cached};
  }

  // Refers to this. In the mean over groups as many tokens reach the experts as if all of them had
  // their chunks in the same steps.
  [[nodiscard]] Step mixed() const {
    return {.chunks = chunks,
            .finished_prompts = 1,
            .decodes = decodes,
            .decode_cached = decode_cached};
  }
};

SteadySteps steady_steps(const SteadyLoad& load);

struct SteadyLatencies {
  double ttft_ms = 0;  // of a request that begins while all others are anywhere in theirs
  double tpot_ms = 0;
  double decode_step_ms = 0;  // of a step without prompts
  double mixed_step_ms = 0;   // of a step with prompts
  double mixed_share = 0;     // of steps
  double requests_per_s = 0;
  double decode_step_tokens = 1;  // of a request, that a step brings
};

// Each request stays for the steps of its prompt and those that bring its further tokens, so that a
// step of `concurrency` requests admits concurrency / (those steps) of them. Where that is more
// than the budget of a step lets in, the others wait, and fewer decode.
SteadyLatencies steady_latencies(const StepCost& cost, const SteadyLoad& load);

}  // namespace assay::plan
