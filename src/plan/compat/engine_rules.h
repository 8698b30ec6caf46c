// What the public planner assumes of each engine: how prompts and decoding share steps, and memory.
#pragma once

#include <cstdint>
#include <string>

#include "plan/compat/operators.h"
#include "plan/compat/steps.h"
#include "plan/engine.h"
#include "plan/search/deployments.h"

namespace assay::plan::compat {

// Requests that decode beside the prompts of a mixed step.
std::int64_t decodes_beside(Engine engine,
                            std::int64_t batch,
                            std::int64_t prompt_tokens,
                            const Lengths& lengths);

// Mixed steps that count for TPOT: TensorRT-LLM and SGLang are taken to drain for three.
std::int64_t mixed_steps_of_tpot(Engine engine, std::int64_t steps);

// By how much a request waits longer for its first token than its own prompt takes.
double queue_factor(Engine engine, std::int64_t batch, std::int64_t steps);

// What vLLM's host adds to a prompt.
double dispatch_ms(Engine engine, std::int64_t layers);

struct MemoryParts {
  double weights = 0;  // all in bytes
  double activations = 0;
  double cache = 0;
  double collectives = 0;
  double others = 0;

  [[nodiscard]] double total() const {
    return weights + activations + cache + collectives + others;
  }
};

struct MemoryAsked {
  std::int64_t tokens = 0;  // of a step
  std::int64_t requests = 1;
  std::int64_t request_tokens = 0;
};

MemoryParts memory_of(const serving::Model& model,
                      const Worker& worker,
                      Engine engine,
                      const Operators& operators,
                      const SystemFacts& facts,
                      const MemoryAsked& asked);

// kStatic: workers of one phase, whose share of memory SGLang derives from its GPUs.
enum class Serving : std::uint8_t { kAggregated, kStatic };

// Whether a GPU has room, and the cache room in what the engine leaves for it. `version` of the
// engine decides vLLM's share.
bool fits(Engine engine,
          const std::string& version,
          Serving serving,
          const Worker& worker,
          const SystemFacts& facts,
          const MemoryParts& memory);

}  // namespace assay::plan::compat
