#include "collect/cuda/moe_packed.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace assay::collect {
namespace {

TEST(PackedWeight, FillsTilesAndStepsUp) {
  const PackedWeight weight{.rows = 360, .parts = 2, .k = 2880};
  EXPECT_EQ(weight.tiles_of_part(), 3);
  EXPECT_EQ(weight.steps(), 45);
  EXPECT_EQ(weight.bytes(), 2 * 384 * 2880 / 2);
  EXPECT_EQ(weight.scale_bytes(), 2 * 384 * 2880 / 32);
}

// Each bit of a block is one element's at most.
TEST(PackedWeight, EachElementHasItsBitsAndEach32TheirScale) {
  const PackedWeight weight{.rows = 130, .parts = 2, .k = 100};
  std::set<std::pair<std::int64_t, int>> bits;
  std::set<std::int64_t> scales;
  for (std::int64_t part = 0; part < 2; ++part) {
    for (std::int64_t row = 0; row < weight.rows; ++row) {
      for (std::int64_t element = 0; element < weight.k; ++element) {
        const PackedPlace place = packed_place(weight, part, row, element);
        ASSERT_LE(place.byte + 4, kPackedTileBytes);
        ASSERT_LT(place.scale_byte, kPackedScaleBytes);
        ASSERT_LT(place.block, weight.blocks());
        const std::int64_t byte = place.block * kPackedTileBytes + place.byte;
        for (const int bit :
             {place.bits.sign, place.bits.upper, place.bits.low, place.bits.low + 1}) {
          ASSERT_LT(bit, 32);
          EXPECT_TRUE(bits.emplace(byte, bit).second);
        }
        scales.insert(place.block * kPackedScaleBytes + place.scale_byte);
        const PackedPlace first = packed_place(weight, part, row, element / 32 * 32);
        EXPECT_EQ(place.scale_byte, first.scale_byte);
      }
    }
  }
  EXPECT_EQ(scales.size(), 2U * 130 * 4);  // 100 elements of k begin 4 times 32
}

TEST(PackedBits, GatherANumber) {
  const PackedBits bits{.sign = 14, .upper = 13, .low = 10};
  EXPECT_EQ(bits.of(1U << 14U), 8);
  EXPECT_EQ(bits.of(1U << 13U), 4);
  EXPECT_EQ(bits.of(3U << 10U), 3);
  EXPECT_EQ(bits.of(~(1U << 14U | 1U << 13U | 3U << 10U)), 0);
}

}  // namespace
}  // namespace assay::collect
