// What is written for engines and clusters, read back by another reader of YAML.
//
// The options and settings were read in these pages, for the versions that the files name:
//   vLLM 0.12        docs.vllm.ai/en/v0.12.0/cli/serve and /cli/bench/serve
//   SGLang 0.5.6     docs.sglang.io/advanced_features/server_arguments.html and
//                    docs.sglang.io/developer_guide/bench_serving.html
//   TensorRT-LLM 1.1 nvidia.github.io/TensorRT-LLM/commands/trtllm-serve/trtllm-serve.html, its
//                    run-benchmark-with-trtllm-serve.html, and llm-api/reference.html
//                    (TorchLlmArgs)
//   their routers    vllm_router/router_args.py (vllm-project/router) and
//                    sglang_router/router_args.py (SGLang 0.5.6)
//   Dynamo 1.3       docs.nvidia.com/dynamo/latest/kubernetes/api_reference.html (v1alpha1)
//   llm-d            values.schema.json of the chart llm-d-modelservice v0.4.12
//   Kubernetes       kubernetes.io/docs/reference/kubernetes-api (apps/v1 Deployment, v1 Service)
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "plan/files/deployment_files.h"
#include "plan/files/engine_files.h"
#include "plan/files/manifests.h"
#include "plan/files/yaml.h"
#include "plan/schedule/policy.h"

namespace assay::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A schema is YAML, too. A key with "~" may be missing, "*" is any key, and a list has the schema
// of its elements. Values are "text", "number", "flag", "label" or "any".
void check_scalar(const YAML::Node& node, const std::string& type, const std::string& where) {
  ASSERT_TRUE(node.IsScalar()) << where;
  const std::string text = node.Scalar();
  double number = 0;
  bool flag = false;
  const bool is_quoted = node.Tag() == "!";
  const bool is_number = !is_quoted && YAML::convert<double>::decode(node, number);
  const bool is_flag = !is_quoted && YAML::convert<bool>::decode(node, flag);
  if (type == "number") {
    EXPECT_TRUE(is_number) << where << ": " << text;
  }
  if (type == "flag") {
    EXPECT_TRUE(is_flag) << where << ": " << text;
  }
  if (type == "label") {
    EXPECT_TRUE(is_dns_label(text)) << where << ": " << text;
  }
  if (type == "text" || type == "label") {
    EXPECT_FALSE(is_number || is_flag || text.empty()) << where << ": " << text;
    EXPECT_THAT(text, testing::AllOf(Not("None"), Not("null"), Not("~"))) << where;
  }
}

void check(const YAML::Node& node, const YAML::Node& schema, const std::string& where) {
  if (schema.IsScalar() && schema.Scalar() == "any") return;
  if (schema.IsScalar()) return check_scalar(node, schema.Scalar(), where);
  if (schema.IsSequence()) {
    ASSERT_TRUE(node.IsSequence()) << where;
    for (std::size_t i = 0; i < node.size(); ++i)
      check(node[i], schema[0], where + "[" + std::to_string(i) + "]");
    return;
  }
  ASSERT_TRUE(node.IsMap()) << where;
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const auto key = pair.first.as<std::string>();
    EXPECT_TRUE(seen.insert(key).second) << where << ": " << key << " twice";
    const YAML::Node plain = schema[key];
    const YAML::Node optional = schema[key + "~"];
    const YAML::Node any = schema["*"];
    const YAML::Node& one = plain ? plain : optional ? optional : any;
    EXPECT_TRUE(one.IsDefined()) << where << ": unknown key " << key;
    if (one) check(pair.second, one, where + "." + key);
  }
  for (const auto& pair : schema) {
    const auto key = pair.first.as<std::string>();
    if (key == "*" || key.ends_with("~")) continue;
    EXPECT_TRUE(seen.contains(key)) << where << ": " << key << " is missing";
  }
}

TEST(Schema, RefusesWhatItDoesNotSay) {
  const YAML::Node schema = YAML::Load("{a: number, b~: label, c: [text]}");
  check(YAML::Load("{a: 1, c: [x]}"), schema, "good");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{c: []}"), schema, ""), "a is missing");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{a: 1, c: [], d: 1}"), schema, ""), "unknown key d");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{a: '1', c: []}"), schema, ""), ".a");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{a: 1, b: A_b, c: []}"), schema, ""), ".b");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{a: 1, c: [1]}"), schema, ""), "[0]");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{a: 1, c: [None]}"), schema, ""), "[0]");
  EXPECT_NONFATAL_FAILURE(check(YAML::Load("{a: 1, c: [], a: 2}"), schema, ""), "a twice");
}

constexpr const char* kEnvironment =
    "[{name: text, value~: any, valueFrom~: {secretKeyRef~: {name: label, key: text, "
    "optional: flag}, fieldRef~: {fieldPath: text}}}]";
constexpr const char* kTolerations = "[{key: text, operator: text, effect: text}]";
constexpr const char* kVolumes =
    "[{name: label, configMap~: {name: label}, hostPath~: {path: text, type: text}, "
    "emptyDir~: {medium: text, sizeLimit: text}}]";
constexpr const char* kMounts = "[{name: label, mountPath: text}]";

YAML::Node schema_of(std::string text) {
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"ENV", kEnvironment},
      {"TOLERATIONS", kTolerations},
      {"VOLUMES", kVolumes},
      {"MOUNTS", kMounts},
      {"PROBE",
       "{httpGet: {path: text, port: text}, periodSeconds: number, timeoutSeconds: number, "
       "failureThreshold: number}"},
      {"META", "{name: label, namespace~: label}"}};
  const std::string role =
      "{create: flag, replicas~: number, parallelism~: "
      "{tensor: number, data: number, dataLocal: number}, acceleratorTypes~: {labelKey: text, "
      "labelValues: [text]}, volumes~: VOLUMES, containers~: [{name: label, image: text, "
      "modelCommand: text, command: [text], ports: [{name: label, containerPort: number, "
      "protocol: text}], env: ENV, mountModelVolume: flag, volumeMounts~: MOUNTS}]}";
  for (std::size_t at = text.find("ROLE"); at != std::string::npos; at = text.find("ROLE"))
    text.replace(at, 4, role);
  for (const auto& [name, part] : parts) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, name.size(), part);
  }
  return YAML::Load(text);
}

YAML::Node kubernetes_schema(const std::string& kind) {
  if (kind == "ConfigMap")
    return schema_of("{apiVersion: text, kind: text, metadata: META, data: {'*': text}}");
  if (kind == "Service")
    return schema_of(
        "{apiVersion: text, kind: text, metadata: META, spec: {clusterIP~: any, "
        "selector: {'*': label}, ports: [{name: label, port: number, targetPort~: text}]}}");
  if (kind == "Deployment" || kind == "StatefulSet")
    return schema_of(
        "{apiVersion: text, kind: text, metadata: META, spec: {replicas: number, "
        "serviceName~: label, podManagementPolicy~: text, "
        "selector: {matchLabels: {'*': label}}, template: {metadata: {labels: {'*': label}}, "
        "spec: {nodeSelector~: {'*': text}, tolerations~: TOLERATIONS, volumes~: VOLUMES, "
        "containers: [{name: label, image: text, command: [text], ports: [{name: label, "
        "containerPort: number}], env~: ENV, resources~: {limits: {nvidia.com/gpu: number}}, "
        "startupProbe~: PROBE, readinessProbe~: PROBE, volumeMounts~: MOUNTS}]}}}}");
  return schema_of(
      "{apiVersion: text, kind: text, metadata: META, spec: {services: {'*': {componentType: text, "
      "subComponentType~: text, replicas: number, resources~: {limits: {gpu: text}}, "
      "sharedMemory~: {size: text}, "
      "extraPodSpec: {nodeSelector~: {'*': text}, tolerations~: TOLERATIONS, volumes~: VOLUMES, "
      "mainContainer: {image: text, command: [text], args: [text], env~: ENV, "
      "volumeMounts~: MOUNTS}}}}}}");
}

constexpr const char* kLlmdSchema =
    "{fullnameOverride: label, modelArtifacts: {name: text, uri: text, size: text, "
    "labels: {'*': text}}, accelerator: {type: text}, routing: {servicePort: number, "
    "proxy: {enabled: flag, targetPort~: number, connector~: text}}, decode: ROLE, prefill: ROLE, "
    "extraObjects~: [{apiVersion: text, kind: text, metadata: META, "
    "data: {'*': text}}]}";

constexpr const char* kTrtllmSchema =
    "{tensor_parallel_size: number, pipeline_parallel_size: number, enable_attention_dp: flag, "
    "moe_tensor_parallel_size~: number, moe_expert_parallel_size~: number, max_batch_size: number, "
    "max_num_tokens: number, max_seq_len: number, enable_chunked_prefill: flag, "
    "disable_overlap_scheduler: flag, scheduler_config: {capacity_scheduler_policy: text}, "
    "kv_cache_config: {free_gpu_memory_fraction: number, dtype: text, enable_block_reuse: flag}, "
    "cache_transceiver_config~: {backend: text, max_tokens_in_buffer: number}, "
    "cuda_graph_config: {enable_padding: flag, batch_sizes: [number]}}";

PlannedDeployment planned_of(Engine engine, std::int64_t batch = 20) {
  PlannedDeployment planned;
  planned.engine = engine;
  planned.model = "Qwen/Qwen3-32B";
  planned.model_path = "Qwen/Qwen3-32B";
  planned.config = "Qwen/Qwen3-32B";
  planned.system = "h200_sxm";
  planned.worker = {.tp = 4, .dp = 1, .moe_tp = 4, .moe_ep = 1};
  planned.copies = 2;
  Limits limits = policy_of(engine).defaults();
  limits.kv_tokens = 100'000;
  planned.limits = deployed_limits(limits, engine, batch);
  planned.memory_share = 0.9;
  planned.concurrency = batch;
  planned.prompt_tokens = 4000;
  planned.output_tokens = 1000;
  planned.name = kube_name(planned.model, engine);
  planned.gpu_product = "NVIDIA-H200";
  return planned;
}

constexpr Engine kEngines[] = {Engine::kTrtllm, Engine::kVllm, Engine::kSglang};

// The values behind an option, up to the next one.
Words values_of(const Words& words, const std::string& option) {
  Words values;
  bool found = false;
  for (const std::string& word : words) {
    if (found && word.starts_with("--")) break;
    if (found) values.push_back(word);
    found = found || word == option;
  }
  return values;
}

std::vector<std::int64_t> numbers(const Words& words) {
  std::vector<std::int64_t> values;
  for (const std::string& word : words)
    values.push_back(std::stoll(word));
  return values;
}

std::vector<std::int64_t> graphs_written(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  if (files.settings != nullptr)
    return YAML::Load(yaml_text(files.settings(planned)))["cuda_graph_config"]["batch_sizes"]
        .as<std::vector<std::int64_t>>();
  const char* option =
      planned.engine == Engine::kVllm ? "--cudagraph-capture-sizes" : "--cuda-graph-bs";
  return numbers(values_of(files.serve(planned, ""), option));
}

class OfEngine : public testing::TestWithParam<Engine> {};

TEST_P(OfEngine, GraphsGrowAndEndAtTheLimit) {
  for (const std::int64_t batch : {1, 3, 20, 100, 128, 300, 4000}) {
    const PlannedDeployment planned = planned_of(GetParam(), batch);
    const std::vector<std::int64_t> graphs = graphs_written(planned);
    ASSERT_FALSE(graphs.empty()) << batch;
    for (std::size_t i = 1; i < graphs.size(); ++i)
      EXPECT_LT(graphs[i - 1], graphs[i]) << batch;
    // vLLM's are tokens of a step, of which it captures twice the requests by itself.
    EXPECT_LE(graphs.back(), GetParam() == Engine::kVllm ? 2 * batch : batch);
    EXPECT_LE(graphs.back(), planned.limits.max_tokens);
  }
}

TEST_P(OfEngine, TheWholeBatchHasAGraphOfItsOwnWhereOneWasPriced) {
  EXPECT_THAT(graphs_written(planned_of(GetParam(), 19)), Contains(19));
  EXPECT_THAT(graphs_written(planned_of(GetParam(), 1000)), Not(Contains(1000)));
}

TEST_P(OfEngine, ManifestsOfKubernetesHaveTheirFieldsAndNoOthers) {
  for (const bool is_local : {false, true}) {
    PlannedDeployment planned = planned_of(GetParam());
    if (is_local) planned.model_path = "/models/it's mine: #1";
    planned.kube_space = "serving";
    for (const std::string& text : {kubernetes_manifest(planned), dynamo_manifest(planned)}) {
      EXPECT_THAT(text, Not(HasSubstr("None")));
      for (const YAML::Node& document : YAML::LoadAll(text)) {
        const auto kind = document["kind"].as<std::string>();
        check(document, kubernetes_schema(kind), kind);
        EXPECT_EQ(document["metadata"]["namespace"].as<std::string>(), "serving");
      }
    }
  }
}

TEST_P(OfEngine, WithoutANamespaceThereIsNone) {
  const PlannedDeployment planned = planned_of(GetParam());
  for (const std::string& text :
       {kubernetes_manifest(planned), dynamo_manifest(planned), llmd_values(planned)})
    EXPECT_THAT(text, Not(HasSubstr("namespace")));
}

TEST_P(OfEngine, APodRunsWhatTheScriptRuns) {
  const PlannedDeployment planned = planned_of(GetParam());
  const EngineFiles& files = files_of(GetParam());
  for (const YAML::Node& document : YAML::LoadAll(kubernetes_manifest(planned))) {
    if (document["kind"].as<std::string>() != "Deployment") continue;
    const YAML::Node pod = document["spec"]["template"]["spec"];
    EXPECT_EQ(document["spec"]["replicas"].as<int>(), 2);
    EXPECT_EQ(pod["containers"][0]["command"].as<Words>(),
              files.serve(planned, "/etc/assay/settings.yaml"));
    EXPECT_EQ(pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"].as<int>(), 4);
  }
}

TEST_P(OfEngine, DynamoGetsTheSameLimits) {
  const PlannedDeployment planned = planned_of(GetParam());
  const EngineFiles& files = files_of(GetParam());
  const std::vector<YAML::Node> documents = YAML::LoadAll(dynamo_manifest(planned));
  const YAML::Node services = documents.back()["spec"]["services"];
  const YAML::Node worker = services[std::string(files.dynamo_service)];
  EXPECT_EQ(worker["replicas"].as<int>(), 2);
  EXPECT_EQ(worker["resources"]["limits"]["gpu"].as<std::string>(), "4");
  const auto args = worker["extraPodSpec"]["mainContainer"]["args"].as<Words>();
  const Words serve = files.serve(planned, "/etc/assay/settings.yaml");
  for (const char* option : {"--max-num-seqs", "--max-num-batched-tokens", "--mem-fraction-static",
                             "--max-running-requests", "--chunked-prefill-size", "--cuda-graph-bs",
                             "--cudagraph-capture-sizes", "--gpu-memory-utilization"})
    EXPECT_EQ(values_of(args, option), values_of(serve, option)) << option;
  if (files.settings == nullptr) return;
  EXPECT_EQ(documents.front()["data"]["settings.yaml"].as<std::string>(),
            yaml_text(files.settings(planned)));
}

TEST_P(OfEngine, ValuesOfLlmdFollowItsSchema) {
  const PlannedDeployment planned = planned_of(GetParam());
  const YAML::Node values = YAML::Load(llmd_values(planned));
  check(values, schema_of(kLlmdSchema), "values");
  EXPECT_EQ(values["decode"]["containers"][0]["command"].as<Words>(),
            files_of(GetParam()).serve(planned, "/etc/assay/settings.yaml"));
}

// Every option that is written is one that the pages above have.
TEST_P(OfEngine, DraftsAreToldInTheEnginesOwnWords) {
  const EngineFiles& files = files_of(GetParam());
  PlannedDeployment planned = planned_of(GetParam());
  const auto told = [&] {
    std::string text = files.settings == nullptr ? "" : files.settings(planned).dump();
    for (const std::string& word : files.serve(planned, "s"))
      text += ' ' + word;
    return text;
  };
  EXPECT_THAT(told(), Not(HasSubstr("spec")));
  planned.speculation = speculation_of(3, std::vector<double>{0.8}).value();
  switch (GetParam()) {
    case Engine::kTrtllm:
      EXPECT_THAT(told(), HasSubstr(R"("speculative_config":{"decoding_type":"MTP",)"
                                    R"("num_nextn_predict_layers":3})"));
      break;
    case Engine::kVllm:
      EXPECT_THAT(told(), HasSubstr(R"(--speculative-config {"method":"mtp",)"
                                    R"("num_speculative_tokens":3})"));
      break;
    case Engine::kSglang:
      EXPECT_THAT(told(), HasSubstr("--speculative-algorithm EAGLE --speculative-num-steps 3 "
                                    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4"));
      break;
  }
  EXPECT_THAT(planned_json(planned), HasSubstr("\"speculative_tokens\": 3"));
}

TEST_P(OfEngine, OptionsAreDocumented) {
  const std::set<std::string> known = {
      // trtllm-serve, and dynamo.trtllm
      "--extra_llm_api_options", "--extra-engine-args",
      // vllm serve
      "--model", "--tensor-parallel-size", "--data-parallel-size", "--enable-expert-parallel",
      "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization",
      "--enable-chunked-prefill", "--no-enable-chunked-prefill", "--enable-prefix-caching",
      "--no-enable-prefix-caching", "--cudagraph-capture-sizes",
      // sglang.launch_server
      "--model-path", "--tp-size", "--dp-size", "--enable-dp-attention", "--ep-size",
      "--context-length", "--max-running-requests", "--chunked-prefill-size",
      "--max-prefill-tokens", "--mem-fraction-static", "--disable-radix-cache",
      "--disable-overlap-schedule", "--cuda-graph-bs",
      // stages, and pools
      "--pipeline-parallel-size", "--pp-size", "--kv-transfer-config", "--disaggregation-mode",
      "--disaggregation-transfer-backend", "--disaggregation-bootstrap-port",
      // several
      "--host", "--port", "--served-model-name", "--kv-cache-dtype"};
  PlannedDeployment planned = planned_of(GetParam());
  planned.has_experts = true;
  planned.worker = {.tp = 2, .dp = 2, .moe_tp = 1, .moe_ep = 4};
  const EngineFiles& files = files_of(GetParam());
  for (const Role role : {Role::kBoth, Role::kPrefill, Role::kDecode}) {
    planned.role = role;
    planned.worker.pp = role == Role::kBoth ? 2 : 1;
    for (const Words& words : {files.serve(planned, "s"), files.dynamo_options(planned, "s")}) {
      std::set<std::string> seen;
      for (const std::string& word : words) {
        if (!word.starts_with("--")) continue;
        EXPECT_TRUE(known.contains(word)) << word;
        EXPECT_TRUE(seen.insert(word).second) << word << " twice";
      }
    }
  }
}

// 3 instances that compute prompts, on 2 GPUs each, and 2 that decode, on 4.
PlannedDeployment pools_of(Engine engine) {
  PlannedDeployment planned = planned_of(engine);
  planned.copies = 1;
  split(planned, 3, {.tp = 2, .dp = 1, .moe_tp = 2, .moe_ep = 1}, 2,
        {.tp = 4, .dp = 1, .moe_tp = 4, .moe_ep = 1});
  PlannedDeployment& prefill = planned.pools.front();
  PlannedDeployment& decode = planned.pools.back();
  Limits limits = policy_of(engine).defaults();
  limits.kv_tokens = 100'000;
  limits.overlap = Limits::Overlap::kNone;
  limits.max_tokens = 6144;
  prefill.limits = deployed_limits(limits, engine, 2);
  prefill.concurrency = 2;
  prefill.memory_share = 0.8;
  decode.concurrency = 20;
  planned.concurrency = 40;
  return planned;
}

const std::string& content_of(const std::vector<DeploymentFile>& files, const std::string& name) {
  for (const DeploymentFile& file : files)
    if (file.name == name) return file.content;
  ADD_FAILURE() << name << " is missing";
  static const std::string none;
  return none;
}

// The words of the command that a script executes, as a shell reads them.
Words words_of_script(const std::string& script) {
  const std::string start = "\nexec ";
  std::string line = script.substr(script.find(start) + start.size());
  Words words(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && line.substr(i, 2) == "\\\n") {
      ++i;
    } else if (!is_quoted && line[i] == '\n') {
      break;
    } else if (!is_quoted && line[i] == ' ') {
      if (!words.back().empty()) words.emplace_back();
    } else if (is_quoted || line[i] != '"') {
      words.back() += line[i];
    }
  }
  return words;
}

// What an engine is told, read back from the files that tell it.
struct ReadBack {
  std::int64_t tp = 0;
  std::int64_t max_batch = 0;
  std::int64_t max_tokens = 0;
  double memory_share = 0;
  std::vector<std::int64_t> graphs;
};

ReadBack read_back(const PlannedDeployment& pool, const std::vector<DeploymentFile>& files) {
  const std::string role(name_of(pool.role));
  if (pool.engine == Engine::kTrtllm) {
    const YAML::Node settings = YAML::Load(content_of(files, role + "-settings.yaml"));
    check(settings, schema_of(kTrtllmSchema), role);
    return {settings["tensor_parallel_size"].as<std::int64_t>(),
            settings["max_batch_size"].as<std::int64_t>(),
            settings["max_num_tokens"].as<std::int64_t>(),
            settings["kv_cache_config"]["free_gpu_memory_fraction"].as<double>(),
            settings["cuda_graph_config"]["batch_sizes"].as<std::vector<std::int64_t>>()};
  }
  const Words words = words_of_script(content_of(files, "serve-" + role + ".sh"));
  const auto one = [&](const char* option) { return values_of(words, option).at(0); };
  const auto all = [&](const char* option) { return numbers(values_of(words, option)); };
  if (pool.engine == Engine::kVllm)
    return {std::stoll(one("--tensor-parallel-size")), std::stoll(one("--max-num-seqs")),
            std::stoll(one("--max-num-batched-tokens")), std::stod(one("--gpu-memory-utilization")),
            all("--cudagraph-capture-sizes")};
  return {std::stoll(one("--tp-size")), std::stoll(one("--max-running-requests")),
          std::stoll(one("--chunked-prefill-size")), std::stod(one("--mem-fraction-static")),
          all("--cuda-graph-bs")};
}

TEST_P(OfEngine, PoolsAreDeployedAsPriced) {
  const PlannedDeployment planned = pools_of(GetParam());
  const auto files = deployment_files(planned, {});
  ASSERT_TRUE(files.ok());
  for (const PlannedDeployment& pool : planned.pools) {
    const ReadBack read = read_back(pool, files.value());
    EXPECT_EQ(read.tp, pool.worker.tp);
    EXPECT_EQ(read.max_batch, pool.limits.max_batch);
    EXPECT_EQ(read.max_tokens, pool.limits.max_tokens);
    EXPECT_EQ(read.memory_share, pool.memory_share);
    EXPECT_EQ(read.graphs, pool.limits.graph_batches);
  }
  EXPECT_NE(read_back(planned.pools.front(), files.value()).max_tokens,
            read_back(planned.pools.back(), files.value()).max_tokens);
}

TEST_P(OfEngine, PoolsSendCaches) {
  const PlannedDeployment planned = pools_of(GetParam());
  const EngineFiles& engine = files_of(GetParam());
  for (const PlannedDeployment& pool : planned.pools) {
    const Words serve = engine.serve(pool, "s");
    if (engine.settings != nullptr) {
      const YAML::Node sent =
          YAML::Load(yaml_text(engine.settings(pool)))["cache_transceiver_config"];
      EXPECT_GE(sent["max_tokens_in_buffer"].as<std::int64_t>(), planned.prompt_tokens);
    } else if (GetParam() == Engine::kVllm) {
      const YAML::Node sent = YAML::Load(values_of(serve, "--kv-transfer-config").at(0));
      EXPECT_EQ(sent["kv_connector"].as<std::string>(), "NixlConnector");
    } else {
      EXPECT_THAT(values_of(serve, "--disaggregation-mode"), ElementsAre(name_of(pool.role)));
    }
    EXPECT_THAT(values_of(engine.dynamo_options(pool, "s"), "--disaggregation-mode"),
                ElementsAre(name_of(pool.role)));
  }
  const Words alone = engine.serve(planned_of(GetParam()), "s");
  EXPECT_THAT(alone, Not(Contains(HasSubstr("disaggregation"))));
  EXPECT_THAT(alone, Not(Contains(HasSubstr("transfer"))));
}

TEST_P(OfEngine, ManifestsOfPoolsHaveTheirFieldsAndNoOthers) {
  PlannedDeployment planned = pools_of(GetParam());
  std::map<std::string, std::int64_t> replicas;
  for (const std::string& text : {kubernetes_manifest(planned), dynamo_manifest(planned)}) {
    for (const YAML::Node& document : YAML::LoadAll(text)) {
      const auto kind = document["kind"].as<std::string>();
      check(document, kubernetes_schema(kind), kind);
      if (kind == "StatefulSet")
        replicas[document["metadata"]["name"].as<std::string>()] =
            document["spec"]["replicas"].as<std::int64_t>();
      if (kind != "DynamoGraphDeployment") continue;
      for (const auto& service : document["spec"]["services"])
        if (service.second["subComponentType"])
          replicas[service.second["subComponentType"].as<std::string>()] =
              service.second["replicas"].as<std::int64_t>();
    }
  }
  EXPECT_EQ(replicas["prefill"], 3);
  EXPECT_EQ(replicas["decode"], 2);
  EXPECT_EQ(replicas[planned.name + "-prefill"], 3);
  EXPECT_EQ(replicas[planned.name + "-decode"], 2);
}

TEST_P(OfEngine, TheRouterKnowsEveryInstance) {
  const PlannedDeployment planned = pools_of(GetParam());
  const auto files = deployment_files(planned, {});
  ASSERT_TRUE(files.ok());
  const std::string all =
      content_of(files.value(), "serve-router.sh") +
      (GetParam() == Engine::kTrtllm ? content_of(files.value(), "router.yaml") : "");
  const std::string manifest = kubernetes_manifest(planned);
  const std::string start = content_of(files.value(), "serve.sh");
  // Six GPUs of the first machine compute prompts; neither instance of four that decodes fits it.
  for (const char* address :
       {"node-0:8100", "node-0:8101", "node-0:8102", "node-1:8200", "node-1:8201"}) {
    EXPECT_THAT(all, HasSubstr(address));
    EXPECT_THAT(start, HasSubstr(std::string("PORT=") + std::string(address).substr(7)));
  }
  for (const char* address : {"-prefill-0.", "-prefill-2.", "-decode-1."})
    EXPECT_THAT(manifest, HasSubstr(planned.name + address + planned.name));
  EXPECT_THAT(start, HasSubstr("GPUS=4,5 PORT=8102"));
  EXPECT_THAT(start, HasSubstr("GPUS=4,5,6,7 PORT=8201"));
}

TEST_P(OfEngine, LlmdHasBothRolesOrSaysThatItHasNot) {
  const PlannedDeployment planned = pools_of(GetParam());
  const auto files = deployment_files(planned, {Target::kLlmd});
  ASSERT_EQ(files.ok(), GetParam() != Engine::kTrtllm);
  if (!files.ok()) return;
  const YAML::Node values = YAML::Load(content_of(files.value(), "llm-d-values.yaml"));
  check(values, schema_of(kLlmdSchema), "values");
  EXPECT_EQ(values["prefill"]["replicas"].as<int>(), 3);
  EXPECT_EQ(values["decode"]["replicas"].as<int>(), 2);
  const auto port = [&](const char* role) {
    return values_of(values[role]["containers"][0]["command"].as<Words>(), "--port").at(0);
  };
  // Prompts are computed where the sidecar sends them, and the sidecar is before whoever decodes.
  EXPECT_EQ(port("prefill"), values["routing"]["servicePort"].Scalar());
  EXPECT_EQ(port("decode"), values["routing"]["proxy"]["targetPort"].Scalar());
}

// Stages have batches of their own: TensorRT-LLM counts one's requests, the others those of all.
TEST_P(OfEngine, StagesAreDeployedAsPriced) {
  PlannedDeployment planned = planned_of(GetParam());
  planned.worker.pp = 2;
  const EngineFiles& engine = files_of(GetParam());
  if (GetParam() == Engine::kTrtllm) {
    const YAML::Node settings = YAML::Load(yaml_text(engine.settings(planned)));
    EXPECT_EQ(settings["pipeline_parallel_size"].as<int>(), 2);
    EXPECT_EQ(settings["tensor_parallel_size"].as<int>(), 4);
    EXPECT_EQ(settings["max_batch_size"].as<int>(), 20);
    return;
  }
  const bool is_vllm = GetParam() == Engine::kVllm;
  const Words words = engine.serve(planned, "");
  EXPECT_THAT(values_of(words, is_vllm ? "--pipeline-parallel-size" : "--pp-size"),
              ElementsAre("2"));
  EXPECT_THAT(values_of(words, is_vllm ? "--tensor-parallel-size" : "--tp-size"), ElementsAre("4"));
  EXPECT_THAT(values_of(words, is_vllm ? "--max-num-seqs" : "--max-running-requests"),
              ElementsAre("40"));
}

INSTANTIATE_TEST_SUITE_P(Files, OfEngine, testing::ValuesIn(kEngines), [](const auto& engine) {
  return std::string(name_of(engine.param));
});

TEST(FilesOfTrtllm, SettingsAreTheLimits) {
  PlannedDeployment planned = planned_of(Engine::kTrtllm);
  planned.cache = serving::Quantization::kFp8;
  const YAML::Node settings = YAML::Load(yaml_text(files_of(Engine::kTrtllm).settings(planned)));
  check(settings, schema_of(kTrtllmSchema), "settings");
  EXPECT_EQ(settings["max_batch_size"].as<int>(), 20);
  EXPECT_EQ(settings["max_num_tokens"].as<int>(), planned.limits.max_tokens);
  EXPECT_EQ(settings["tensor_parallel_size"].as<int>(), 4);
  EXPECT_FALSE(settings["moe_tensor_parallel_size"].IsDefined());
  EXPECT_EQ(settings["kv_cache_config"]["free_gpu_memory_fraction"].as<double>(), 0.9);
  EXPECT_EQ(settings["kv_cache_config"]["dtype"].as<std::string>(), "fp8");
  EXPECT_THAT(settings["cuda_graph_config"]["batch_sizes"].as<std::vector<int>>(),
              ElementsAre(1, 2, 4, 8, 16, 20));
}

// TensorRT-LLM counts the GPUs of all groups, and its limits are those of one.
TEST(FilesOfTrtllm, GroupsShareExperts) {
  PlannedDeployment planned = planned_of(Engine::kTrtllm);
  planned.has_experts = true;
  planned.worker = {.tp = 1, .dp = 8, .moe_tp = 1, .moe_ep = 8};
  const YAML::Node settings = YAML::Load(yaml_text(files_of(Engine::kTrtllm).settings(planned)));
  check(settings, schema_of(kTrtllmSchema), "settings");
  EXPECT_EQ(settings["tensor_parallel_size"].as<int>(), 8);
  EXPECT_TRUE(settings["enable_attention_dp"].as<bool>());
  EXPECT_EQ(settings["moe_expert_parallel_size"].as<int>(), 8);
  EXPECT_EQ(settings["max_batch_size"].as<int>(), 20);
}

TEST(FilesOfVllm, GroupsShareExperts) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.has_experts = true;
  planned.worker = {.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8};
  const Words words = files_of(Engine::kVllm).serve(planned, "");
  EXPECT_THAT(values_of(words, "--tensor-parallel-size"), ElementsAre("2"));
  EXPECT_THAT(values_of(words, "--data-parallel-size"), ElementsAre("4"));
  EXPECT_THAT(values_of(words, "--max-num-seqs"), ElementsAre("20"));
  EXPECT_THAT(words, Contains("--enable-expert-parallel"));
}

// SGLang divides what it is told by its groups.
TEST(FilesOfSglang, LimitsAreThoseOfAllGroups) {
  PlannedDeployment planned = planned_of(Engine::kSglang);
  planned.has_experts = true;
  planned.worker = {.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8};
  const Words words = files_of(Engine::kSglang).serve(planned, "");
  EXPECT_THAT(values_of(words, "--tp-size"), ElementsAre("8"));
  EXPECT_THAT(values_of(words, "--dp-size"), ElementsAre("4"));
  EXPECT_THAT(values_of(words, "--max-running-requests"), ElementsAre("80"));
  EXPECT_THAT(values_of(words, "--chunked-prefill-size"), ElementsAre("32768"));
  EXPECT_THAT(values_of(words, "--cuda-graph-bs"),
              ElementsAre("1", "2", "4", "8", "12", "16", "20"));
}

// The engine refuses this at its first request (NixlConnector: "Decode TP cannot be smaller than
// prefill TP").
TEST(FilesOfVllm, AWidePrefillCannotFeedANarrowDecode) {
  PlannedDeployment planned = pools_of(Engine::kVllm);
  EXPECT_TRUE(files_of(Engine::kVllm).check_pools(planned).ok());
  planned.pools.front().worker.tp = 8;
  EXPECT_FALSE(files_of(Engine::kVllm).check_pools(planned).ok());
  EXPECT_TRUE(files_of(Engine::kTrtllm).check_pools(planned).ok());
}

TEST(FilesOfADeployment, WhatIsNoMachineIsRefused) {
  PlannedDeployment planned = pools_of(Engine::kVllm);
  planned.hosts = {"a.example", "10.0.0.2"};
  EXPECT_TRUE(check_planned(planned, 8).ok());
  for (const char* wrong : {"", "a:80", "$(x)", "-x", "a b"}) {
    planned.hosts[1] = wrong;
    EXPECT_FALSE(check_planned(planned, 8).ok()) << wrong;
  }
}

TEST(FilesOfADeployment, NamesAreLabels) {
  EXPECT_EQ(kube_name("Qwen/Qwen3-32B-FP8", Engine::kVllm), "qwen3-32b-fp8-vllm");
  EXPECT_EQ(kube_name("org/3.5_model", Engine::kSglang), "model-3-5-model-sglang");
  EXPECT_EQ(kube_name("--", Engine::kTrtllm), "model-trtllm");
  const std::string longest = kube_name(std::string(200, 'a'), Engine::kTrtllm);
  EXPECT_TRUE(is_dns_label(longest));
  EXPECT_LE(longest.size() + std::string("-settings").size(), 63U);
  for (const char* wrong : {"", "None", "a_b", "-a", "a-", "a.b"})
    EXPECT_FALSE(is_dns_label(wrong)) << wrong;
}

TEST(FilesOfADeployment, WhatKubernetesOrAScriptRefusesIsRefused) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  EXPECT_TRUE(check_planned(planned, 8).ok());
  EXPECT_FALSE(check_planned(planned, 2).ok());
  planned.kube_space = "None";
  EXPECT_FALSE(check_planned(planned, 8).ok());
  planned.kube_space = "";
  planned.name = "3d";
  EXPECT_FALSE(check_planned(planned, 8).ok());
  planned = planned_of(Engine::kVllm);
  planned.model = "a\nrm -rf";
  EXPECT_FALSE(check_planned(planned, 8).ok());
}

TEST(FilesOfADeployment, LlmdTakesNoFolder) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.model_path = "/models/a";
  EXPECT_FALSE(deployment_files(planned, {Target::kLlmd}).ok());
  EXPECT_TRUE(deployment_files(planned, {Target::kKubernetes}).ok());
}

TEST(FilesOfADeployment, ConcurrenciesAreWholeShares) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  EXPECT_THAT(measured_concurrencies(planned), ElementsAre(1, 5, 10, 20));
  planned.concurrency = 1;
  EXPECT_THAT(measured_concurrencies(planned), ElementsAre(1));
  planned.concurrency = 24;
  planned.worker.dp = 4;
  EXPECT_THAT(measured_concurrencies(planned), ElementsAre(4, 12, 24));
}

TEST(FilesOfADeployment, ExistingFilesStay) {
  const std::filesystem::path folder = std::filesystem::current_path() / "plan_files_existing";
  const std::vector<DeploymentFile> files = {{"a", "new", false, ""}, {"b", "new", true, ""}};
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "b") << "old";
  EXPECT_FALSE(write_files(folder, files, Existing::kRefused).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  EXPECT_TRUE(write_files(folder, files, Existing::kReplaced).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "a"));
  using std::filesystem::perms;
  EXPECT_NE(std::filesystem::status(folder / "b").permissions() & perms::owner_exec, perms::none);
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions() & perms::owner_exec, perms::none);
  std::filesystem::remove_all(folder);
}

// What cannot be written whole leaves nothing behind: here, a name that is too long.
TEST(FilesOfADeployment, AllFilesAppearOrNone) {
  const std::filesystem::path folder = std::filesystem::current_path() / "plan_files_all_or_none";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "old") << "old";
  const core::Status written =
      write_files(folder, {{"a", "new", false, ""}, {std::string(300, 'b'), "new", false, ""}},
                  Existing::kReplaced);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr(folder.string() + "/bbb"));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, ElementsAre("old"));
  std::filesystem::remove_all(folder);
}

TEST(Yaml, ReadsBackAsItWas) {
  const std::vector<std::string> texts = {"plain", "",     "yes",   "null", "3",    "1e5", "a: b",
                                          "# no",  "it's", "\"q\"", "- a",  "Null", "~",   "{x}",
                                          "ü",     "a b",  "0x10",  "on",   "*a",   "@a"};
  const YAML::Node node = YAML::Load(yaml_text({{"list", texts}, {"map", {{"no", 1}}}}));
  EXPECT_EQ(node["list"].as<std::vector<std::string>>(), texts);
  for (const YAML::Node& one : node["list"])
    EXPECT_FALSE(one.IsNull());
  EXPECT_EQ(node["map"]["no"].as<int>(), 1);
}

TEST(Yaml, LinesStayLines) {
  const YAML::Node node = YAML::Load(yaml_text({{"text", "a:\n  b: 1\n\nc: 2\n"}, {"next", 1}}));
  EXPECT_EQ(node["text"].as<std::string>(), "a:\n  b: 1\n\nc: 2\n");
  EXPECT_EQ(node["next"].as<int>(), 1);
}

TEST(ShellQuoted, KeepsWordsWhole) {
  EXPECT_EQ(shell_quoted("Qwen/Qwen3-32B"), "Qwen/Qwen3-32B");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace assay::plan
