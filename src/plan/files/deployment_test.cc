#include "plan/files/deployment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/files/files_test_util.h"
#include "plan/files/price_planned.h"

namespace assay::plan {
namespace {

using files_testing::planned_of;
using files_testing::pools_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(FilesOfADeployment, WhatIsNoMachineIsRefused) {
  PlannedDeployment planned = pools_of(Engine::kVllm);
  planned.hosts = {"a.example", "10.0.0.2"};
  EXPECT_TRUE(check_planned(planned).ok());
  for (const char* wrong : {"", "a:80", "$(x)", "-x", "a b"}) {
    planned.hosts[1] = wrong;
    EXPECT_FALSE(check_planned(planned).ok()) << wrong;
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
  EXPECT_TRUE(check_planned(planned).ok());
  planned.kube_space = "None";
  EXPECT_FALSE(check_planned(planned).ok());
  planned.kube_space = "";
  planned.name = "3d";
  EXPECT_FALSE(check_planned(planned).ok());
  planned = planned_of(Engine::kVllm);
  planned.model = "a\nrm -rf";
  EXPECT_FALSE(check_planned(planned).ok());
}

TEST(FilesOfADeployment, VersionsHaveTheOptionsOfTheFiles) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  for (const char* known : {"", "0.12", "0.12.0", "0.13.0rc1", "1.0"}) {
    planned.engine_version = known;
    EXPECT_TRUE(check_planned(planned).ok()) << known;
  }
  for (const char* wrong : {"abc", "v0.12.0", "0.12.0+cu130", "0.12 x", "0.12\n"}) {
    planned.engine_version = wrong;
    const core::Status status = check_planned(planned);
    ASSERT_FALSE(status.ok()) << wrong;
    EXPECT_THAT(status.error().message, HasSubstr("is no version of vllm"));
  }
  planned.engine_version = "0.6.0";
  EXPECT_THAT(check_planned(planned).error().message, HasSubstr("are for vllm from 0.12 on"));
  planned.engine_version = "0.12.0rc1";
  EXPECT_FALSE(check_planned(planned).ok());
}

// Docker Hub has vllm/vllm-openai:v0.24.0 and lmsysorg/sglang:v0.5.6.post2, NVIDIA's registry
// release:1.3.0rc20 of TensorRT-LLM.
TEST(FilesOfADeployment, AreForTheVersionOfTheTables) {
  EXPECT_EQ(deployable_version(Engine::kVllm, "0.24.0"), "0.24.0");
  EXPECT_EQ(deployable_version(Engine::kSglang, "0.5.6.post2"), "0.5.6.post2");
  EXPECT_EQ(deployable_version(Engine::kTrtllm, "1.3.0rc20"), "1.3.0rc20");
  PlannedDeployment planned = planned_of(Engine::kVllm);
  EXPECT_EQ(image_of(planned), "vllm/vllm-openai:v0.12.0");
  planned.engine_version = "0.24.0";
  EXPECT_EQ(image_of(planned), "vllm/vllm-openai:v0.24.0");
}

TEST(FilesOfADeployment, AreForNoVersionWithoutAnImageOrTheirOptions) {
  for (const char* other :
       {"", "0.11.0", "0.24.0rc1", "0.24.1.dev3", "gpt-oss-dev", "assay-0.24.0"})
    EXPECT_EQ(deployable_version(Engine::kVllm, other), "") << other;
}

TEST(FilesOfADeployment, EachEngineHasALeastVersion) {
  for (const auto& [engine, below] :
       {std::pair(Engine::kSglang, "0.4.9"), std::pair(Engine::kTrtllm, "0.21.0")}) {
    PlannedDeployment planned = planned_of(engine);
    planned.engine_version = below;
    EXPECT_FALSE(check_planned(planned).ok()) << below;
    planned.engine_version = files_of(engine).least_version;
    EXPECT_TRUE(check_planned(planned).ok()) << below;
  }
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

TEST(FilesOfADeployment, SequencesStayWithinTheModelsContext) {
  serving::Model model;
  model.name = "short";
  PlannedDeployment planned = planned_of(Engine::kVllm);
  const std::int64_t tokens = planned.prompt_tokens + planned.output_tokens;
  EXPECT_TRUE(check_context(model, planned).ok()) << "the context is not known";
  EXPECT_EQ(planned.most_request_tokens(), tokens + 500);
  model.context = tokens + 20;
  EXPECT_TRUE(check_context(model, planned).ok());
  EXPECT_EQ(planned.most_request_tokens(), tokens + 20);
  model.context = tokens - 1;
  const core::Status status = check_context(model, planned);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("short takes sequences of up to"));
}

TEST(FilesOfADeployment, AStepHasATokenForEachRequest) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.limits.max_tokens = planned.limits.max_batch;
  EXPECT_TRUE(check_step_tokens(planned).ok());
  planned.worker.pp = 2;
  EXPECT_FALSE(check_step_tokens(planned).ok()) << "vLLM counts the requests of all stages";
  planned.worker.pp = 1;
  --planned.limits.max_tokens;
  EXPECT_FALSE(check_step_tokens(planned).ok());
}

TEST(FilesOfADeployment, ABatchThatTheCacheDoesNotHoldIsTold) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.concurrency = 20;
  planned.held_requests = 20;
  EXPECT_EQ(room_in_words(planned), "");
  planned.held_requests = 19;
  planned.most_held = 19;
  EXPECT_THAT(room_in_words(planned), HasSubstr("holds 19 of the 20 requests at once"));
  planned.concurrency = 40;
  planned.worker.pp = 2;
  EXPECT_THAT(room_in_words(planned), HasSubstr("holds 19 of the 20 requests at once"));
  EXPECT_THAT(room_in_words(planned), HasSubstr("--batch 19 is the most"));
}

TEST(FilesOfADeployment, PortsAreThoseThatThereAre) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.port = 65535;
  EXPECT_TRUE(check_planned(planned).ok());
  planned.port = 65536;
  EXPECT_THAT(check_planned(planned).error().message, HasSubstr("up to 65535"));
  planned = pools_of(Engine::kVllm);
  for (PlannedDeployment& pool : planned.pools)
    pool.port = 65536 - pool.copies;
  EXPECT_TRUE(check_planned(planned).ok());
  ++planned.pools.back().port;
  EXPECT_THAT(check_planned(planned).error().message, HasSubstr("up to 65535"));
}

// A worker has a part of a node, or whole ones: nothing else of the last node could be used.
TEST(FilesOfADeployment, AWorkerTakesWholeNodes) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  for (const std::int64_t tp : {1, 4, 8, 16, 32}) {
    planned.worker.tp = tp;
    EXPECT_TRUE(check_planned(planned).ok()) << tp;
  }
  planned.worker.tp = 12;
  EXPECT_FALSE(check_planned(planned).ok());
  planned.worker.tp = 16;
  EXPECT_EQ(planned.nodes_of_worker(), 2);
  EXPECT_EQ(planned.gpus_of_node(), 8);
}

TEST(FilesOfADeployment, WhatWasPricedNamesBothSystems) {
  PlannedDeployment planned = pools_of(Engine::kSglang);
  EXPECT_THAT(planned_json(planned), Not(HasSubstr("h100_sxm")));
  planned.pools.back().system = "h100_sxm";
  planned.pools.back().calibration_text = "calibrated on h100_sxm";
  const YAML::Node json = YAML::Load(planned_json(planned));
  EXPECT_EQ(json["system"].Scalar(), "h200_sxm");
  EXPECT_FALSE(json["prefill"]["system"].IsDefined());
  EXPECT_EQ(json["decode"]["system"].Scalar(), "h100_sxm");
  EXPECT_EQ(json["decode_calibration"]["text"].Scalar(), "calibrated on h100_sxm");
}

}  // namespace
}  // namespace assay::plan
