#include "collect/cuda/mla_decode_split.h"

#include <gtest/gtest.h>

#include <set>

namespace assay::collect::mla {
namespace {

constexpr std::int64_t kProcessors = 132;

TEST(MlaDecode, BlocksHaveRoomForTheHeadsAndNoMoreThanTwiceAsMuch) {
  EXPECT_EQ(heads_of_block(1), 8);
  EXPECT_EQ(heads_of_block(8), 8);
  EXPECT_EQ(heads_of_block(9), 16);
  EXPECT_EQ(heads_of_block(32), 32);
  EXPECT_EQ(heads_of_block(33), 64);
  EXPECT_EQ(heads_of_block(128), 64);
  EXPECT_EQ(head_blocks(64), 1);
  EXPECT_EQ(head_blocks(65), 2);
  EXPECT_EQ(head_blocks(128), 2);
}

TEST(MlaDecode, SplitsFillTheGpuOnce) {
  EXPECT_EQ(splits_for(1, 1, kProcessors), 1);  // one tile
  EXPECT_EQ(splits_for(8, 64, kProcessors), 16);
  EXPECT_EQ(splits_for(32, 64, kProcessors), 4);
  EXPECT_EQ(splits_for(128, 64, kProcessors), 1);
  EXPECT_GE(splits_for(1, 2048, kProcessors), 117);  // a round of parts that are hardly longer
  EXPECT_LE(splits_for(1, 2048, kProcessors), 132);
  EXPECT_LE(splits_for(1, 100000, 100000), kMostSplits);
}

TEST(MlaDecode, BlocksJoinManyPartsThemselvesIfAllRunAtATime) {
  EXPECT_TRUE(joins_itself(16, 8, kProcessors));
  EXPECT_TRUE(joins_itself(132, 1, kProcessors));
  EXPECT_FALSE(joins_itself(17, 8, kProcessors));  // 136 blocks
  EXPECT_FALSE(joins_itself(8, 16, kProcessors));
  EXPECT_FALSE(joins_itself(1, 8, kProcessors));
}

TEST(MlaDecode, PartsHaveAllTilesOnceAndNoneIsEmpty) {
  for (const int tiles : {1, 2, 7, 64, 2049}) {
    for (int parts = 1; parts <= tiles && parts <= kMostSplits; ++parts) {
      int next = 0;
      for (int part = 0; part < parts; ++part) {
        const TileRange range = tiles_of_part(tiles, part, parts);
        EXPECT_EQ(range.first, next);
        EXPECT_GT(range.last, range.first);
        next = range.last;
      }
      EXPECT_EQ(next, tiles);
    }
  }
}

TEST(MlaDecode, LanesHaveEachColumnOfTheOutputOnce) {
  std::set<int> firsts;
  for (int group = 0; group < 2; ++group) {
    for (int warp = 0; warp < 4; ++warp) {
      for (int row = 0; row < 8; ++row) {
        const Fp8Columns its = fp8_columns(group, warp, row);
        const int first = its.box * 128 + its.chunk * 16 + its.half * 8;
        EXPECT_GE(first, 0);
        EXPECT_LE(first, kValueDim - 8);
        firsts.insert(first);
      }
    }
  }
  EXPECT_EQ(firsts.size(), 64U);  // of eight columns each
}

TEST(MlaDecode, RowsHaveEachKeyOnce) {
  std::set<int> keys;
  for (int row = 0; row < 8; ++row)
    keys.insert(fp8_key_of_row(row));
  EXPECT_EQ(keys, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// Lanes are served eight at a time where each reads 16 bytes.
TEST(MlaDecode, LanesThatReadKeysDoNotMeetInABank) {
  for (int first = 0; first < 32; first += 8) {
    std::set<int> places;
    for (int lane = first; lane < first + 8; ++lane)
      places.insert(swizzled_place(fp8_key_of_row(lane / 4), lane % 4) % 128);
    EXPECT_EQ(places.size(), 8U) << first;
  }
}

// And sixteen at a time where each reads 8 bytes.
TEST(MlaDecode, LanesThatReadValuesDoNotMeetInABank) {
  for (int warp = 0; warp < 4; ++warp) {
    for (int first = 0; first < 32; first += 16) {
      for (const int i : {0, 1}) {
        std::set<int> places;
        for (int lane = first; lane < first + 16; ++lane) {
          const Fp8Columns its = fp8_columns(0, warp, lane / 4);
          const int key = fp8_key_of_row(lane % 4 * 2 + i);
          places.insert((swizzled_place(key, its.chunk) + its.half * 8) % 128);
        }
        EXPECT_EQ(places.size(), 16U) << warp << ' ' << first << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace assay::collect::mla
