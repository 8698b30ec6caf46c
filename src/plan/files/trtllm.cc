// TensorRT-LLM's PyTorch backend takes everything from a file. Its limits are those of one rank
// where ranks have requests of their own.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/files/engine_files.h"
#include "plan/files/speculation_settings.h"

namespace assay::plan {
namespace {

using Json = nlohmann::ordered_json;

std::string trtllm_image(std::string_view version) {
  return fmt::format("{}nvidia/tensorrt-llm/release:{}", kRegistry, version);
}

// The transceiver in C++, which is the default, does not send states by NIXL.
Json trtllm_transceiver(const PlannedDeployment& planned) {
  Json transceiver = {{"backend", planned.sends_states ? "NIXL" : "DEFAULT"}};
  if (planned.sends_states) transceiver["transceiver_runtime"] = "PYTHON";
  transceiver["max_tokens_in_buffer"] = planned.most_request_tokens();
  return transceiver;
}

// Returns the keys that each layer keeps; the list begins anew where it ends.
std::vector<std::int64_t> trtllm_windows(const PlannedDeployment& planned) {
  std::vector<std::int64_t> windows;
  for (const std::int64_t window : planned.windows)
    windows.push_back(window == 0 ? planned.most_request_tokens() : window);
  return windows;
}

// Without it the memory is shared evenly among the sizes of windows, which are counted from the
// smallest. Its reader adds the shares up and wants exactly 1, which parts of 256 have in binary.
std::map<std::string, std::string> trtllm_variables(const PlannedDeployment& planned) {
  if (planned.windows.empty()) return {};
  constexpr double kParts = 256;
  const double share =
      std::clamp(std::ceil(planned.window_share * kParts), 1.0, kParts - 1) / kParts;
  return {{"TRTLLM_WINDOW_SIZE_SHARES", fmt::format("{},{}", share, 1 - share)}};
}

Json trtllm_settings(const PlannedDeployment& planned) {
  const Limits& limits = planned.limits;
  const bool evicts = limits.capacity == Limits::Capacity::kMaxUtilization;
  Json settings = {{"tensor_parallel_size", planned.worker.gpus() / planned.worker.pp},
                   {"pipeline_parallel_size", planned.worker.pp},
                   {"enable_attention_dp", planned.worker.dp > 1}};
  if (planned.spans_nodes()) settings["gpus_per_node"] = planned.gpus_of_node();
  if (planned.has_experts) {
    settings["moe_tensor_parallel_size"] = planned.worker.moe_tp;
    settings["moe_expert_parallel_size"] = planned.worker.moe_ep;
  }
  settings["max_batch_size"] = limits.max_batch;
  settings["max_num_tokens"] = limits.max_tokens;
  settings["max_seq_len"] = planned.most_request_tokens();
  settings["enable_chunked_prefill"] = limits.prompts == Limits::Prompts::kChunked;
  settings["disable_overlap_scheduler"] = limits.overlap == Limits::Overlap::kNone;
  settings["scheduler_config"] = {
      {"capacity_scheduler_policy", evicts ? "MAX_UTILIZATION" : "GUARANTEED_NO_EVICT"}};
  settings["kv_cache_config"] = {
      {"free_gpu_memory_fraction", planned.memory_share},
      {"dtype", planned.cache == serving::Quantization::kFp8 ? "fp8" : "auto"},
      {"enable_block_reuse", limits.prefix_cache == Limits::PrefixCache::kOn}};
  if (!planned.windows.empty())
    settings["kv_cache_config"]["max_attention_window"] = trtllm_windows(planned);
  if (planned.role != Role::kBoth)
    settings["cache_transceiver_config"] = trtllm_transceiver(planned);
  add_trtllm_speculation(planned.speculation, settings);
  settings["cuda_graph_config"] = {{"enable_padding", true}, {"batch_sizes", limits.graph_batches}};
  return settings;
}

Words trtllm_serve(const PlannedDeployment& planned, const std::string& settings) {
  return {"trtllm-serve",
          planned.model_path,
          "--host",
          "0.0.0.0",
          "--port",
          std::to_string(planned.port),
          "--extra_llm_api_options",
          settings};
}

Words trtllm_dynamo(const PlannedDeployment& planned, const std::string& settings) {
  Words words = {"--model-path", planned.model_path,    "--served-model-name",
                 planned.model,  "--extra-engine-args", settings};
  if (planned.role != Role::kBoth)
    words.insert(words.end(), {"--disaggregation-mode", std::string(name_of(planned.role))});
  return words;
}

Words trtllm_route(const PlannedDeployment& /*planned*/,
                   const Instances& /*instances*/,
                   const std::string& settings) {
  const std::string seconds = std::to_string(kLongestStartSeconds);
  return {"trtllm-serve", "disaggregated",     "-c",   settings, "--server_start_timeout",
          seconds,        "--request_timeout", seconds};
}

Json trtllm_route_settings(const PlannedDeployment& planned, const Instances& instances) {
  const auto servers = [](const std::vector<std::string>& urls) {
    return Json({{"num_instances", urls.size()}, {"urls", urls}});
  };
  return {{"hostname", "0.0.0.0"},
          {"port", planned.port},
          {"backend", "pytorch"},
          {"context_servers", servers(instances.prefill)},
          {"generation_servers", servers(instances.decode)}};
}

Words trtllm_measure(const PlannedDeployment& planned) {
  return {"python3 -m tensorrt_llm.serve.scripts.benchmark_serving",
          "--backend openai",
          "--base-url \"$url\"",
          "--model \"$model\"",
          "--dataset-name random",
          "--random-ids",
          "--tokenize-on-client",
          random_prompt_words(planned),
          fmt::format("--random-output-len {}", planned.output_tokens),
          "--random-range-ratio 0",
          "--ignore-eos",
          "--num-prompts \"$requests\"",
          "--max-concurrency \"$concurrency\"",
          "--seed \"$concurrency\"",
          "--save-result",
          "--result-filename \"$result\""};
}

const EngineFiles kTrtllmFiles{
    .name = "trtllm",
    .engine = Engine::kTrtllm,
    .least_version = "1.0",
    .version = "1.1.0",
    .image = trtllm_image,
    .has_candidate_images = true,
    .settings = trtllm_settings,
    .serve = trtllm_serve,
    .variables = trtllm_variables,
    .nodes = {.mpi_launcher = "trtllm-llmapi-launch"},
    .route = trtllm_route,
    .route_settings = trtllm_route_settings,
    .dynamo_service = "TRTLLMWorker",
    .dynamo_module = "dynamo.trtllm",
    .dynamo_image = "REGISTRY/nvidia/ai-dynamo/tensorrtllm-runtime:1.3.0",
    .dynamo_options = trtllm_dynamo,
    .measure = trtllm_measure,
    .result_ending = "json",
};
ASSAY_REGISTER(EngineFiles, kTrtllmFiles);

}  // namespace
}  // namespace assay::plan
