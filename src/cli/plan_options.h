// Options that the commands of assay plan share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/price_sources.h"
#include "core/result.h"
#include "model/serving/model.h"
#include "plan/engine.h"
#include "plan/schedule/metrics.h"
#include "plan/search/search.h"
#include "plan/speculation.h"

namespace assay::cli {

Choices<plan::Engine> engine_choices();

// These options say which model is served, by which engine, and on which GPUs.
struct ServedModel {
  std::string model;
  std::string system = "h200_sxm";
  PriceSources prices = {};
  plan::Engine engine = plan::Engine::kTrtllm;
  std::string version;  // of the engine; empty: the newest
  plan::CacheType cache = plan::CacheType::kEngine;

  // Returns the options that name another type of the cache than the engine's own: "
  // --kv-cache-dtype fp8"; "" where none does.
  [[nodiscard]] std::string cache_words() const;
};

// Declares --model, --system, --systems-paths, --store, --backend, --backend-version and
// --kv-cache-dtype.
void add_served_model(App& app, ServedModel& served);

// Declares the same for one engine or for all of them ("any").
void add_searched_model(App& app, ServedModel& served, std::vector<plan::Engine>& engines);

// Warns of a version of the engine that changes nothing: it says which tables of --systems-paths
// are read, and which entries of a calibration.
void warn_of_version(const ServedModel& served, const std::filesystem::path& calibration);

// Declares an option that takes a whole number of at least 1 and shows its default: GPUs, or what
// GPUs are in.
Option* add_gpus(App& app, const char* name, std::int64_t& gpus, const char* help);

// These options tell what the steps of an engine draft.
class SpeculationOptions {
 public:
  // Declares --speculative-tokens and --acceptance-rate.
  void add(App& app);

  // Error: one of the options without the other, or rates that make no sense.
  [[nodiscard]] core::Status check() const;

  // Error: the model has no layers that draft.
  [[nodiscard]] core::Result<plan::Speculation> speculation(const serving::Model& model) const;

  [[nodiscard]] bool is_given() const { return tokens_ > 0; }

  // " --speculative-tokens 2 --acceptance-rate 0.8"; "" where nothing is drafted.
  [[nodiscard]] std::string words() const;

 private:
  [[nodiscard]] core::Result<plan::Speculation> said() const;

  std::int64_t tokens_ = 0;
  std::string rates_;
};

// Error: as SpeculationOptions::check(), or something is drafted where workers may have stages.
core::Status check_staged_drafts(const SpeculationOptions& drafts, std::int64_t most_stages);

// Returns "" for a number of drafted tokens that tables can price.
std::string speculative_tokens_problem(const std::string& text);

// Declares --isl and --osl.
void add_lengths_options(App& app, std::int64_t& prompt_tokens, std::int64_t& output_tokens);

// Declares --max-nodes: those that a worker may span without stages.
void add_max_nodes_option(App& app, std::int64_t& nodes);

// Declares --max-num-tokens, a list.
void add_step_tokens_option(App& app, std::vector<std::int64_t>& tokens);

// Declares --prefix: tokens that all prompts begin with, which caches keep.
void add_prefix_option(App& app, std::int64_t& tokens);

// Says that lengths are beyond the model's context, which engines refuse; "" where they are not.
std::string context_in_words(const serving::Model& model,
                             std::int64_t prompt_tokens,
                             std::int64_t output_tokens);
void warn_of_context(const serving::Model& model,
                     std::int64_t prompt_tokens,
                     std::int64_t output_tokens);

// Says that no prefix of the model is found again, of which prompts then have none.
void drop_unfound_prefix(const serving::Model& model, std::int64_t& prefix_tokens);

// Error: the prefix leaves nothing of a prompt.
core::Status check_prefix(std::int64_t prefix_tokens, std::int64_t prompt_tokens);

// Declares --serving-mode and --decode-system.
void add_serving_mode_options(App& app, plan::ServingMode& mode, std::string& decode_system);

// These options limit latencies. A limit on whole requests stands for those on their parts, unless
// they are given, too.
class LatencyLimitOptions {
 public:
  // Declares --ttft, --tpot and --request-latency.
  void add(App& app);

  void set(plan::SearchRequest& request) const;

  // What a good request keeps.
  [[nodiscard]] plan::ServiceLevel level() const;

 private:
  std::optional<double> ttft_ms_;
  std::optional<double> tpot_ms_;
  std::optional<double> request_ms_;
};

// Declares --confidence, in percent.
Option* add_confidence_option(App& app, std::optional<double>& percent, const char* help);

// The chance that it asks for.
double chance_of(const std::optional<double>& percent);

// Error: --confidence is given for a workload whose requests come by themselves.
core::Status check_confidence(const std::optional<double>& percent, bool is_open);

// Declares --scheduler.
void add_scheduler_option(App& app, plan::Scheduler& scheduler);

// Declares --least-length.
void add_least_length_option(App& app, double& share);

// Returns "" for a number above 0 and at most 1.
std::string share_problem(const std::string& text);

}  // namespace assay::cli
