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
#include "plan/serve_workload.h"
#include "plan/speculation.h"

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
  Speculation speculation = {};  // which the model must be able to (check_speculation)
  CacheType cache = CacheType::kEngine;
};

// A load whose requests come by themselves, among so many copies.
struct PoolsWorkload {
  const Workload& workload;
  std::int64_t copies = 1;
  std::int64_t most_batch = 0;  // requests that a group decodes at once; 0: the engine's default
  // Prompts that a group computes at once; 0: the engine's default.
  std::int64_t most_prefill_batch = 0;
  ServiceLevel level = {};  // that a good request keeps
};

struct PoolsWorkloadEstimate {
  model::Book book;
  double good_share = 0;
};

// Latencies under the workload, and the operators of the mean steps. The request's batches are not
// read, and its lengths are the workload's means. Errors: as serve_workload().
core::Result<PoolsWorkloadEstimate> estimate_pools_workload(const serving::Model& model,
                                                            const PoolsEstimate& request,
                                                            const PoolsWorkload& load);

// Latencies without waiting, the rates of both pools and what bounds the deployment; the operators
// of a step that decodes and of one that computes prompts. Errors: a worker has no price, or no
// room for the load.
core::Result<model::Book> estimate_disaggregated_book(const serving::Model& model,
                                                      const PoolsEstimate& request);

}  // namespace assay::plan
