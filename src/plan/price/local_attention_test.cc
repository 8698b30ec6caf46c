#include "plan/price/local_attention.h"

#include <gtest/gtest.h>

namespace assay::plan {
namespace {

TEST(KeysInChunk, AreAllOfARequestThatIsShorter) {
  EXPECT_DOUBLE_EQ(keys_in_chunk(0, 8192), 0);
  EXPECT_DOUBLE_EQ(keys_in_chunk(7000, 8192), 7000);
}

// Half of 90 to 110 tokens have 90 to 100 keys, and half have 0 to 10. The range from 900 to 1100
// is two whole chunks.
TEST(KeysInChunk, AreHalfAChunkInTheMeanOfLongerOnes) {
  EXPECT_NEAR(keys_in_chunk(100, 100), 0.5 * 95 + 0.5 * 5, 1e-9);
  EXPECT_NEAR(keys_in_chunk(1000, 100), 50, 1e-9);
}

// Requests have 8000 to 8193 tokens, of which the last has begun another chunk.
TEST(KeysInChunk, NoRequestIsLongerThanTheLongest) {
  EXPECT_NEAR(keys_in_chunk(8096.5, 8192, 8193), 8096.5 * 192 / 193, 1);
  EXPECT_DOUBLE_EQ(keys_in_chunk(8192, 8192, 8192), 8192);
  EXPECT_DOUBLE_EQ(keys_in_chunk(8200, 8192, 8200), 8);
}

}  // namespace
}  // namespace assay::plan
