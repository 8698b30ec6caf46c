// One disaggregated deployment, priced: its prompts, the transfer of their caches, and its steps
// that decode.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/table.h"
#include "plan/search/disaggregated.h"
#include "plan/search/pool_text.h"

namespace assay::plan {

struct PoolsEstimate {
  std::string title = {};
  Engine engine = Engine::kTrtllm;
  PoolText prefill = {};
  PoolText decode = {};
  PoolSystem prefill_system = {};
  PoolSystem decode_system = {};
  std::int64_t prefill_batch = 1;  // prompts at once, of a group
  std::int64_t decode_batch = 16;  // requests in flight, of a group
  std::int64_t prompt_tokens = 4000;
  std::int64_t output_tokens = 1000;
};

// Latencies without waiting, the rates of both pools and what bounds the deployment; the operators
// of a step that decodes and of one that computes prompts. Errors: a worker has no price, or no
// room for the load.
core::Result<model::Book> estimate_disaggregated_book(const serving::Model& model,
                                                      const PoolsEstimate& request);

}  // namespace assay::plan
