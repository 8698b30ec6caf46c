// vLLM's limits are those of one engine, of which each group with requests of its own has one.
// Caches are sent by NIXL: whoever decodes reads what another computed, both in one role.
#include <fmt/core.h>

#include "core/shell.h"
#include "plan/files/engine_files.h"
#include "plan/files/speculation_settings.h"

namespace assay::plan {
namespace {

std::string vllm_image(std::string_view version) {
  return fmt::format("vllm/vllm-openai:v{}", version);
}

// A step that was scheduled ahead may still compute a request that has ended, or clear its blocks,
// and so overwrite states and caches that have come for the next one (vllm-project/vllm 37285).
Words vllm_pool(const PlannedDeployment& planned) {
  if (planned.role == Role::kBoth) return {};
  Words words = {"--kv-transfer-config", R"({"kv_connector":"NixlConnector","kv_role":"kv_both"})"};
  if (planned.sends_states) words.emplace_back("--no-async-scheduling");
  return words;
}

Words vllm_options(const PlannedDeployment& planned) {
  const Limits& limits = planned.limits;
  Words words = {"--served-model-name",    planned.model,
                 "--tensor-parallel-size", std::to_string(planned.worker.tp),
                 "--data-parallel-size",   std::to_string(planned.worker.dp)};
  if (planned.worker.pp > 1)
    words.insert(words.end(), {"--pipeline-parallel-size", std::to_string(planned.worker.pp)});
  if (planned.has_experts && planned.worker.moe_ep > 1)
    words.emplace_back("--enable-expert-parallel");
  words.insert(words.end(),
               {"--max-model-len", std::to_string(planned.most_request_tokens()), "--max-num-seqs",
                std::to_string(limits.max_batch * planned.worker.pp), "--max-num-batched-tokens",
                std::to_string(limits.max_tokens), "--gpu-memory-utilization",
                fmt::format("{}", planned.memory_share), "--kv-cache-dtype",
                planned.cache == serving::Quantization::kFp8 ? "fp8" : "auto"});
  words.emplace_back(limits.prompts == Limits::Prompts::kChunked ? "--enable-chunked-prefill"
                                                                 : "--no-enable-chunked-prefill");
  words.emplace_back(limits.prefix_cache == Limits::PrefixCache::kOn
                         ? "--enable-prefix-caching"
                         : "--no-enable-prefix-caching");
  const Words pool = vllm_pool(planned);
  words.insert(words.end(), pool.begin(), pool.end());
  const Words speculation = vllm_speculation(planned.speculation);
  words.insert(words.end(), speculation.begin(), speculation.end());
  if (limits.graph_batches.empty()) return words;
  words.emplace_back("--cudagraph-capture-sizes");
  for (const std::int64_t batch : limits.graph_batches)
    words.push_back(std::to_string(batch));
  return words;
}

// NixlConnector sends parts of the convolution's state, which lie together in this layout alone.
std::map<std::string, std::string> vllm_variables(const PlannedDeployment& planned) {
  if (planned.role == Role::kBoth || !planned.sends_states) return {};
  return {{"VLLM_SSM_CONV_STATE_LAYOUT", "DS"}};
}

Words vllm_serve(const PlannedDeployment& planned, const std::string& /*settings*/) {
  Words words = {"vllm",    "serve",  planned.model_path,          "--host",
                 "0.0.0.0", "--port", std::to_string(planned.port)};
  const Words options = vllm_options(planned);
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

Words vllm_dynamo(const PlannedDeployment& planned, const std::string& /*settings*/) {
  Words words = {"--model", planned.model_path};
  const Words options = vllm_options(planned);
  words.insert(words.end(), options.begin(), options.end());
  if (planned.role != Role::kBoth)
    words.insert(words.end(), {"--disaggregation-mode", std::string(name_of(planned.role))});
  return words;
}

Words vllm_route(const PlannedDeployment& planned,
                 const Instances& instances,
                 const std::string& /*settings*/) {
  Words words = {"vllm-router",
                 "--host",
                 "0.0.0.0",
                 "--port",
                 std::to_string(planned.port),
                 "--policy",
                 "round_robin",
                 "--worker-startup-timeout-secs",
                 std::to_string(kLongestStartSeconds),
                 "--vllm-pd-disaggregation"};
  for (const std::string& address : instances.prefill)
    words.insert(words.end(), {"--prefill", "http://" + address});
  for (const std::string& address : instances.decode)
    words.insert(words.end(), {"--decode", "http://" + address});
  return words;
}

Words vllm_measure(const PlannedDeployment& planned) {
  return {"vllm bench serve",
          "--backend vllm",
          "--base-url \"$url\"",
          "--model \"$model\"",
          "--served-model-name " + core::shell_quoted(planned.model),
          "--dataset-name random",
          random_prompt_words(planned),
          fmt::format("--random-output-len {}", planned.output_tokens),
          "--random-range-ratio 0",
          "--ignore-eos",
          "--temperature 0",
          "--num-prompts \"$requests\"",
          "--max-concurrency \"$concurrency\"",
          "--seed \"$concurrency\"",
          "--save-result",
          "--result-filename \"$result\""};
}

const EngineFiles kVllmFiles{
    .name = "vllm",
    .engine = Engine::kVllm,
    .least_version = "0.12",
    .version = "0.12.0",
    .image = vllm_image,
    .serve = vllm_serve,
    .variables = vllm_variables,
    .nodes = {.count = "--nnodes",
              .number = "--node-rank",
              .first = "--master-addr",
              .first_port = "--master-port",
              .others = "--headless"},
    .transfer_port = {.first = 5600,
                      .variable = "VLLM_NIXL_SIDE_CHANNEL_PORT",
                      .host_variable = "VLLM_NIXL_SIDE_CHANNEL_HOST"},
    .route = vllm_route,
    .router_image = "vllm/vllm-router:nightly",
    .llmd_connector = "nixlv2",
    .dynamo_service = "VllmWorker",
    .dynamo_module = "dynamo.vllm",
    .dynamo_image = "REGISTRY/nvidia/ai-dynamo/vllm-runtime:1.3.0",
    .dynamo_options = vllm_dynamo,
    .measure = vllm_measure,
    .result_ending = "json",
};
ASSAY_REGISTER(EngineFiles, kVllmFiles);

}  // namespace
}  // namespace assay::plan
