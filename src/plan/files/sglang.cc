// SGLang divides two of its limits by the groups with requests of their own, so that they are
// written for all groups: max_running_requests and chunked_prefill_size. Its GPUs are those of all
// groups, too.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "plan/files/engine_files.h"
#include "plan/files/speculation_settings.h"

namespace assay::plan {
namespace {

// Where an instance that computes prompts tells those that decode how to reach it.
constexpr std::int64_t kBootstrapPort = 8998;

std::string sglang_image(std::string_view version) {
  return fmt::format("lmsysorg/sglang:v{}", version);
}

// A pool's place beside the other one, which instances of later versions ask each other: they have
// no options for it. Groups that decode take the prompts of the other pool's groups in turn, which
// 0.5.6 wants to be told and later versions do anyway.
Words sglang_pool(const PlannedDeployment& planned) {
  if (planned.role == Role::kBoth) return {};
  Words words = {"--disaggregation-mode",
                 std::string(name_of(planned.role)),
                 "--disaggregation-transfer-backend",
                 "nixl",
                 "--disaggregation-bootstrap-port",
                 std::to_string(kBootstrapPort)};
  if (is_from(planned.engine_version, "0.5.12")) return words;
  const Worker& peer = planned.peer;
  if (planned.role == Role::kPrefill) {
    words.insert(words.end(), {"--disaggregation-decode-tp", std::to_string(peer.gpus() / peer.pp),
                               "--disaggregation-decode-dp", std::to_string(peer.dp)});
    return words;
  }
  if (peer.pp > 1)
    words.insert(words.end(), {"--disaggregation-prefill-pp", std::to_string(peer.pp)});
  if (planned.worker.dp > 1) words.emplace_back("--prefill-round-robin-balance");
  return words;
}

std::string sglang_ratio(double ratio) {
  constexpr double kThousand = 1000;
  return fmt::format("{}", std::ceil(ratio * kThousand) / kThousand);
}

Words sglang_options(const PlannedDeployment& planned) {
  const Limits& limits = planned.limits;
  const Worker& worker = planned.worker;
  const bool is_chunked = limits.prompts == Limits::Prompts::kChunked;
  Words words = {"--model-path", planned.model_path, "--served-model-name",
                 planned.model,  "--tp-size",        std::to_string(worker.gpus() / worker.pp)};
  if (worker.dp > 1)
    words.insert(words.end(), {"--dp-size", std::to_string(worker.dp), "--enable-dp-attention"});
  if (worker.pp > 1) words.insert(words.end(), {"--pp-size", std::to_string(worker.pp)});
  if (planned.has_experts && worker.moe_ep > 1)
    words.insert(words.end(), {"--ep-size", std::to_string(worker.moe_ep)});
  words.insert(
      words.end(),
      {"--context-length", std::to_string(planned.most_request_tokens()), "--max-running-requests",
       std::to_string(limits.max_batch * worker.dp * worker.pp), "--chunked-prefill-size",
       is_chunked ? std::to_string(limits.max_tokens * worker.dp) : "-1", "--max-prefill-tokens",
       std::to_string(limits.max_prefill_tokens), "--mem-fraction-static",
       fmt::format("{}", planned.memory_share), "--kv-cache-dtype",
       planned.cache == serving::Quantization::kFp8 ? "fp8_e4m3" : "auto"});
  if (planned.window_ratio > 0)
    words.insert(words.end(), {"--swa-full-tokens-ratio", sglang_ratio(planned.window_ratio)});
  if (limits.prefix_cache == Limits::PrefixCache::kOff) words.emplace_back("--disable-radix-cache");
  if (limits.overlap == Limits::Overlap::kNone) words.emplace_back("--disable-overlap-schedule");
  const Words pool = sglang_pool(planned);
  words.insert(words.end(), pool.begin(), pool.end());
  const Words speculation = sglang_speculation(planned.speculation);
  words.insert(words.end(), speculation.begin(), speculation.end());
  if (limits.graph_batches.empty()) return words;
  words.emplace_back("--cuda-graph-bs");
  for (const std::int64_t batch : limits.graph_batches)
    words.push_back(std::to_string(batch));
  return words;
}

// Without it, 0.5 runs no step ahead where it drafts, which is slower than priced.
std::map<std::string, std::string> sglang_variables(const PlannedDeployment& planned) {
  if (planned.speculation.tokens == 0 || planned.limits.overlap == Limits::Overlap::kNone)
    return {};
  return {{"SGLANG_ENABLE_SPEC_V2", "1"}};
}

Words sglang_serve(const PlannedDeployment& planned, const std::string& /*settings*/) {
  Words words = {"python3", "-m",     "sglang.launch_server",      "--host",
                 "0.0.0.0", "--port", std::to_string(planned.port)};
  const Words options = sglang_options(planned);
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

Words sglang_dynamo(const PlannedDeployment& planned, const std::string& /*settings*/) {
  return sglang_options(planned);
}

Words sglang_route(const PlannedDeployment& planned,
                   const Instances& instances,
                   const std::string& /*settings*/) {
  Words words = {"python3",
                 "-m",
                 "sglang_router.launch_router",
                 "--host",
                 "0.0.0.0",
                 "--port",
                 std::to_string(planned.port),
                 "--policy",
                 "round_robin",
                 "--worker-startup-timeout-secs",
                 std::to_string(kLongestStartSeconds),
                 "--pd-disaggregation"};
  for (std::size_t i = 0; i < instances.prefill.size(); ++i)
    words.insert(words.end(), {"--prefill", "http://" + instances.prefill[i],
                               std::to_string(instances.prefill_transfer_ports[i])});
  for (const std::string& address : instances.decode)
    words.insert(words.end(), {"--decode", "http://" + address});
  return words;
}

// A ratio of 1 sends the lengths as they are, since SGLang's client draws them from it upwards.
// Random prompts, or one text that all prompts begin with and a question behind it.
Words sglang_prompts(const PlannedDeployment& planned) {
  if (planned.prefix_tokens == 0) {
    return {"--dataset-name random-ids", "--tokenize-prompt",
            fmt::format("--random-input-len {}", planned.prompt_tokens),
            fmt::format("--random-output-len {}", planned.output_tokens), "--random-range-ratio 1"};
  }
  return {"--dataset-name generated-shared-prefix",
          "--gsp-num-groups 1",
          "--gsp-prompts-per-group \"$requests\"",
          fmt::format("--gsp-system-prompt-len {}", planned.prefix_tokens),
          fmt::format("--gsp-question-len {}", planned.prompt_tokens - planned.prefix_tokens),
          fmt::format("--gsp-output-len {}", planned.output_tokens)};
}

Words sglang_measure(const PlannedDeployment& planned) {
  Words words = {"python3 -m sglang.bench_serving", "--backend sglang", "--base-url \"$url\"",
                 "--model \"$model\""};
  for (const Words& more :
       {sglang_prompts(planned),
        Words{"--num-prompts \"$requests\"", "--max-concurrency \"$concurrency\"",
              "--seed \"$concurrency\"", "--output-file \"$result\""}})
    words.insert(words.end(), more.begin(), more.end());
  return words;
}

const EngineFiles kSglangFiles{
    .name = "sglang",
    .engine = Engine::kSglang,
    .least_version = "0.5",
    .version = "0.5.6",
    .image = sglang_image,
    .serve = sglang_serve,
    .variables = sglang_variables,
    .nodes = {.count = "--nnodes", .number = "--node-rank", .first = "--dist-init-addr"},
    .transfer_port = {.first = kBootstrapPort, .option = "--disaggregation-bootstrap-port"},
    .route = sglang_route,
    .llmd_connector = "sglang",
    .dynamo_service = "SGLangWorker",
    .dynamo_module = "dynamo.sglang",
    .dynamo_image = "REGISTRY/nvidia/ai-dynamo/sglang-runtime:1.3.0",
    .dynamo_options = sglang_dynamo,
    .measure = sglang_measure,
    .result_ending = "jsonl",
};
ASSAY_REGISTER(EngineFiles, kSglangFiles);

}  // namespace
}  // namespace assay::plan
