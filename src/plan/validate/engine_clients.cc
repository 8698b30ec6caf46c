// The clients that come with serving engines. Their fields are those that vllm/benchmarks/serve.py
// (vLLM 0.12), benchmark_serving.py of TensorRT-LLM 1.1 and bench_serving.py of SGLang 0.5 write;
// all times are in ms.
#include <fmt/core.h>

#include "plan/validate/bench_run.h"

namespace assay::plan {
namespace {

using Json = nlohmann::json;

core::Result<double> time_in(const Json& run, const char* field, const std::string& name) {
  const std::optional<double> value = number_in(run, field);
  if (value && *value >= 0) return *value;
  return core::Error{fmt::format("{}: {} is no time", name, field)};
}

double mean_of(const Json& run, const char* total, double requests) {
  const std::optional<double> tokens = number_in(run, total);
  return tokens && requests >= 1 && *tokens >= requests ? *tokens / requests : 0;
}

}  // namespace

bool is_engine_client_run(const Json& object) {
  return object.contains("mean_ttft_ms") && object.contains("mean_tpot_ms");
}

core::Result<BenchRun> engine_client_run(const Json& object, const std::string& name) {
  BenchRun run{.completed = number_in(object, "completed").value_or(0),
               .ttft_ms = ASSAY_TRY(time_in(object, "mean_ttft_ms", name)),
               .tpot_ms = ASSAY_TRY(time_in(object, "mean_tpot_ms", name))};
  // A client that waits between requests gives a rate.
  if (!number_in(object, "request_rate"))
    run.concurrency = concurrency_of(number_in(object, "max_concurrency"));
  const double sent = number_in(object, "num_prompts").value_or(run.completed);
  run.failed = number_in(object, "failed").value_or(sent - run.completed);
  run.prompt_tokens = mean_of(object, "total_input_tokens", run.completed);
  run.output_tokens = mean_of(object, "total_output_tokens", run.completed);
  return run;
}

}  // namespace assay::plan
