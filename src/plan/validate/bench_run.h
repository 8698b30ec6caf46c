// One run of a client against a deployment, as the formats of clients tell it.
//
// A new format is one file beside this: a function that recognizes a result of its own and gives
// the runs in it, and a line in parse_bench_result().
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::plan {

struct BenchRun {
  std::int64_t concurrency = 0;  // requests that stay in flight; 0: the run kept none
  double completed = 0;
  double failed = 0;
  double prompt_tokens = 0;  // means; 0: the result does not tell
  double output_tokens = 0;
  double ttft_ms = 0;
  double tpot_ms = 0;
};

// A result of `vllm bench serve`, of TensorRT-LLM's benchmark_serving or of SGLang's bench_serving.
bool is_engine_client_run(const nlohmann::json& object);
core::Result<BenchRun> engine_client_run(const nlohmann::json& object, const std::string& name);

// profile_export_aiperf.json of aiperf, or profile_export_genai_perf.json of genai-perf, whose
// metrics are objects with a unit each.
bool is_perf_client_run(const nlohmann::json& object);
core::Result<BenchRun> perf_client_run(const nlohmann::json& object, const std::string& name);

// The same results as CSV, which do not tell the concurrency: it is in the name, as in
// "concurrency-8.csv" or "model-chat-concurrency8/profile_export_genai_perf.csv".
bool is_perf_client_csv(std::string_view text);
core::Result<BenchRun> perf_client_csv_run(std::string_view text, const std::string& name);

// A finite number; nothing for anything else.
std::optional<double> number_in(const nlohmann::json& object, const char* field);

// A concurrency from 1 on, where the number is one; else 0.
std::int64_t concurrency_of(std::optional<double> number);

}  // namespace assay::plan
