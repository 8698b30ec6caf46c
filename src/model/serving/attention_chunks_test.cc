#include "model/serving/attention_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::serving {
namespace {

using testing::ElementsAre;

// "3x8192+0": requests, new tokens, and those in the cache.
std::vector<std::string> parts(const Prompts& prompts) {
  std::vector<std::string> texts;
  for (const Prompts& part : cut_at_chunks(prompts, 8192)) {
    texts.push_back(std::to_string(part.requests) + "x" + std::to_string(part.new_tokens) + "+" +
                    std::to_string(part.cached_tokens));
  }
  return texts;
}

TEST(CutAtChunks, ALongPromptIsWholeChunksAndARest) {
  EXPECT_THAT(parts({.requests = 1, .new_tokens = 30000}), ElementsAre("3x8192+0", "1x5424+0"));
  EXPECT_THAT(parts({.requests = 2, .new_tokens = 16384}), ElementsAre("4x8192+0"));
  EXPECT_THAT(parts({.requests = 2, .new_tokens = 8000}), ElementsAre("2x8000+0"));
}

// 20,000 tokens are two chunks and 3616 of the third, of which 4576 are left.
TEST(CutAtChunks, OnlyTheBeginOfAChunkHasKeysBeforeAPrompt) {
  EXPECT_THAT(parts({.requests = 1, .new_tokens = 10000, .cached_tokens = 20000}),
              ElementsAre("1x4576+3616", "1x5424+0"));
  EXPECT_THAT(parts({.requests = 1, .new_tokens = 1000, .cached_tokens = 20000}),
              ElementsAre("1x1000+3616"));
  EXPECT_THAT(parts({.requests = 1, .new_tokens = 1000, .cached_tokens = 16384}),
              ElementsAre("1x1000+0"));
}

TEST(CutAtChunks, ARequestThatDecodesHasTheKeysOfItsChunk) {
  EXPECT_THAT(parts({.requests = 16, .new_tokens = 1, .cached_tokens = 32000}),
              ElementsAre("16x1+7424"));
  EXPECT_THAT(parts({.requests = 16, .new_tokens = 1, .cached_tokens = 16384}),
              ElementsAre("16x1+0"));
}

}  // namespace
}  // namespace assay::serving
