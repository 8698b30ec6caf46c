// A worker under the load of a closed loop, simulated with the limits that its engine has by
// default and the cache that its memory leaves.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/serving/uses.h"
#include "plan/calibrate/calibration.h"
#include "plan/closed_form.h"
#include "plan/engine.h"
#include "plan/memory.h"
#include "plan/schedule/limits.h"
#include "plan/schedule/metrics.h"
#include "plan/schedule/steady.h"
#include "plan/schedule/workload.h"
#include "plan/speculation.h"
#include "plan/step.h"

namespace assay::plan {

struct ServedWorker {
  Engine engine = Engine::kTrtllm;
  serving::Deployment deployment = {};
  std::int64_t groups = 1;  // with requests of their own
  GpuMemory memory = {};
  // Tokens of a step; 0: the engine's default. TensorRT-LLM takes whole prompts, and those who
  // deploy it let a step hold one beside the batch.
  std::int64_t max_tokens = 0;
  // Requests of a group at once for which memory is kept, where the deployment names it; 0: the
  // engine's default, or as many as are in flight where these are more.
  std::int64_t max_batch = 0;
  // Stages of the pipeline. Each group's requests are divided among as many batches as there are
  // stages, which follow each other through them.
  std::int64_t pp = 1;
  // What steps draft: as many tokens as the deployment has.
  Speculation speculation = {};
  KeptCache kept = {};  // where it is of one batch alone, this counts for such a worker and load
  // What memory_of_worker() finds of the layers; null: it is found each time.
  std::shared_ptr<const LayerMemory> layers = nullptr;

  // Batches with requests of their own.
  [[nodiscard]] std::int64_t batches() const { return groups * pp; }
};

// What clients send: a number of requests stays in flight.
struct ClosedLoop {
  std::int64_t concurrency = 1;  // of all groups
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  // Lengths are uniform between this share of the nominal ones and them.
  double least_length = 1;
  // Requests in all, for each in flight: public benchmarks send ten.
  std::int64_t requests_each = 10;
  std::int64_t prefix_tokens = 0;  // that all prompts begin with
  double client_ms = 0;            // Limits::client_ms
};

// What lies between a benchmark's client and the scheduler: Python on both sides, HTTP and
// tokenisation, which no table has. Found on measured deployments of Qwen3-32B and gpt-oss-120b,
// and judged on those of Llama-3.1-70B and DeepSeek-R1: docs/accuracy.md, "Clients".
inline constexpr double kBenchmarkClientMs = 20;

// The same for a prediction with this calibration: none where there is one, since its factor on
// TTFT was found without, and stands for it.
double benchmark_client_ms(const Calibration& calibration);

// A step's tokens in deployments that hold one prompt beside so many tokens of requests that
// decode: max_num_tokens and max_num_batched_tokens of the public planner's files.
std::int64_t one_prompt_beside(std::int64_t decode_tokens, std::int64_t prompt_tokens);

// A prefix is kept once, in as many tokens as fill blocks of the engine's cache.
MemoryUse memory_of_worker(const serving::Model& model,
                           const ServedWorker& worker,
                           const ClosedLoop& load);

// Returns how many requests of a batch the cache holds at once.
std::int64_t held_requests(const MemoryUse& memory,
                           const ServedWorker& worker,
                           const ClosedLoop& load);

// Returns the most requests of a batch, no more than `most`, that the cache holds where the worker
// is deployed for so many, and has logits and activations for no more; 0: not even one. The
// concurrency of the load is not read.
std::int64_t most_held(const serving::Model& model,
                       ServedWorker worker,
                       ClosedLoop load,
                       std::int64_t most);

// The engine's default limits where these requests fit. Error: the model leaves no room for one.
core::Result<Limits> limits_of(const serving::Model& model,
                               const ServedWorker& worker,
                               const ClosedLoop& load);

// So many of the requests that the clients send. Error: a length is below 1.
core::Result<Workload> workload_of(const ClosedLoop& load, std::int64_t requests);

// Errors: as limits_of(), or no step can hold a request.
core::Result<ServingMetrics> serve(const serving::Model& model,
                                   const ServedWorker& worker,
                                   const StepCost& cost,
                                   const ClosedLoop& load);

// What it reaches in the long run, as simulate_steady() tells: without the ramp and the end that
// benchmarks count. load.requests_each is not read; `waiting`, in [0, 1), is the expected share of
// the time that a request waits for its first token.
core::Result<SteadyMetrics> serve_steadily(const serving::Model& model,
                                           const ServedWorker& worker,
                                           const StepCost& cost,
                                           const ClosedLoop& load,
                                           double waiting);

// What a batch of it has in the mean.
SteadyLoad steady_load_of(const ServedWorker& worker, const ClosedLoop& load);

// The same by a mean step; without limits of memory.
SteadyLatencies steady_latencies_of(const ServedWorker& worker,
                                    const StepCost& cost,
                                    const ClosedLoop& load);

}  // namespace assay::plan
