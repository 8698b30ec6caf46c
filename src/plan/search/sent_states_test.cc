#include "plan/search/sent_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

using testing::HasSubstr;

constexpr Worker kOne{.tp = 1, .moe_tp = 1};
constexpr Worker kTwo{.tp = 2, .moe_tp = 2};

serving::Model model_named(const std::string& name) {
  const bool is_file = name.ends_with(".json");
  const std::string folder = std::string(ASSAY_SOURCE_DIR) + "/tests/data/model_configs/";
  return serving::read_model(is_file ? folder + name : name).value();
}

TEST(SentStates, AreOfLinearAttentionAndStateSpaces) {
  EXPECT_TRUE(keeps_states(model_named("qwen3-next-80b-a3b")));
  EXPECT_TRUE(keeps_states(model_named("nemotron-3-nano-30b-a3b.json")));
  EXPECT_FALSE(keeps_states(model_named("qwen3-32b")));
  EXPECT_FALSE(keeps_states(model_named("gpt-oss-120b")));
}

// Before, "Hybrid KV cache manager is disabled but failed to convert the KV cache specs to one
// unified type" at start (ai-dynamo/dynamo 10741, of 0.20.1).
TEST(SentStates, VllmSendsThemWhereConnectorsKeepTheHybridCacheManager) {
  const serving::Model model = model_named("qwen3-next-80b-a3b");
  for (const char* version : {"", "0.12.0", "0.20.1", "0.22.0"}) {
    const core::Status status = check_sent_states(model, Engine::kVllm, version, kOne, kOne);
    ASSERT_FALSE(status.ok()) << version;
    EXPECT_THAT(status.error().message, HasSubstr("from version 0.23 on")) << version;
  }
  EXPECT_TRUE(check_sent_states(model, Engine::kVllm, "0.24.0", kOne, kOne).ok());
  EXPECT_TRUE(check_sent_states(model_named("gpt-oss-120b"), Engine::kVllm, "", kOne, kTwo).ok());
}

TEST(SentStates, VllmSendsThemBetweenEqualTpAlone) {
  const core::Status status =
      check_sent_states(model_named("qwen3-next-80b-a3b"), Engine::kVllm, "0.24.0", kOne, kTwo);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("tp 1 cannot compute prompts for tp 2"));
}

TEST(SentStates, SglangSentThemBetweenEqualTpFirst) {
  const serving::Model model = model_named("qwen3-next-80b-a3b");
  EXPECT_FALSE(check_sent_states(model, Engine::kSglang, "", kOne, kOne).ok());
  EXPECT_TRUE(check_sent_states(model, Engine::kSglang, "0.5.9", kOne, kOne).ok());
  EXPECT_THAT(check_sent_states(model, Engine::kSglang, "0.5.9", kOne, kTwo).error().message,
              HasSubstr("SGLang before 0.5.12"));
  EXPECT_TRUE(check_sent_states(model, Engine::kSglang, "0.5.14", kOne, kTwo).ok());
}

TEST(SentStates, TensorRtLlmSendsThemByItsPythonTransceiver) {
  const serving::Model model = model_named("qwen3-next-80b-a3b");
  EXPECT_FALSE(check_sent_states(model, Engine::kTrtllm, "1.3.0rc10", kOne, kOne).ok());
  EXPECT_TRUE(check_sent_states(model, Engine::kTrtllm, "1.3.0rc20", kOne, kTwo).ok());
}

}  // namespace
}  // namespace assay::plan
