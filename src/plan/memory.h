// The memory of one GPU of a deployment: what weights, activations and the runtime take, and how
// many tokens the cache of keys and values can hold in what an engine leaves for it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/serving/uses.h"
#include "plan/engine.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

// What a GPU has, and what libraries take of it.
struct GpuMemory {
  double capacity_bytes = 0;
  double communication_bytes = 0;  // buffers of collectives for the GPUs of the deployment
  double stated_bytes = 0;         // what the system's file says that it has; 0: the capacity
};

// Returns the memory of a GPU of so many that serve together.
GpuMemory memory_of_gpu(const store::SystemFacts& facts, std::int64_t gpus);

struct MemoryRequest {
  serving::Deployment deployment = {};
  std::int64_t pp = 1;  // stages: the use is that of the one that leaves the least for the cache
  Engine engine = Engine::kTrtllm;
  // The share of memory that the engine may use, as its own option counts it; 0: its default.
  double fraction = 0;
  std::int64_t max_tokens = 8192;  // of a step
  std::int64_t max_batch = 256;    // requests that run at once
  KeptCache kept = {};
  std::int64_t request_tokens = 5000;  // of a request at its end: its prompt and its answer
  std::int64_t output_tokens = 1000;   // of these, those of its answer
  std::int64_t shared_tokens = 0;      // of these, those that all requests begin with, kept once
};

struct MemoryUse {
  double capacity_bytes = 0;
  double weight_bytes = 0;
  double activation_bytes = 0;  // of the largest step
  double communication_bytes = 0;
  double runtime_bytes = 0;  // contexts, libraries, captured graphs
  double cache_bytes = 0;    // what the engine leaves for the cache; below 0: nothing fits
  // This is the mean over those tokens of a request that it does not share, on the stage with most.
  double bytes_per_token = 0;
  double bytes_per_request = 0;    // of state that does not grow: linear attention
  std::int64_t cache_tokens = 0;   // that fit on all stages, of such requests; at least 0
  std::int64_t shared_tokens = 0;  // of these, those that all requests share
  double shared_bytes = 0;         // of the cache, for these
  // Layers with windows may have memory apart (KeptCache::is_apart) and hold more by it. These are
  // the tokens that each of them then has room for, and their share of the bytes of the cache; 0:
  // all layers keep all tokens.
  double window_tokens = 0;
  double window_share = 0;

  [[nodiscard]] bool fits() const { return cache_tokens > 0; }

  // Returns the bytes of the cache of so many requests, each of so many tokens.
  [[nodiscard]] double bytes_of(std::int64_t requests, std::int64_t tokens) const;

  // Returns what one of several batches may fill: what all share, and its part of the rest.
  [[nodiscard]] std::int64_t tokens_of_batch(std::int64_t batches) const;
};

// What a deployment's layers need, from which its memory follows at any batch.
class LayerMemory {
 public:
  // Precondition: check_deployment() accepts. The model must outlive it.
  LayerMemory(const serving::Model& model, const serving::Deployment& deployment);

  // The request's deployment is not read.
  [[nodiscard]] MemoryUse of(const MemoryRequest& request, const GpuMemory& gpu) const;

 private:
  // Layers that follow each other on a GPU.
  struct Stage {
    std::vector<double> counts;  // of each kind
    bool is_first = true;        // which has the embedding
    bool is_last = true;         // which has the logits
  };

  [[nodiscard]] Stage stage_of(std::int64_t begin, std::int64_t end) const;
  [[nodiscard]] double weight_bytes(const Stage& stage) const;
  // Fills in what of such requests the cache of a stage holds.
  void hold(const MemoryRequest& request, const Stage& stage, MemoryUse& use) const;
  [[nodiscard]] MemoryUse of_stage(const MemoryRequest& request,
                                   const GpuMemory& gpu,
                                   const Stage& stage) const;

  const serving::Model* model_;
  serving::Deployment deployment_;
  std::vector<serving::EqualLayers> kinds_;  // that which drafts, too, behind the others
  std::vector<double> kind_bytes_;           // weights of a layer of each, on one GPU
  double embedding_bytes_ = 0;
  double logit_weight_bytes_ = 0;
  double columns_ = 0;  // of activations, for a token
};

// The share of memory that the engine's own option has by default: free_gpu_memory_fraction of what
// is free after loading (TensorRT-LLM), gpu_memory_utilization (vLLM) or mem_fraction_static
// (SGLang) of all.
double default_fraction(Engine engine);

// Precondition: check_deployment() accepts.
MemoryUse memory_of(const serving::Model& model,
                    const MemoryRequest& request,
                    const GpuMemory& gpu);

}  // namespace assay::plan
