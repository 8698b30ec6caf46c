// A deployment as it was priced, from which its files are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/calibrate/calibration.h"
#include "plan/engine.h"
#include "plan/schedule/limits.h"
#include "plan/search/deployments.h"
#include "plan/speculation.h"

namespace assay::plan {

// What an instance does with its requests: all of it, or a part where prompts are computed by some
// instances and others decode.
enum class Role : std::uint8_t { kBoth, kPrefill, kDecode };

// "prefill", "decode"; "both".
std::string_view name_of(Role role);

inline constexpr std::int64_t kMostPort = 65535;

struct PlannedDeployment {
  Engine engine = Engine::kTrtllm;
  std::string engine_version = {};  // "": the one that files were checked against (EngineFiles)
  std::string model = {};           // the name that clients ask for: "Qwen/Qwen3-32B"
  std::string model_path = {};      // where the engine finds it: an id of Hugging Face, or a folder
  std::string config = {};          // what the model was read from: a name that ships, or a path
  std::string system = {};          // "h200_sxm"

  Worker worker = {};  // one copy of the model
  std::int64_t copies = 1;
  Role role = Role::kBoth;
  // Disaggregated: the instances that compute prompts, then those that decode. Each pool is such a
  // deployment, of an instance, of which it has as many as copies; its load is an instance's. The
  // whole has the load of all, and no worker of its own.
  std::vector<PlannedDeployment> pools = {};
  Worker peer = {};           // of a pool: an instance of the other
  bool has_experts = false;   // the model has: moe_tp and moe_ep mean something
  bool sends_states = false;  // of a pool: those of linear attention or of state spaces, too
  CacheType cache_type = CacheType::kEngine;  // that is asked for; it is
  serving::Quantization cache = serving::Quantization::kBfloat16;

  // Layers with windows may have memory of their own. These are the keys that each layer then keeps
  // (0: all), as a pattern that repeats; their share of the cache; and the tokens that each of them
  // has room for, over those of the other layers.
  std::vector<std::int64_t> windows = {};
  double window_share = 0;
  double window_ratio = 0;

  Limits limits = {};  // of a group of the worker: see deployed_limits()
  // Requests of a batch that the cache holds at once, and the most that it would hold if they were
  // what is deployed, whose logits and activations take less.
  std::int64_t held_requests = 0;
  std::int64_t most_held = 0;
  Speculation speculation = {};  // which the model must be able to
  double memory_share = 0;       // as the engine's own option counts it
  std::int64_t concurrency = 1;  // of one copy
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  std::int64_t prefix_tokens = 0;  // that all prompts begin with, and caches hold
  std::int64_t context = 0;        // most tokens of a sequence of the model; 0: not known
  std::int64_t step_tokens = 0;    // most of a step, where they are asked for; 0: as the engine's
  double weight_bytes = 0;         // of one copy
  double ttft_ms = 0;              // the means that were priced, of one copy under that load
  double tpot_ms = 0;
  Calibration calibration = {};       // with which they were priced; of a pool: its steps
  std::string calibration_text = {};  // how it is named; "": there was none

  std::string name = {};         // of the objects of Kubernetes
  std::string kube_space = {};   // their namespace; "": that of whoever applies them
  std::string gpu_product = {};  // a node's label nvidia.com/gpu.product; "": any node
  std::string image = {};        // "": the engine's own
  std::int64_t port = 8000;
  std::int64_t gpus_per_node = 8;
  // The machines of what takes several, in turn; those without a name are "node-0", "node-1", ...,
  // and a single one is this one.
  std::vector<std::string> hosts = {};

  [[nodiscard]] bool is_local() const { return model_path.starts_with('/'); }

  [[nodiscard]] bool is_disaggregated() const { return !pools.empty(); }

  // The pool of a role. Precondition: it is disaggregated.
  [[nodiscard]] const PlannedDeployment& pool(Role wanted) const;

  // Of all copies of all pools.
  [[nodiscard]] std::int64_t gpus() const;

  // The nodes that one worker takes, and its GPUs on each.
  [[nodiscard]] std::int64_t nodes_of_worker() const;

  [[nodiscard]] std::int64_t gpus_of_node() const { return worker.gpus() / nodes_of_worker(); }

  [[nodiscard]] bool spans_nodes() const { return nodes_of_worker() > 1; }

  // Whether a worker, or one of a pool, spans nodes.
  [[nodiscard]] bool has_spanning_worker() const;

  // Batches with requests of their own: of groups, and of stages.
  [[nodiscard]] std::int64_t batches() const { return worker.dp * worker.pp; }

  // "tp 4", "3P(tp 2) + 1D(tp 8)"
  [[nodiscard]] std::string text() const;

  // The longest request: room for a chat template and for text that makes more tokens than planned.
  [[nodiscard]] std::int64_t most_request_tokens() const;
};

// Returns the version of the engine that files are for where tables of such a version price them:
// that version, or "" where no official image has its name, or where it lacks the files' options.
std::string deployable_version(Engine engine, const std::string& of_tables);

// The limits to deploy where `priced` are those that a load of `batch` requests of each group was
// priced with: no more requests than those, or than the next multiple that the engine captures, and
// graphs for all of them and for no more than they need.
Limits deployed_limits(Limits priced, Engine engine, std::int64_t batch);

// Error: a version of the engine that is none or that lacks the options of the files, a port that
// there is not, a name that Kubernetes refuses, a text that would not stay one word or one line of
// a script, or a worker that takes neither a part of a node nor whole ones.
core::Status check_planned(const PlannedDeployment& planned);

// Splits a deployment into pools of the given instances of workers, with their names and ports.
void split(PlannedDeployment& planned,
           std::int64_t prefill_instances,
           const Worker& prefill,
           std::int64_t decode_instances,
           const Worker& decode);

// A name that Kubernetes takes: "qwen3-32b-fp8-vllm".
std::string kube_name(const std::string& model, Engine engine);

// Whether the text is a label of RFC 1123, as names of Kubernetes are: at most 63 small letters,
// digits and dashes, with no dash at either end.
bool is_dns_label(const std::string& text);

// The label of nodes with the GPUs of a system, as NVIDIA's GPU feature discovery writes it; "":
// not known.
std::string gpu_product_of(const std::string& system);

// Everything above but the limits' prices, for `plan validate` to read beside results.
std::string planned_json(const PlannedDeployment& planned);

// The concurrencies to measure one copy at: the planned one, and fractions of it that its groups
// share evenly; growing.
std::vector<std::int64_t> measured_concurrencies(const PlannedDeployment& planned);

}  // namespace assay::plan
