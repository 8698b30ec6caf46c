#include "collect/cuda/buffers.h"

#include <gtest/gtest.h>

namespace assay::collect {
namespace {

using model::L2State;

constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kL2Bytes = 60 * kMebi;

BufferSpec buffer(std::int64_t bytes, BufferRole role, std::int64_t read_bytes = 0) {
  return {.bytes = static_cast<std::size_t>(bytes),
          .role = role,
          .read_bytes = static_cast<std::size_t>(read_bytes)};
}

TEST(Buffers, WeightsRotateThroughTwiceTheCacheAndActivationsStay) {
  const std::vector<BufferSpec> product = {buffer(16 * kMebi, BufferRole::kWeight),
                                           buffer(44 * kMebi, BufferRole::kActivation)};
  EXPECT_EQ(copies_of(product, kL2Bytes, L2State::kHot), 1);
  EXPECT_EQ(copies_of(product, kL2Bytes, L2State::kEngine), 8);
  EXPECT_EQ(copies_of(product, kL2Bytes, L2State::kCold), 2);
  EXPECT_TRUE(rotates(BufferRole::kCache, L2State::kEngine));
  EXPECT_FALSE(rotates(BufferRole::kActivation, L2State::kEngine));
  EXPECT_TRUE(rotates(BufferRole::kActivation, L2State::kCold));
}

TEST(Buffers, WithoutWeightsNothingRotates) {
  EXPECT_EQ(copies_of({buffer(kMebi, BufferRole::kActivation)}, kL2Bytes, L2State::kEngine), 1);
  EXPECT_EQ(copies_of({buffer(0, BufferRole::kWeight), buffer(kMebi, BufferRole::kActivation)},
                      kL2Bytes, L2State::kEngine),
            1);
}

// A token of Qwen3-235B on 4 GPUs draws 8 of 128 experts: 38 of 604 MB, which the cache could hold.
TEST(Buffers, CopiesCountWhatALaunchReads) {
  const BufferSpec whole = buffer(600 * kMebi, BufferRole::kWeight);
  EXPECT_EQ(copies_of({whole}, kL2Bytes, L2State::kEngine), 1);
  const BufferSpec drawn = buffer(600 * kMebi, BufferRole::kWeight, 40 * kMebi);
  EXPECT_EQ(copies_of({drawn}, kL2Bytes, L2State::kEngine), 3);
}

TEST(Buffers, IndicesRotateInsteadOfTheirTable) {
  const std::vector<BufferSpec> lookup = {buffer(2048 * kMebi, BufferRole::kTable),
                                          buffer(256, BufferRole::kSelection, kMebi)};
  for (const L2State l2 : {L2State::kEngine, L2State::kCold})
    EXPECT_EQ(copies_of(lookup, kL2Bytes, l2), 120);
}

}  // namespace
}  // namespace assay::collect
