// vLLM's limits are those of one engine, of which each group with requests of its own has one.
#include <fmt/core.h>

#include "plan/files/engine_files.h"
#include "plan/files/speculation_settings.h"

namespace assay::plan {
namespace {

std::string vllm_image(const std::string& version) {
  return fmt::format("vllm/vllm-openai:v{}", version.empty() ? "0.12.0" : version);
}

Words vllm_options(const PlannedDeployment& planned) {
  const Limits& limits = planned.limits;
  Words words = {"--served-model-name",    planned.model,
                 "--tensor-parallel-size", std::to_string(planned.worker.tp),
                 "--data-parallel-size",   std::to_string(planned.worker.dp)};
  if (planned.has_experts && planned.worker.moe_ep > 1)
    words.emplace_back("--enable-expert-parallel");
  words.insert(words.end(),
               {"--max-model-len", std::to_string(planned.most_request_tokens()), "--max-num-seqs",
                std::to_string(limits.max_batch), "--max-num-batched-tokens",
                std::to_string(limits.max_tokens), "--gpu-memory-utilization",
                fmt::format("{}", planned.memory_share), "--kv-cache-dtype",
                planned.cache == serving::Quantization::kFp8 ? "fp8" : "auto"});
  words.emplace_back(limits.prompts == Limits::Prompts::kChunked ? "--enable-chunked-prefill"
                                                                 : "--no-enable-chunked-prefill");
  words.emplace_back(limits.prefix_cache == Limits::PrefixCache::kOn
                         ? "--enable-prefix-caching"
                         : "--no-enable-prefix-caching");
  const Words speculation = vllm_speculation(planned.speculation);
  words.insert(words.end(), speculation.begin(), speculation.end());
  if (limits.graph_batches.empty()) return words;
  words.emplace_back("--cudagraph-capture-sizes");
  for (const std::int64_t batch : limits.graph_batches)
    words.push_back(std::to_string(batch));
  return words;
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
  return words;
}

Words vllm_measure(const PlannedDeployment& planned) {
  return {"vllm bench serve",
          "--backend vllm",
          "--base-url \"$url\"",
          "--model \"$model\"",
          "--served-model-name " + shell_quoted(planned.model),
          "--dataset-name random",
          fmt::format("--random-input-len {}", planned.prompt_tokens),
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
    .image = vllm_image,
    .serve = vllm_serve,
    .dynamo_service = "VllmWorker",
    .dynamo_module = "dynamo.vllm",
    .dynamo_image = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0",
    .dynamo_options = vllm_dynamo,
    .measure = vllm_measure,
    .result_ending = "json",
};
ASSAY_REGISTER(EngineFiles, kVllmFiles);

}  // namespace
}  // namespace assay::plan
