#include "plan/files/manifests.h"

#include <fmt/core.h>

#include <cmath>

#include "plan/files/engine_files.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSettingsFolder = "/etc/assay";
constexpr const char* kSettingsName = "settings.yaml";
constexpr const char* kAppLabel = "app.kubernetes.io/name";

std::string settings_path() {
  return fmt::format("{}/{}", kSettingsFolder, kSettingsName);
}

std::string settings_name(const PlannedDeployment& planned) {
  return planned.name + "-settings";
}

bool has_settings(const PlannedDeployment& planned) {
  return files_of(planned.engine).settings != nullptr;
}

Json metadata(const PlannedDeployment& planned, const std::string& name) {
  Json data = {{"name", name}};
  if (!planned.kube_space.empty()) data["namespace"] = planned.kube_space;
  return data;
}

Json settings_map(const PlannedDeployment& planned) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", metadata(planned, settings_name(planned))},
          {"data", {{kSettingsName, yaml_text(files_of(planned.engine).settings(planned))}}}};
}

// The token is read from a secret that a cluster may lack: public models need none.
Json environment() {
  const Json secret = {{"name", "hf-token-secret"}, {"key", "HF_TOKEN"}, {"optional", true}};
  return Json::array({{{"name", "HF_TOKEN"}, {"valueFrom", {{"secretKeyRef", secret}}}}});
}

Json tolerations() {
  return Json::array(
      {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
}

void add_node_selector(const PlannedDeployment& planned, Json& pod) {
  if (!planned.gpu_product.empty())
    pod["nodeSelector"] = {{"nvidia.com/gpu.product", planned.gpu_product}};
}

// Volumes of a pod, and where its container has them.
struct Volumes {
  Json volumes = Json::array();
  Json mounts = Json::array();

  void add(const std::string& name, const Json& source, const std::string& path) {
    Json volume = {{"name", name}};
    volume.update(source);
    volumes.push_back(std::move(volume));
    mounts.push_back({{"name", name}, {"mountPath", path}});
  }

  void put(Json& pod, Json& container) const {
    if (volumes.empty()) return;
    pod["volumes"] = volumes;
    container["volumeMounts"] = mounts;
  }
};

Volumes model_volumes(const PlannedDeployment& planned) {
  Volumes volumes;
  if (has_settings(planned))
    volumes.add("settings", {{"configMap", {{"name", settings_name(planned)}}}}, kSettingsFolder);
  if (planned.is_local()) {
    const Json folder = {{"path", planned.model_path}, {"type", "Directory"}};
    volumes.add("model", {{"hostPath", folder}}, planned.model_path);
  }
  return volumes;
}

Volumes pod_volumes(const PlannedDeployment& planned) {
  Volumes volumes = model_volumes(planned);
  const Json memory = {{"medium", "Memory"}, {"sizeLimit", "64Gi"}};
  volumes.add("shared-memory", {{"emptyDir", memory}}, "/dev/shm");
  return volumes;
}

std::string image_of(const PlannedDeployment& planned) {
  if (!planned.image.empty()) return planned.image;
  return files_of(planned.engine).image(planned.engine_version);
}

// A server loads weights and captures graphs for minutes before it answers.
Json probe(std::int64_t failures) {
  return {{"httpGet", {{"path", "/health"}, {"port", "http"}}},
          {"periodSeconds", 10},
          {"timeoutSeconds", 5},
          {"failureThreshold", failures}};
}

Json engine_container(const PlannedDeployment& planned) {
  constexpr std::int64_t kStartTries = 360;  // an hour
  constexpr std::int64_t kReadyTries = 3;
  const EngineFiles& files = files_of(planned.engine);
  return {{"name", "engine"},
          {"image", image_of(planned)},
          {"command", files.serve(planned, settings_path())},
          {"ports", Json::array({{{"name", "http"}, {"containerPort", planned.port}}})},
          {"env", environment()},
          {"resources", {{"limits", {{"nvidia.com/gpu", planned.worker.gpus()}}}}},
          {"startupProbe", probe(kStartTries)},
          {"readinessProbe", probe(kReadyTries)}};
}

Json workload(const PlannedDeployment& planned) {
  Json container = engine_container(planned);
  Json pod = Json::object();
  add_node_selector(planned, pod);
  pod["tolerations"] = tolerations();
  pod_volumes(planned).put(pod, container);
  pod["containers"] = Json::array({container});
  const Json labels = {{kAppLabel, planned.name}};
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", metadata(planned, planned.name)},
          {"spec",
           {{"replicas", planned.copies},
            {"selector", {{"matchLabels", labels}}},
            {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}};
}

Json service(const PlannedDeployment& planned) {
  const Json port = {{"name", "http"}, {"port", planned.port}, {"targetPort", "http"}};
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata(planned, planned.name)},
          {"spec", {{"selector", {{kAppLabel, planned.name}}}, {"ports", Json::array({port})}}}};
}

Json dynamo_frontend(const PlannedDeployment& planned, const std::string& image) {
  const Json container = {{"image", image},
                          {"command", Words{"python3", "-m", "dynamo.frontend"}},
                          {"args", Words{"--http-port", std::to_string(planned.port)}}};
  return {{"componentType", "frontend"},
          {"replicas", 1},
          {"extraPodSpec", {{"mainContainer", container}}}};
}

Json dynamo_worker(const PlannedDeployment& planned, const std::string& image) {
  const EngineFiles& files = files_of(planned.engine);
  Json container = {{"image", image},
                    {"command", Words{"python3", "-m", std::string(files.dynamo_module)}},
                    {"args", files.dynamo_options(planned, settings_path())},
                    {"env", environment()}};
  Json pod = Json::object();
  add_node_selector(planned, pod);
  pod["tolerations"] = tolerations();
  model_volumes(planned).put(pod, container);
  pod["mainContainer"] = container;
  return {{"componentType", "worker"},
          {"replicas", planned.copies},
          {"resources", {{"limits", {{"gpu", std::to_string(planned.worker.gpus())}}}}},
          {"sharedMemory", {{"size", "64Gi"}}},
          {"extraPodSpec", pod}};
}

// Whole tens of GiB, with room for a tokenizer and parts of downloads.
std::string volume_size(double weight_bytes) {
  constexpr double kTenGib = 10.0 * 1024 * 1024 * 1024;
  constexpr double kRoom = 1.2;
  return fmt::format("{:.0f}Gi", 10 * std::ceil(kRoom * weight_bytes / kTenGib));
}

// The chart counts a pod's GPUs from its parallelism.
Json llmd_decode(const PlannedDeployment& planned) {
  const Worker& worker = planned.worker;
  Json container = {
      {"name", "engine"},
      {"image", image_of(planned)},
      {"modelCommand", "custom"},
      {"command", files_of(planned.engine).serve(planned, settings_path())},
      {"ports",
       Json::array({{{"name", "metrics"}, {"containerPort", planned.port}, {"protocol", "TCP"}}})},
      {"env", environment()},
      {"mountModelVolume", true}};
  Json decode = {
      {"create", true},
      {"replicas", planned.copies},
      {"parallelism", {{"tensor", worker.tp}, {"data", worker.dp}, {"dataLocal", worker.dp}}}};
  if (!planned.gpu_product.empty())
    decode["acceleratorTypes"] = {{"labelKey", "nvidia.com/gpu.product"},
                                  {"labelValues", Words{planned.gpu_product}}};
  pod_volumes(planned).put(decode, container);
  decode["containers"] = Json::array({container});
  return decode;
}

// What was priced, before each manifest.
std::string heading(const PlannedDeployment& planned) {
  std::string text = fmt::format(
      "# {} by {} on {}: {} x ({}), {} requests in flight each, {} + {} tokens.\n"
      "# Priced: TTFT {:.0f} ms, TPOT {:.2f} ms. Written by assay plan files.\n",
      planned.model, name_of(planned.engine), planned.system, planned.copies, planned.worker.text(),
      planned.concurrency, planned.prompt_tokens, planned.output_tokens, planned.ttft_ms,
      planned.tpot_ms);
  if (!planned.calibration_text.empty()) text += fmt::format("# {}.\n", planned.calibration_text);
  return text;
}

std::string documents(const PlannedDeployment& planned, const std::vector<Json>& all) {
  std::string text = heading(planned);
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : "---\n") + yaml_text(all[i]);
  return text;
}

}  // namespace

std::string kubernetes_manifest(const PlannedDeployment& planned) {
  std::vector<Json> all;
  if (has_settings(planned)) all.push_back(settings_map(planned));
  all.push_back(workload(planned));
  all.push_back(service(planned));
  return documents(planned, all);
}

std::string dynamo_manifest(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  const std::string image = planned.image.empty() ? std::string(files.dynamo_image) : planned.image;
  std::vector<Json> all;
  if (has_settings(planned)) all.push_back(settings_map(planned));
  const Json services = {{"Frontend", dynamo_frontend(planned, image)},
                         {std::string(files.dynamo_service), dynamo_worker(planned, image)}};
  all.push_back({{"apiVersion", "nvidia.com/v1alpha1"},
                 {"kind", "DynamoGraphDeployment"},
                 {"metadata", metadata(planned, planned.name)},
                 {"spec", {{"services", services}}}});
  return documents(planned, all);
}

std::string llmd_values(const PlannedDeployment& planned) {
  Json values = {
      {"fullnameOverride", planned.name},
      {"modelArtifacts",
       {{"name", planned.model},
        {"uri", "hf://" + planned.model_path},
        {"size", volume_size(planned.weight_bytes)},
        {"labels", {{"llm-d.ai/inference-serving", "true"}, {"llm-d.ai/model", planned.name}}}}},
      {"accelerator", {{"type", "nvidia"}}},
      {"routing", {{"servicePort", planned.port}, {"proxy", {{"enabled", false}}}}},
      {"decode", llmd_decode(planned)},
      {"prefill", {{"create", false}}}};
  if (has_settings(planned)) values["extraObjects"] = Json::array({settings_map(planned)});
  return documents(planned, {values});
}

}  // namespace assay::plan
