#include "plan/files/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <sstream>

#include "plan/files/deployment_files.h"
#include "plan/files/engine_files.h"
#include "plan/files/files_test_util.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

using files_testing::check;
using files_testing::content_of;
using files_testing::kLlmdSchema;
using files_testing::kubernetes_schema;
using files_testing::planned_of;
using files_testing::pools_of;
using files_testing::schema_of;
using files_testing::spanning_of;
using files_testing::values_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

class ManifestsOf : public testing::TestWithParam<Engine> {};

TEST_P(ManifestsOf, ObjectsHaveTheirFieldsAndNoOthers) {
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

TEST_P(ManifestsOf, WithoutANamespaceThereIsNone) {
  const PlannedDeployment planned = planned_of(GetParam());
  for (const std::string& text :
       {kubernetes_manifest(planned), dynamo_manifest(planned), llmd_values(planned)})
    EXPECT_THAT(text, Not(HasSubstr("namespace")));
}

TEST_P(ManifestsOf, APodRunsWhatTheScriptRuns) {
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

TEST_P(ManifestsOf, DynamoGetsTheSameLimits) {
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

TEST_P(ManifestsOf, ValuesOfLlmdFollowItsSchema) {
  const PlannedDeployment planned = planned_of(GetParam());
  const YAML::Node values = YAML::Load(llmd_values(planned));
  check(values, schema_of(kLlmdSchema), "values");
  EXPECT_EQ(values["decode"]["containers"][0]["command"].as<Words>(),
            files_of(GetParam()).serve(planned, "/etc/assay/settings.yaml"));
}

TEST_P(ManifestsOf, PoolsHaveTheirFieldsAndNoOthers) {
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

TEST_P(ManifestsOf, LlmdHasBothRolesOrSaysThatItHasNot) {
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

TEST(Manifests, LlmdTakesNoFolder) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.model_path = "/models/a";
  EXPECT_FALSE(deployment_files(planned, {Target::kLlmd}).ok());
  EXPECT_TRUE(deployment_files(planned, {Target::kKubernetes}).ok());
}

// Two pods a copy, of which the first takes the requests.
TEST_P(ManifestsOf, AWorkerOverNodesIsAGroupOfPods) {
  const PlannedDeployment planned = spanning_of(GetParam());
  const auto files = deployment_files(planned, {Target::kKubernetes});
  ASSERT_EQ(files.ok(), GetParam() != Engine::kTrtllm);
  if (!files.ok()) return;
  std::map<std::string, YAML::Node> documents;
  for (const YAML::Node& document : YAML::LoadAll(content_of(files.value(), "kubernetes.yaml"))) {
    const auto kind = document["kind"].as<std::string>();
    check(document, kubernetes_schema(kind), kind);
    documents[kind] = document;
  }
  const YAML::Node set = documents["LeaderWorkerSet"];
  EXPECT_EQ(set["spec"]["replicas"].as<int>(), 2);
  // Its controller makes a service of its name.
  EXPECT_NE(set["metadata"]["name"].Scalar(), documents["Service"]["metadata"]["name"].Scalar());
  const YAML::Node group = set["spec"]["leaderWorkerTemplate"];
  EXPECT_EQ(group["size"].as<int>(), 2);
  const YAML::Node first = group["leaderTemplate"];
  const YAML::Node other = group["workerTemplate"];
  for (const auto& label : documents["Service"]["spec"]["selector"]) {
    EXPECT_EQ(first["metadata"]["labels"][label.first.Scalar()].Scalar(), label.second.Scalar());
  }
  EXPECT_NE(first["metadata"]["labels"]["app.kubernetes.io/component"].Scalar(),
            other["metadata"]["labels"]["app.kubernetes.io/component"].Scalar());
  const YAML::Node first_engine = first["spec"]["containers"][0];
  const YAML::Node other_engine = other["spec"]["containers"][0];
  EXPECT_EQ(first_engine["resources"]["limits"]["nvidia.com/gpu"].as<int>(), 8);
  EXPECT_TRUE(first_engine["readinessProbe"].IsDefined());
  EXPECT_FALSE(other_engine["readinessProbe"].IsDefined());
  EXPECT_THAT(values_of(first_engine["command"].as<Words>(), "--node-rank"), ElementsAre("0"));
  EXPECT_THAT(values_of(other_engine["command"].as<Words>(), "--node-rank"),
              ElementsAre("$(LWS_WORKER_INDEX)"));
}

TEST_P(ManifestsOf, DynamoStartsEveryNode) {
  const PlannedDeployment planned = spanning_of(GetParam());
  const std::vector<YAML::Node> documents = YAML::LoadAll(dynamo_manifest(planned));
  check(documents.back(), kubernetes_schema("DynamoGraphDeployment"), "dynamo");
  const YAML::Node worker =
      documents.back()["spec"]["services"][std::string(files_of(GetParam()).dynamo_service)];
  EXPECT_EQ(worker["multinode"]["nodeCount"].as<int>(), 2);
  EXPECT_EQ(worker["resources"]["limits"]["gpu"].Scalar(), "8");
}

TEST_P(ManifestsOf, LlmdSendsRequestsToEveryPod) {
  EXPECT_FALSE(deployment_files(spanning_of(GetParam()), {Target::kLlmd}).ok());
  PlannedDeployment staged = planned_of(GetParam());
  staged.worker.pp = 2;
  const YAML::Node values = YAML::Load(llmd_values(staged));
  EXPECT_EQ(values["decode"]["parallelism"]["tensor"].as<int>(), 8);
}

// The sets of pools over nodes have services of their own, by which routers find the first
// pods.
TEST(Manifests, PoolsOverNodesAreFoundByTheirFirstPods) {
  PlannedDeployment planned = pools_of(Engine::kVllm);
  planned.gpus_per_node = 2;
  for (PlannedDeployment& pool : planned.pools)
    pool.gpus_per_node = 2;
  const std::string manifest = kubernetes_manifest(planned);
  std::set<std::string> services;
  std::set<std::string> sets;
  for (const YAML::Node& document : YAML::LoadAll(manifest)) {
    if (document["kind"].Scalar() == "Service")
      services.insert(document["metadata"]["name"].Scalar());
    if (document["kind"].Scalar() == "LeaderWorkerSet")
      sets.insert(document["metadata"]["name"].Scalar());
  }
  EXPECT_THAT(sets, ElementsAre(planned.name + "-decode"));
  EXPECT_THAT(services, ElementsAre(planned.name, planned.name + "-prefill"));
  EXPECT_THAT(manifest, HasSubstr(planned.name + "-decode-0." + planned.name + "-decode:"));
}

// A host that a cluster pulls from is its own. No image has that capital word, so that a
// manifest that nobody filled in pulls nothing.
TEST_P(ManifestsOf, ImagesNameNoHost) {
  PlannedDeployment planned = planned_of(GetParam());
  for (const std::string& text :
       {kubernetes_manifest(planned), dynamo_manifest(planned), llmd_values(planned)}) {
    const bool has_placeholder = text.find("image: \"REGISTRY/") != std::string::npos;
    EXPECT_EQ(has_placeholder, text.find("# Fill in: REGISTRY") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("image: ");
      if (at == std::string::npos) continue;
      const std::string host = line.substr(at, line.find('/', at) - at);
      EXPECT_EQ(host.find('.'), std::string::npos) << line;
    }
  }
  EXPECT_THAT(dynamo_manifest(planned), HasSubstr("# Fill in: REGISTRY"));
  EXPECT_THAT(deployment_files(planned, {Target::kDynamo}).value().back().purpose,
              HasSubstr("REGISTRY"));
  planned.image = "host.example/engine:1";
  EXPECT_THAT(dynamo_manifest(planned), Not(HasSubstr("REGISTRY")));
}

// Nothing shows the kind of the GPUs that decode but the label of their nodes.
TEST_P(ManifestsOf, PoolsOnTwoSystemsChooseTheirNodes) {
  PlannedDeployment planned = pools_of(GetParam());
  planned.pools.back().system = "h100_sxm";
  planned.pools.back().gpu_product = gpu_product_of("h100_sxm");
  for (const std::string& text : {kubernetes_manifest(planned), dynamo_manifest(planned)}) {
    EXPECT_THAT(text, HasSubstr("on h200_sxm and h100_sxm"));
    EXPECT_THAT(text, HasSubstr("gpu.product: NVIDIA-H200"));
    EXPECT_THAT(text, HasSubstr("gpu.product: NVIDIA-H100-80GB-HBM3"));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ManifestsOf, testing::ValuesIn(kEngines), [](const auto& engine) {
  return std::string(name_of(engine.param));
});

}  // namespace
}  // namespace assay::plan
