// Finds the deployment to run: prices every worker that the GPUs allow at every batch by the closed
// form, simulates those that decide (refine.h), and answers limits on latency from these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/calibrate/calibration.h"
#include "plan/energy.h"
#include "plan/engine.h"
#include "plan/memory.h"
#include "plan/price/staged_cost.h"
#include "plan/price/tables.h"
#include "plan/search/deployments.h"
#include "plan/speculation.h"
#include "plan/uncertainty/error_bars.h"

namespace assay::plan {

// kClosedForm: latencies of a mean step. kSimulation: these rank all, and the simulated scheduler
// decides.
enum class Scheduler : std::uint8_t { kClosedForm, kSimulation };

// Whether workers compute prompts and decode (agg), or some do the one and some the other (disagg).
enum class ServingMode : std::uint8_t { kBoth, kAggregated, kDisaggregated };

// The middle of an error bar: what a measurement exceeds as often as not. Predictions themselves
// are too fast more often than not (docs/accuracy.md, "Picks").
inline constexpr double kUsualConfidence = 0.5;

struct SearchRequest {
  Engine engine = Engine::kTrtllm;
  serving::Precision precision = {};
  std::int64_t gpus = 8;  // of the whole deployment
  std::int64_t gpus_per_node = 8;
  std::int64_t most_nodes = 1;   // that a stage of a worker spans
  std::int64_t most_stages = 1;  // of a worker's pipeline
  // The instances of a disaggregated copy have no more together.
  std::int64_t most_copy_gpus = kMostGpus;
  std::int64_t prompt_tokens = 4000;
  std::int64_t output_tokens = 1000;
  std::int64_t cached_prefix = 0;
  // Lengths are uniform between this share of the nominal ones and them, as those of public
  // benchmarks are.
  double least_length = 0.8;
  Scheduler scheduler = Scheduler::kSimulation;
  Speculation speculation = {};  // which the model must be able to (check_speculation)
  Calibration calibration = {};
  std::optional<CalibrationErrors> calibration_errors = std::nullopt;
  double ttft_limit_ms = 5000;
  double tpot_limit_ms = 60;
  // Of a whole request, from its coming to the last of output_tokens.
  double request_limit_ms = std::numeric_limits<double>::infinity();
  // Limits are to be kept with this chance, as error bars have it.
  double confidence = kUsualConfidence;
  // Tokens of a step that are tried with each aggregated worker; none: the engine's own.
  std::vector<std::int64_t> step_tokens = {};
  std::size_t top = 5;  // workers whose best batch is wanted
  // Simulates every deployment, instead of those that decide.
  bool simulates_all = false;
  // A GPU's memory, and what collectives of so many GPUs take of it.
  std::function<GpuMemory(std::int64_t gpus)> memory = {};
  // The link between two of so many GPUs that communicate; not asked where there are no stages.
  std::function<StageLink(std::int64_t gpus)> link = {};

  // Answers of one token have no time between tokens.
  [[nodiscard]] bool has_tpot() const { return output_tokens > 1; }

  [[nodiscard]] std::int64_t most_gpus_of_copy() const { return std::min(gpus, most_copy_gpus); }

  // Of a stage of a worker, on nodes of so many GPUs.
  [[nodiscard]] std::int64_t most_gpus_of_stage(std::int64_t node) const {
    return std::min(gpus, most_nodes * node);
  }
};

// An engine to search, with what it serves by.
struct SearchedEngine {
  Engine engine = Engine::kTrtllm;
  serving::Precision precision = {};
  Tables* tables = nullptr;
  std::string version = {};  // "": the one that files are for
};

// The instances that compute prompts, where others decode.
struct Split {
  Worker prefill = {};
  std::int64_t prefill_instances = 0;  // of a copy; 0: nothing is split
  std::int64_t prefill_batch = 0;      // prompts that a group of an instance computes at once
  std::int64_t decode_batch = 0;       // requests that a group of an instance decodes at once
  std::int64_t decode_instances = 0;   // of a copy
  double transfer_ms = 0;              // from the end of a prompt to the arrival of its cache
};

// "tp 4", "3P(tp 2) + 1D(tp 8)", and its GPUs.
std::string text_of_copy(const Worker& worker, const Split& split);
std::int64_t gpus_of_copy(const Worker& worker, const Split& split);

// Factors of latencies that a measurement does not exceed with the request's chance; 1 as long as
// no error bar is known.
struct LatencyMargins {
  double ttft = 1;
  double tpot = 1;

  static LatencyMargins of(const LatencyBars& bars, double chance) {
    return {.ttft = bars.ttft.at_most(chance), .tpot = bars.tpot.at_most(chance)};
  }
};

// A request of so many tokens takes so long.
inline double request_ms_of(double ttft_ms, double tpot_ms, std::int64_t output_tokens) {
  return ttft_ms + tpot_ms * static_cast<double>(output_tokens - 1);
}

// One deployment under one load, as all its copies have it. A copy is a worker, or the instances
// that share prompts and decoding.
struct Candidate {
  Engine engine = Engine::kTrtllm;
  Worker worker = {};  // of a split copy: the one that decodes
  Split split = {};
  std::size_t place = 0;         // among those that were priced
  std::int64_t step_tokens = 0;  // most of a step, of an aggregated worker; 0: the engine's own
  std::int64_t copies = 1;
  std::int64_t concurrency = 1;  // of one copy
  double ttft_ms = 0;            // in the long run
  double tpot_ms = 0;
  // The mean TTFT that a benchmark would see, of ten requests for each in flight, with the wave of
  // prompts at its beginning; of the first pick alone, and only where it may be simulated.
  std::optional<double> benchmark_ttft_ms = std::nullopt;
  std::size_t benchmark = 0;                // of SearchResult::benchmarks, that tells it
  double requests_per_s = 0;                // of one copy
  double tokens_per_s_per_gpu = 0;          // of the GPUs that are used
  double tokens_per_s_per_user = 0;         // 1000 / tpot
  double cluster_tokens_per_s_per_gpu = 0;  // of all GPUs, used or not
  double memory_bytes = 0;                  // of a GPU, with the cache that the load needs
  bool is_simulated = false;
  StepParts parts = {};  // of its mean step
  // That of TTFT is of what a benchmark sees: no measurement of the long run was at hand.
  LatencyBars bars = {};
  // Of these bars. The long run's TTFT is taken to err as a benchmark's.
  LatencyMargins margins = {};
  ErrorBar rate_bar = {};
  // Of the time of its steps, that whose power is known; and the tokens for a joule of it.
  PowerShares power = {};
  double tokens_per_joule = 0;

  [[nodiscard]] bool has_energy() const { return power.known() >= kLeastKnownShare; }

  [[nodiscard]] bool is_split() const { return split.prefill_instances > 0; }

  // Of one copy.
  [[nodiscard]] std::int64_t gpus() const;

  // "tp 4", "3P(tp 2) + 1D(tp 8)"
  [[nodiscard]] std::string text() const;

  // Copies of the same worker, however many instances prompts have beside it.
  [[nodiscard]] bool is_like(const Candidate& other) const {
    return engine == other.engine && is_split() == other.is_split() && worker == other.worker;
  }

  // Its instances, too, are equal.
  [[nodiscard]] bool is_same_copy(const Candidate& other) const {
    return is_like(other) && step_tokens == other.step_tokens &&
           split.prefill == other.split.prefill &&
           split.prefill_instances == other.split.prefill_instances &&
           split.decode_instances == other.split.decode_instances;
  }

  // What limits are compared with.
  [[nodiscard]] double judged_ttft_ms() const { return margins.ttft * ttft_ms; }

  [[nodiscard]] double judged_tpot_ms() const { return margins.tpot * tpot_ms; }

  // The limit that it is nearest to, or breaks most: the judged latency over the limit.
  [[nodiscard]] double excess(const SearchRequest& request) const;

  // Both latencies are taken at the same end of their bars, as the rate is.
  [[nodiscard]] double judged_request_ms(const SearchRequest& request) const {
    return request_ms_of(judged_ttft_ms(), judged_tpot_ms(), request.output_tokens);
  }

  [[nodiscard]] bool meets(const SearchRequest& request) const {
    return judged_ttft_ms() <= request.ttft_limit_ms && judged_tpot_ms() <= request.tpot_limit_ms &&
           judged_request_ms(request) <= request.request_limit_ms;
  }
};

// A worker that has no price, or no room.
struct Refused {
  Worker worker;
  std::string reason;
  Engine engine = Engine::kTrtllm;
};

// What a benchmark sees of a candidate; std::nullopt where it cannot run.
using BenchmarkTtft = std::function<std::optional<double>(const Candidate& candidate)>;

struct SearchResult {
  std::vector<Candidate> candidates = {};  // that decide: the simulated ones, where any were
  std::size_t priced = 0;                  // by the closed form
  std::vector<Refused> refused = {};
  std::vector<std::string> notes = {};  // sentences about all of it
  // What they tell refers to the model and the tables.
  std::vector<BenchmarkTtft> benchmarks = {};
};

// Error: no worker is left; it says why each is not.
core::Result<SearchResult> search(const serving::Model& model,
                                  const SearchRequest& request,
                                  Tables& tables);

// The same of several engines, in one ranking. request.engine and request.precision are not read.
core::Result<SearchResult> search(const serving::Model& model,
                                  const SearchRequest& request,
                                  std::span<const SearchedEngine> engines);

// An aggregated worker at any batch, priced by the closed form and as the request's scheduler has
// it; with error bars, as one copy. `decide` gives std::nullopt for what cannot run.
struct DeploymentCurve {
  Engine engine = Engine::kTrtllm;
  Worker worker = {};
  std::int64_t most_batch = 1;  // of each of the worker's batches
  std::function<Candidate(std::int64_t batch)> price = {};
  std::function<std::optional<Candidate>(std::int64_t batch)> decide = {};

  // Requests in flight for each request of a batch.
  [[nodiscard]] std::int64_t batches() const { return worker.dp * worker.pp; }
};

struct DeploymentCurves {
  std::vector<DeploymentCurve> curves = {};
  std::vector<Refused> refused = {};
  std::vector<std::string> notes = {};           // sentences about all of it
  std::shared_ptr<const void> search = nullptr;  // to which the curves refer
};

// Every worker that request.gpus allow. Model, request and tables must outlive it. Error: as
// search().
core::Result<DeploymentCurves> deployment_curves(const serving::Model& model,
                                                 const SearchRequest& request,
                                                 std::span<const SearchedEngine> engines);

// The best of each worker of each engine that meet the limits, at most `most`, the one with the
// most tokens on the cluster first, which has what a benchmark would see. Where none meets them:
// the one candidate that comes closest to both.
struct Picks {
  std::vector<Candidate> best = {};
  bool meet = false;
};

Picks pick(const SearchResult& result, const SearchRequest& request, std::size_t most);

// Those that no other beats in both tokens per user and tokens on the cluster, by tokens per user.
std::vector<Candidate> frontier(const std::vector<Candidate>& candidates);

}  // namespace assay::plan
