// Options that the commands of assay plan share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.h"
#include "plan/engine.h"
#include "plan/search/search.h"

namespace assay::cli {

inline const Choices<plan::Engine> kEngines{{"trtllm", plan::Engine::kTrtllm},
                                            {"vllm", plan::Engine::kVllm},
                                            {"sglang", plan::Engine::kSglang}};

// These options say which model is served, by which engine, and on which GPUs.
struct ServedModel {
  std::string model;
  std::string system = "h200_sxm";
  std::filesystem::path systems;  // empty: what ships with assay
  plan::Engine engine = plan::Engine::kTrtllm;
  std::string version;  // of the engine; empty: the newest
};

// Declares --model, --system, --systems-paths, --backend and --backend-version.
void add_served_model(App& app, ServedModel& served);

// Declares the same for one engine or for all of them ("any").
void add_searched_model(App& app, ServedModel& served, std::vector<plan::Engine>& engines);

// Declares an option that takes a whole number of at least 1 and shows its default.
void add_count(App& app, const char* name, std::int64_t& count, const char* help);

// Declares --isl and --osl.
void add_lengths_options(App& app, std::int64_t& prompt_tokens, std::int64_t& output_tokens);

// Declares --serving-mode and --decode-system.
void add_serving_mode_options(App& app, plan::ServingMode& mode, std::string& decode_system);

// Declares --ttft and --tpot.
void add_latency_limit_options(App& app, double& ttft_ms, double& tpot_ms);

// Declares --scheduler.
void add_scheduler_option(App& app, plan::Scheduler& scheduler);

// Declares --least-length.
void add_least_length_option(App& app, double& share);

// Returns "" for a number above 0 and at most 1.
std::string share_problem(const std::string& text);

// Declares --systems-paths.
void add_systems_option(App& app, std::filesystem::path& systems);

}  // namespace assay::cli
