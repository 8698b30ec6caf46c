#include "plan/price/local_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::plan {
namespace {

using testing::ElementsAre;

// "3x8192+0": requests, new tokens, and those in the cache.
std::vector<std::string> parts(const Chunks& prompts) {
  std::vector<std::string> texts;
  for (const Chunks& part : cut_at_chunks(prompts, 8192)) {
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

TEST(KeysInChunk, AreAllOfARequestThatIsShorter) {
  EXPECT_DOUBLE_EQ(keys_in_chunk(0, 8192), 0);
  EXPECT_DOUBLE_EQ(keys_in_chunk(7000, 8192), 7000);
}

// From 90 to 110 tokens half have 90 to 100 keys, and half have 0 to 10. From 900 to 1100 are two
// whole chunks.
TEST(KeysInChunk, AreHalfAChunkInTheMeanOfLongerOnes) {
  EXPECT_NEAR(keys_in_chunk(100, 100), 0.5 * 95 + 0.5 * 5, 1e-9);
  EXPECT_NEAR(keys_in_chunk(1000, 100), 50, 1e-9);
}

}  // namespace
}  // namespace assay::plan
