// How an engine chooses what its next step computes.
//
// plan/engine.h says what a new engine needs. Here it is one file, schedule/<engine>.cc: a function
// that goes through the requests of a group and says how many tokens of each the next step
// computes, the limits that the engine has by default, and
//
//   ASSAY_REGISTER(Policy, kMyEngine);
//
// group.h has what such a function can do. docs/plan.md describes each engine's in words.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/registry.h"
#include "plan/engine.h"
#include "plan/schedule/limits.h"

namespace assay::plan {

class Group;

struct Policy {
  std::string_view name;  // name_of(engine)
  Engine engine;
  // The engine's defaults on GPUs of 80 GB and more; without kv_tokens.
  Limits (*defaults)();

  // Which steps CUDA graphs hold. A captured step computes as many tokens as its graph has: its
  // matrix products, element-wise work, collectives and logits are those of the captured batch.
  // Attention reads no more cache, because the rows that fill the batch have none.
  enum class Graphs : std::uint8_t {
    kDecodeOnly,
    kAllSmall,  // mixed steps, too, where all of their tokens fit the largest graph
  };
  Graphs graphs = Graphs::kDecodeOnly;

  // Whether a request that ended is computed once more, because its last token was not known when
  // the next step was prepared; where steps overlap.
  enum class Ended : std::uint8_t { kNotScheduled, kComputedOnceMore };
  Ended ended = Ended::kNotScheduled;

  // Gives every running request the tokens that the next step computes of it, and admits waiting
  // ones. When that changes nothing but the lengths of requests that all decode, it would choose
  // the same for the next steps, until a request arrives, ends or lacks memory: the simulation then
  // takes many steps at once.
  void (*schedule)(Group& group);

  // Steps were taken at once: what schedule() would have changed in them. nullptr: nothing.
  void (*skipped)(Group& group, std::int64_t steps) = nullptr;
};

// The policy of an engine; there is one for each.
const Policy& policy_of(Engine engine);

}  // namespace assay::plan
