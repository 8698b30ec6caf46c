#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "plan/files/engine_files.h"
#include "plan/files/files_test_util.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

using files_testing::check;
using files_testing::drafting_of;
using files_testing::kTrtllmSchema;
using files_testing::planned_of;
using files_testing::pools_of;
using files_testing::schema_of;
using files_testing::spanning_of;
using files_testing::values_of;
using testing::ElementsAre;

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

TEST(FilesOfTrtllm, WindowsHaveTheShareOfMemoryThatWasPriced) {
  PlannedDeployment planned = planned_of(Engine::kTrtllm);
  EXPECT_TRUE(variables_of(planned).empty());
  planned.windows = {1024, 1024, 0};
  planned.window_share = 0.14;
  const YAML::Node settings = YAML::Load(yaml_text(files_of(Engine::kTrtllm).settings(planned)));
  check(settings, schema_of(kTrtllmSchema), "settings");
  const auto windows = settings["kv_cache_config"]["max_attention_window"].as<std::vector<int>>();
  EXPECT_THAT(windows, ElementsAre(1024, 1024, planned.most_request_tokens()));
  EXPECT_EQ(variables_of(planned).at("TRTLLM_WINDOW_SIZE_SHARES"), "0.140625,0.859375");
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

// Each stage has batches of its own, and the limits are those of one.
TEST(FilesOfTrtllm, StagesHaveBatchesOfTheirOwn) {
  PlannedDeployment planned = planned_of(Engine::kTrtllm);
  planned.worker.pp = 2;
  const YAML::Node settings = YAML::Load(yaml_text(files_of(Engine::kTrtllm).settings(planned)));
  EXPECT_EQ(settings["pipeline_parallel_size"].as<int>(), 2);
  EXPECT_EQ(settings["tensor_parallel_size"].as<int>(), 4);
  EXPECT_EQ(settings["max_batch_size"].as<int>(), 20);
  EXPECT_FALSE(settings["gpus_per_node"].IsDefined());
}

TEST(FilesOfTrtllm, NodesShareAWorker) {
  const PlannedDeployment planned = spanning_of(Engine::kTrtllm);
  const YAML::Node settings = YAML::Load(yaml_text(files_of(Engine::kTrtllm).settings(planned)));
  check(settings, schema_of(kTrtllmSchema), "settings");
  EXPECT_EQ(settings["gpus_per_node"].as<int>(), 8);
}

TEST(FilesOfTrtllm, PoolsSendCaches) {
  const EngineFiles& engine = files_of(Engine::kTrtllm);
  for (const PlannedDeployment& pool : pools_of(Engine::kTrtllm).pools) {
    const YAML::Node sent =
        YAML::Load(yaml_text(engine.settings(pool)))["cache_transceiver_config"];
    EXPECT_EQ(sent["backend"].Scalar(), "DEFAULT");
    EXPECT_GE(sent["max_tokens_in_buffer"].as<std::int64_t>(), pool.prompt_tokens);
    EXPECT_THAT(values_of(engine.dynamo_options(pool, "s"), "--disaggregation-mode"),
                ElementsAre(name_of(pool.role)));
  }
  EXPECT_FALSE(engine.settings(planned_of(Engine::kTrtllm)).contains("cache_transceiver_config"));
}

TEST(FilesOfTrtllm, PoolsSendStatesByPython) {
  for (PlannedDeployment pool : pools_of(Engine::kTrtllm).pools) {
    pool.sends_states = true;
    const YAML::Node settings = YAML::Load(yaml_text(files_of(Engine::kTrtllm).settings(pool)));
    check(settings, schema_of(kTrtllmSchema), "settings");
    const YAML::Node sent = settings["cache_transceiver_config"];
    EXPECT_EQ(sent["backend"].Scalar(), "NIXL");
    EXPECT_EQ(sent["transceiver_runtime"].Scalar(), "PYTHON");
  }
}

TEST(FilesOfTrtllm, DraftsAreToldToBothPools) {
  const EngineFiles& engine = files_of(Engine::kTrtllm);
  EXPECT_FALSE(engine.settings(planned_of(Engine::kTrtllm)).contains("speculative_config"));
  for (const PlannedDeployment& one : drafting_of(Engine::kTrtllm)) {
    const YAML::Node settings = YAML::Load(yaml_text(engine.settings(one)));
    check(settings, schema_of(kTrtllmSchema), "settings");
    EXPECT_EQ(settings["speculative_config"]["decoding_type"].Scalar(), "MTP");
    EXPECT_EQ(settings["speculative_config"]["num_nextn_predict_layers"].as<int>(), 3);
  }
}

}  // namespace
}  // namespace assay::plan
