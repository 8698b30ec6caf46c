#include "plan/files/first_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

using testing::HasSubstr;

TEST(FirstVersions, SayWhereAVersionLacksTheModel) {
  EXPECT_THAT(lacking_model_in_words(Engine::kTrtllm, "", "minimax_m2"),
              HasSubstr("trtllm 1.1.0, which is planned for, may not serve this model "
                        "(minimax_m2): 1.3.0rc5 is the first version"));
  EXPECT_EQ(lacking_model_in_words(Engine::kTrtllm, "1.3.0rc10", "minimax_m2"), "");
  EXPECT_THAT(lacking_model_in_words(Engine::kVllm, "0.12.0", "qwen3_5"), HasSubstr("0.17"));
  EXPECT_EQ(lacking_model_in_words(Engine::kVllm, "0.17.0", "qwen3_5"), "");
}

TEST(FirstVersions, AreSilentOfWhatIsNotKnown) {
  EXPECT_EQ(lacking_model_in_words(Engine::kTrtllm, "", "qwen3"), "");
  EXPECT_EQ(lacking_model_in_words(Engine::kVllm, "", "minimax_m2"), "");
  EXPECT_EQ(lacking_model_in_words(Engine::kTrtllm, "gpt-oss-dev", "minimax_m2"), "");
}

// Qwen3.5 is read as Qwen3-Next is, and was served by later versions.
TEST(FirstVersions, TellQwen35FromQwen3Next) {
  const auto read = [](const char* name) {
    return serving::read_model(std::string(ASSAY_SOURCE_DIR) + "/tests/data/model_configs/" + name)
        .value();
  };
  EXPECT_EQ(read("qwen3.5-397b-a17b.json").family, "qwen3_5");
  EXPECT_EQ(serving::read_model("qwen3-next-80b-a3b").value().family, "qwen3_next");
}

}  // namespace
}  // namespace assay::plan
