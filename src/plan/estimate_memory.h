// The memory of a deployment that is priced: what takes it, and how many requests it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/table.h"
#include "plan/memory.h"
#include "plan/search/deployments.h"
#include "plan/serve.h"

namespace assay::plan {

// What a group has in flight, and the lengths of it.
struct HeldLoad {
  std::int64_t batch = 1;  // of each batch of a pipeline
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  std::int64_t prefix_tokens = 0;  // that all prompts begin with
  // Tells that --batch names the batch, and nothing else of the worker follows from it, so that the
  // most that the cache holds can be named.
  bool is_named = true;
};

// A row for each part of a GPU's memory; a note where the cache does not hold the load.
model::Table memory_table(const serving::Model& model,
                          const ServedWorker& served,
                          const HeldLoad& load,
                          const std::string& title);

// Gives the memory of a GPU of so many that serve together.
using MemoryOfGpus = std::function<GpuMemory(std::int64_t gpus)>;

// Error: the worker holds no request of these lengths; it names the least worker of a node, or of
// stages on several, that does.
core::Status check_held(const serving::Model& model,
                        const ServedWorker& served,
                        const HeldLoad& load,
                        const MemoryOfGpus& memory,
                        std::int64_t gpus_per_node);

}  // namespace assay::plan
