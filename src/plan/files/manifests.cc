#include "plan/files/manifests.h"

#include <fmt/core.h>

#include <cmath>

#include "plan/files/engine_files.h"
#include "plan/files/nodes.h"
#include "plan/files/placement.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSettingsFolder = "/etc/assay";
constexpr const char* kSettingsName = "settings.yaml";
constexpr const char* kAppLabel = "app.kubernetes.io/name";
constexpr const char* kPartLabel = "app.kubernetes.io/component";

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

// An instance tells others its pod's address, and one port for all of its groups' first.
Json instance_environment(const PlannedDeployment& planned) {
  Json all = environment();
  const TransferPort& port = files_of(planned.engine).transfer_port;
  for (const auto& [name, value] : variables_of(planned))
    all.push_back({{"name", name}, {"value", value}});
  if (planned.role == Role::kBoth) return all;
  if (!port.host_variable.empty())
    all.push_back({{"name", port.host_variable},
                   {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}});
  if (!port.variable.empty())
    all.push_back({{"name", port.variable}, {"value", std::to_string(port.first)}});
  return all;
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

constexpr std::int64_t kProbeSeconds = 10;

// A server loads weights and captures graphs for minutes before it answers.
Json probe(std::int64_t failures) {
  return {{"httpGet", {{"path", "/health"}, {"port", "http"}}},
          {"periodSeconds", kProbeSeconds},
          {"timeoutSeconds", 5},
          {"failureThreshold", failures}};
}

// Which of a worker's nodes a pod is on: kOnly has all of it, kFirst takes the requests.
enum class PodNode : std::uint8_t { kOnly, kFirst, kOther };

// A controller of LeaderWorkerSets gives each pod these variables, which Kubernetes fills in.
Words pod_command(const PlannedDeployment& planned, PodNode node) {
  const EngineFiles& engine = files_of(planned.engine);
  Words words = engine.serve(planned, settings_path());
  if (node == PodNode::kOnly) return words;
  const bool is_first = node == PodNode::kFirst;
  const Words of_node = node_options(
      engine, planned,
      {.first = "$(LWS_LEADER_ADDRESS)", .number = is_first ? "0" : "$(LWS_WORKER_INDEX)"});
  words.insert(words.end(), of_node.begin(), of_node.end());
  if (!is_first && !engine.nodes.others.empty()) words.emplace_back(engine.nodes.others);
  return words;
}

Json engine_container(const PlannedDeployment& planned, PodNode node) {
  constexpr std::int64_t kReadyTries = 3;
  const bool takes_requests = node != PodNode::kOther;
  Json container = {
      {"name", "engine"}, {"image", image_of(planned)}, {"command", pod_command(planned, node)}};
  if (takes_requests)
    container["ports"] = Json::array({{{"name", "http"}, {"containerPort", planned.port}}});
  container["env"] = instance_environment(planned);
  container["resources"] = {{"limits", {{"nvidia.com/gpu", planned.gpus_of_node()}}}};
  if (takes_requests) {
    container["startupProbe"] = probe(kLongestStartSeconds / kProbeSeconds);
    container["readinessProbe"] = probe(kReadyTries);
  }
  return container;
}

// Requests go to pods with these labels.
Json labels_of(const PlannedDeployment& planned) {
  Json labels = {{kAppLabel, planned.name}};
  if (planned.spans_nodes()) labels[kPartLabel] = "first-node";
  return labels;
}

Json pod_template(const PlannedDeployment& planned, PodNode node = PodNode::kOnly) {
  Json container = engine_container(planned, node);
  Json labels = labels_of(planned);
  if (node == PodNode::kOther) labels[kPartLabel] = "other-node";
  Json pod = Json::object();
  add_node_selector(planned, pod);
  pod["tolerations"] = tolerations();
  pod_volumes(planned).put(pod, container);
  pod["containers"] = Json::array({container});
  return {{"metadata", {{"labels", labels}}}, {"spec", pod}};
}

// Groups of pods, one for each copy: when a pod ends, its group starts anew, since engines cannot
// take a node back. The controller makes a service of the set's name for the pods' addresses.
Json spanning_workload(const PlannedDeployment& planned, const std::string& name) {
  return {{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
          {"kind", "LeaderWorkerSet"},
          {"metadata", metadata(planned, name)},
          {"spec",
           {{"replicas", planned.copies},
            {"leaderWorkerTemplate",
             {{"size", planned.nodes_of_worker()},
              {"restartPolicy", "RecreateGroupOnPodRestart"},
              {"leaderTemplate", pod_template(planned, PodNode::kFirst)},
              {"workerTemplate", pod_template(planned, PodNode::kOther)}}}}}};
}

Json workload(const PlannedDeployment& planned, std::int64_t replicas, const Json& pod) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", metadata(planned, planned.name)},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", labels_of(planned)}}},
            {"template", pod}}}};
}

// Pods with names of their own, at which a router finds each instance.
Json pool_workload(const PlannedDeployment& pool) {
  if (pool.spans_nodes()) return spanning_workload(pool, pool.name);
  Json set = workload(pool, pool.copies, pod_template(pool));
  set["kind"] = "StatefulSet";
  set["spec"]["serviceName"] = pool.name;
  set["spec"]["podManagementPolicy"] = "Parallel";
  return set;
}

// Names of pods without an address in between.
Json pool_service(const PlannedDeployment& pool) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata(pool, pool.name)},
          {"spec",
           {{"clusterIP", "None"},
            {"selector", labels_of(pool)},
            {"ports", Json::array({{{"name", "http"}, {"port", pool.port}}})}}}};
}

PlannedDeployment router_of(const PlannedDeployment& planned) {
  PlannedDeployment router = planned;
  router.name += "-router";
  return router;
}

Json router_settings_map(const PlannedDeployment& planned) {
  const Json settings = files_of(planned.engine).route_settings(planned, pod_addresses(planned));
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", metadata(planned, settings_name(router_of(planned)))},
          {"data", {{kSettingsName, yaml_text(settings)}}}};
}

Json router_workload(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  const PlannedDeployment router = router_of(planned);
  const std::string image =
      files.router_image.empty() ? image_of(planned) : std::string(files.router_image);
  Json container = {{"name", "router"},
                    {"image", image},
                    {"command", files.route(planned, pod_addresses(planned), settings_path())},
                    {"ports", Json::array({{{"name", "http"}, {"containerPort", planned.port}}})}};
  Json pod = Json::object();
  if (files.route_settings != nullptr) {
    Volumes volumes;
    volumes.add("settings", {{"configMap", {{"name", settings_name(router)}}}}, kSettingsFolder);
    volumes.put(pod, container);
  }
  pod["containers"] = Json::array({container});
  return workload(router, 1, {{"metadata", {{"labels", labels_of(router)}}}, {"spec", pod}});
}

// Requests go to the pods with `target`'s label.
Json service(const PlannedDeployment& planned, const PlannedDeployment& target) {
  const Json port = {{"name", "http"}, {"port", planned.port}, {"targetPort", "http"}};
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata(planned, planned.name)},
          {"spec", {{"selector", labels_of(target)}, {"ports", Json::array({port})}}}};
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
                    {"env", instance_environment(planned)}};
  Json pod = Json::object();
  add_node_selector(planned, pod);
  pod["tolerations"] = tolerations();
  model_volumes(planned).put(pod, container);
  pod["mainContainer"] = container;
  Json worker = {{"componentType", "worker"}};
  if (planned.role != Role::kBoth) worker["subComponentType"] = name_of(planned.role);
  worker["replicas"] = planned.copies;
  if (planned.spans_nodes()) worker["multinode"] = {{"nodeCount", planned.nodes_of_worker()}};
  worker["resources"] = {{"limits", {{"gpu", std::to_string(planned.gpus_of_node())}}}};
  worker["sharedMemory"] = {{"size", "64Gi"}};
  worker["extraPodSpec"] = pod;
  return worker;
}

// "VllmWorker", "VllmPrefillWorker"
std::string dynamo_service(const PlannedDeployment& planned) {
  std::string name(files_of(planned.engine).dynamo_service);
  if (planned.role == Role::kBoth) return name;
  return name.insert(name.rfind("Worker"), planned.role == Role::kPrefill ? "Prefill" : "Decode");
}

// Whole tens of GiB, with room for a tokenizer and parts of downloads.
std::string volume_size(double weight_bytes) {
  constexpr double kTenGib = 10.0 * 1024 * 1024 * 1024;
  constexpr double kRoom = 1.2;
  return fmt::format("{:.0f}Gi", 10 * std::ceil(kRoom * weight_bytes / kTenGib));
}

// The chart counts a pod's GPUs from its parallelism.
Json llmd_role(const PlannedDeployment& planned) {
  const Worker& worker = planned.worker;
  Json container = {
      {"name", "engine"},
      {"image", image_of(planned)},
      {"modelCommand", "custom"},
      {"command", files_of(planned.engine).serve(planned, settings_path())},
      {"ports",
       Json::array({{{"name", "metrics"}, {"containerPort", planned.port}, {"protocol", "TCP"}}})},
      {"env", instance_environment(planned)},
      {"mountModelVolume", true}};
  Json role = {
      {"create", true},
      {"replicas", planned.copies},
      {"parallelism",
       {{"tensor", worker.tp * worker.pp}, {"data", worker.dp}, {"dataLocal", worker.dp}}}};
  if (!planned.gpu_product.empty())
    role["acceleratorTypes"] = {{"labelKey", "nvidia.com/gpu.product"},
                                {"labelValues", Words{planned.gpu_product}}};
  pod_volumes(planned).put(role, container);
  role["containers"] = Json::array({container});
  return role;
}

// A sidecar of whoever decodes takes the requests, and has prompts computed elsewhere first.
Json llmd_routing(const PlannedDeployment& planned) {
  Json proxy = {{"enabled", planned.is_disaggregated()}};
  if (planned.is_disaggregated()) {
    proxy["targetPort"] = planned.pool(Role::kDecode).port;
    proxy["connector"] = files_of(planned.engine).llmd_connector;
  }
  return {{"servicePort", planned.port}, {"proxy", proxy}};
}

Json llmd_prefill(const PlannedDeployment& planned) {
  if (!planned.is_disaggregated()) return {{"create", false}};
  PlannedDeployment pool = planned.pool(Role::kPrefill);
  pool.port = planned.port;
  return llmd_role(pool);
}

std::string systems_text(const PlannedDeployment& planned) {
  if (!planned.is_disaggregated()) return planned.system;
  const std::string& decode = planned.pool(Role::kDecode).system;
  return decode == planned.system ? decode : fmt::format("{} and {}", planned.system, decode);
}

// What was priced, before each manifest.
std::string heading(const PlannedDeployment& planned) {
  const std::string what =
      planned.is_disaggregated()
          ? fmt::format("{}, {} requests in flight", planned.text(), planned.concurrency)
          : fmt::format("{} x ({}), {} requests in flight each", planned.copies,
                        planned.worker.text(), planned.concurrency);
  std::string text = fmt::format(
      "# {} by {} on {}: {}, {} + {} tokens.\n"
      "# Priced: TTFT {:.0f} ms, TPOT {:.2f} ms. Written by assay plan files.\n",
      planned.model, name_of(planned.engine), systems_text(planned), what, planned.prompt_tokens,
      planned.output_tokens, planned.ttft_ms, planned.tpot_ms);
  if (!planned.calibration_text.empty()) text += fmt::format("# {}.\n", planned.calibration_text);
  return text;
}

// What the cluster's own people know.
std::string fill_in(const PlannedDeployment& planned, const std::string& manifest) {
  std::string text;
  if (manifest.find(kRegistry) != std::string::npos)
    text +=
        "# Fill in: REGISTRY, the host that this cluster pulls NVIDIA's images from (or "
        "--image).\n";
  if (planned.is_disaggregated() || planned.spans_nodes())
    text +=
        "# Fill in: the resources of its network cards, without which data between nodes goes "
        "over\n"
        "# TCP, slower than priced.\n";
  return text;
}

std::string documents(const PlannedDeployment& planned, const std::vector<Json>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : "---\n") + yaml_text(all[i]);
  return heading(planned) + fill_in(planned, text) + text;
}

}  // namespace

std::string kubernetes_manifest(const PlannedDeployment& planned) {
  std::vector<Json> all;
  if (!planned.is_disaggregated()) {
    if (has_settings(planned)) all.push_back(settings_map(planned));
    all.push_back(planned.spans_nodes() ? spanning_workload(planned, planned.name + "-workers")
                                        : workload(planned, planned.copies, pod_template(planned)));
    all.push_back(service(planned, planned));
    return documents(planned, all);
  }
  for (const PlannedDeployment& pool : planned.pools) {
    if (has_settings(pool)) all.push_back(settings_map(pool));
    all.push_back(pool_workload(pool));
    if (!pool.spans_nodes()) all.push_back(pool_service(pool));
  }
  if (files_of(planned.engine).route_settings != nullptr)
    all.push_back(router_settings_map(planned));
  all.push_back(router_workload(planned));
  all.push_back(service(planned, router_of(planned)));
  return documents(planned, all);
}

std::string dynamo_manifest(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  const std::string image = planned.image.empty() ? std::string(files.dynamo_image) : planned.image;
  std::vector<Json> all;
  Json services = {{"Frontend", dynamo_frontend(planned, image)}};
  const auto add = [&](const PlannedDeployment& part) {
    if (has_settings(part)) all.push_back(settings_map(part));
    services[dynamo_service(part)] = dynamo_worker(part, image);
  };
  if (!planned.is_disaggregated()) add(planned);
  for (const PlannedDeployment& pool : planned.pools)
    add(pool);
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
      {"routing", llmd_routing(planned)},
      {"decode", llmd_role(planned.is_disaggregated() ? planned.pool(Role::kDecode) : planned)},
      {"prefill", llmd_prefill(planned)}};
  if (has_settings(planned)) values["extraObjects"] = Json::array({settings_map(planned)});
  return documents(planned, {values});
}

}  // namespace assay::plan
