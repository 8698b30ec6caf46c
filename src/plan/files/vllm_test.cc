#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "plan/files/engine_files.h"
#include "plan/files/files_test_util.h"

namespace assay::plan {
namespace {

using files_testing::drafting_of;
using files_testing::planned_of;
using files_testing::pools_of;
using files_testing::values_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

TEST(FilesOfVllm, LimitsAreThoseOfAllStages) {
  PlannedDeployment planned = planned_of(Engine::kVllm);
  planned.worker.pp = 2;
  const Words words = files_of(Engine::kVllm).serve(planned, "");
  EXPECT_THAT(values_of(words, "--pipeline-parallel-size"), ElementsAre("2"));
  EXPECT_THAT(values_of(words, "--tensor-parallel-size"), ElementsAre("4"));
  EXPECT_THAT(values_of(words, "--max-num-seqs"), ElementsAre("40"));
}

TEST(FilesOfVllm, PoolsSendCaches) {
  const EngineFiles& engine = files_of(Engine::kVllm);
  for (const PlannedDeployment& pool : pools_of(Engine::kVllm).pools) {
    const YAML::Node sent =
        YAML::Load(values_of(engine.serve(pool, ""), "--kv-transfer-config").at(0));
    EXPECT_EQ(sent["kv_connector"].as<std::string>(), "NixlConnector");
    EXPECT_THAT(values_of(engine.dynamo_options(pool, ""), "--disaggregation-mode"),
                ElementsAre(name_of(pool.role)));
  }
  EXPECT_THAT(engine.serve(planned_of(Engine::kVllm), ""), Not(Contains(HasSubstr("transfer"))));
}

// Without the variable the engine stops ("3-read Mamba conv transfer requires DS conv state
// layout"), and with steps ahead it answers wrong.
TEST(FilesOfVllm, PoolsSendStates) {
  const EngineFiles& engine = files_of(Engine::kVllm);
  for (PlannedDeployment pool : pools_of(Engine::kVllm).pools) {
    EXPECT_TRUE(variables_of(pool).empty());
    EXPECT_THAT(engine.serve(pool, ""), Not(Contains("--no-async-scheduling")));
    pool.sends_states = true;
    EXPECT_EQ(variables_of(pool).at("VLLM_SSM_CONV_STATE_LAYOUT"), "DS");
    EXPECT_THAT(engine.serve(pool, ""), Contains("--no-async-scheduling"));
  }
}

TEST(FilesOfVllm, DraftsAreToldToBothPools) {
  const EngineFiles& engine = files_of(Engine::kVllm);
  EXPECT_THAT(engine.serve(planned_of(Engine::kVllm), ""), Not(Contains(HasSubstr("speculative"))));
  for (const PlannedDeployment& one : drafting_of(Engine::kVllm)) {
    EXPECT_THAT(values_of(engine.serve(one, ""), "--speculative-config"),
                ElementsAre(R"({"method":"mtp","num_speculative_tokens":3})"));
  }
}

}  // namespace
}  // namespace assay::plan
