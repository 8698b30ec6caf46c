// Planned deployments of the three engines, a schema for what is written, and readers of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/files/deployment_files.h"
#include "plan/files/engine_files.h"
#include "plan/schedule/policy.h"

namespace assay::plan::files_testing {

// A schema is YAML, too. A key with "~" may be missing, "*" is any key, and a list has the schema
// of its elements. Values are "text", "number", "flag", "label" or "any".
inline void check_scalar(const YAML::Node& node,
                         const std::string& type,
                         const std::string& where) {
  ASSERT_TRUE(node.IsScalar()) << where;
  const std::string& text = node.Scalar();
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
    EXPECT_THAT(text, testing::AllOf(testing::Not("None"), testing::Not("null"), testing::Not("~")))
        << where;
  }
}

inline void check(const YAML::Node& node, const YAML::Node& schema, const std::string& where) {
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

inline constexpr const char* kEnvironment =
    "[{name: text, value~: any, valueFrom~: {secretKeyRef~: {name: label, key: text, "
    "optional: flag}, fieldRef~: {fieldPath: text}}}]";
inline constexpr const char* kTolerations = "[{key: text, operator: text, effect: text}]";
inline constexpr const char* kVolumes =
    "[{name: label, configMap~: {name: label}, hostPath~: {path: text, type: text}, "
    "emptyDir~: {medium: text, sizeLimit: text}}]";
inline constexpr const char* kMounts = "[{name: label, mountPath: text}]";

inline YAML::Node schema_of(std::string text) {
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"POD",
       "{metadata: {labels: {'*': label}}, spec: {nodeSelector~: {'*': text}, "
       "tolerations~: TOLERATIONS, volumes~: VOLUMES, containers: [{name: label, image: text, "
       "command: [text], ports~: [{name: label, containerPort: number}], env~: ENV, "
       "resources~: {limits: {nvidia.com/gpu: number}}, startupProbe~: PROBE, "
       "readinessProbe~: PROBE, volumeMounts~: MOUNTS}]}}"},
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

inline YAML::Node kubernetes_schema(const std::string& kind) {
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
        "selector: {matchLabels: {'*': label}}, template: POD}}");
  if (kind == "LeaderWorkerSet")
    return schema_of(
        "{apiVersion: text, kind: text, metadata: META, spec: {replicas: number, "
        "leaderWorkerTemplate: {size: number, restartPolicy: text, leaderTemplate: POD, "
        "workerTemplate: POD}}}");
  return schema_of(
      "{apiVersion: text, kind: text, metadata: META, spec: {services: {'*': {componentType: text, "
      "subComponentType~: text, replicas: number, multinode~: {nodeCount: number}, resources~: "
      "{limits: {gpu: text}}, "
      "sharedMemory~: {size: text}, "
      "extraPodSpec: {nodeSelector~: {'*': text}, tolerations~: TOLERATIONS, volumes~: VOLUMES, "
      "mainContainer: {image: text, command: [text], args: [text], env~: ENV, "
      "volumeMounts~: MOUNTS}}}}}}");
}

inline constexpr const char* kLlmdSchema =
    "{fullnameOverride: label, modelArtifacts: {name: text, uri: text, size: text, "
    "labels: {'*': text}}, accelerator: {type: text}, routing: {servicePort: number, "
    "proxy: {enabled: flag, targetPort~: number, connector~: text}}, decode: ROLE, prefill: ROLE, "
    "extraObjects~: [{apiVersion: text, kind: text, metadata: META, "
    "data: {'*': text}}]}";

inline constexpr const char* kTrtllmSchema =
    "{tensor_parallel_size: number, pipeline_parallel_size: number, enable_attention_dp: flag, "
    "gpus_per_node~: number, "
    "moe_tensor_parallel_size~: number, moe_expert_parallel_size~: number, max_batch_size: number, "
    "max_num_tokens: number, max_seq_len: number, enable_chunked_prefill: flag, "
    "disable_overlap_scheduler: flag, scheduler_config: {capacity_scheduler_policy: text}, "
    "kv_cache_config: {free_gpu_memory_fraction: number, dtype: text, enable_block_reuse: flag, "
    "max_attention_window~: [number]}, "
    "cache_transceiver_config~: {backend: text, transceiver_runtime~: text, "
    "max_tokens_in_buffer: number}, "
    "speculative_config~: {decoding_type: text, num_nextn_predict_layers: number}, "
    "cuda_graph_config: {enable_padding: flag, batch_sizes: [number]}}";

inline PlannedDeployment planned_of(Engine engine, std::int64_t batch = 20) {
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

// The values behind an option, up to the next one.
inline Words values_of(const Words& words, const std::string& option) {
  Words values;
  bool found = false;
  for (const std::string& word : words) {
    if (found && word.starts_with("--")) break;
    if (found) values.push_back(word);
    found = found || word == option;
  }
  return values;
}

inline std::vector<std::int64_t> numbers(const Words& words) {
  std::vector<std::int64_t> values;
  for (const std::string& word : words)
    values.push_back(std::stoll(word));
  return values;
}

// 3 instances that compute prompts, on 2 GPUs each, and 2 that decode, on 4.
inline PlannedDeployment pools_of(Engine engine) {
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

inline const std::string& content_of(const std::vector<DeploymentFile>& files,
                                     const std::string& name) {
  for (const DeploymentFile& file : files)
    if (file.name == name) return file.content;
  ADD_FAILURE() << name << " is missing";
  static const std::string none;
  return none;
}

// The words of the command that a script executes, as a shell reads them.
inline Words words_of_script(const std::string& script) {
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

// 16 GPUs of two nodes, in two stages.
inline PlannedDeployment spanning_of(Engine engine) {
  PlannedDeployment planned = planned_of(engine);
  planned.worker = {.tp = 8, .dp = 1, .moe_tp = 8, .moe_ep = 1, .pp = 2};
  planned.concurrency = 40;
  planned.hosts = {"gpu-a", "gpu-b"};
  return planned;
}

// A deployment whose steps draft three tokens, and both pools of another.
inline std::vector<PlannedDeployment> drafting_of(Engine engine) {
  std::vector<PlannedDeployment> all = pools_of(engine).pools;
  all.push_back(planned_of(engine));
  for (PlannedDeployment& one : all)
    one.speculation = speculation_of(3, std::vector<double>{0.8}).value();
  return all;
}

}  // namespace assay::plan::files_testing
