#include "plan/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

using ::testing::ElementsAre;

// What vLLM's pull requests 13839 and 46217 and TensorRT-LLM's torch.tensor_split tell.
TEST(LayersOfStages, EnginesPutFurtherLayersInTheirOwnPlaces) {
  EXPECT_THAT(layers_of_stages(Engine::kVllm, 61, 2), ElementsAre(31, 30));
  EXPECT_THAT(layers_of_stages(Engine::kVllm, 61, 4), ElementsAre(15, 15, 16, 15));
  EXPECT_THAT(layers_of_stages(Engine::kVllm, 94, 4), ElementsAre(23, 24, 24, 23));
  EXPECT_THAT(layers_of_stages(Engine::kTrtllm, 94, 4), ElementsAre(24, 24, 23, 23));
  EXPECT_THAT(layers_of_stages(Engine::kSglang, 94, 4), ElementsAre(23, 23, 24, 24));
  EXPECT_THAT(layers_of_stages(Engine::kSglang, 80, 2), ElementsAre(40, 40));
  EXPECT_THAT(layers_of_stages(Engine::kVllm, 7, 1), ElementsAre(7));
}

}  // namespace
}  // namespace assay::plan
