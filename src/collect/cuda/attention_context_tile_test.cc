#include "collect/cuda/attention_context_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

namespace assay::collect::context {
namespace {

std::vector<Shape> some_shapes() {
  return {
      {.batch = 3, .queries = 1, .keys = 1, .heads = 12, .kv_heads = 4},
      {.batch = 2, .queries = 1000, .keys = 1000, .heads = 8, .kv_heads = 2},
      {.batch = 2, .queries = 700, .keys = 705, .heads = 4, .kv_heads = 1},
      {.batch = 1, .queries = 100, .keys = 1000, .heads = 4, .kv_heads = 4},
      {.batch = 1, .queries = 2048, .keys = 2048, .heads = 2, .kv_heads = 1, .window = 128},
      {.batch = 1, .queries = 700, .keys = 705, .heads = 2, .kv_heads = 1, .window = 200},
      {.batch = 1, .queries = 300, .keys = 300, .heads = 2, .kv_heads = 1, .causal = false},
      {.batch = 2, .queries = 1000, .keys = 1000, .heads = 2, .kv_heads = 1, .tile_queries = 192}};
}

TEST(AttentionContextTile, BlocksHaveEachTileOnce) {
  for (const Shape& shape : some_shapes()) {
    for (const int blocks : {1, 2, 7, 132}) {
      std::multiset<int> places;
      for (int block = 0; block < blocks; ++block) {
        for (int round = 0; place_of(round, block, blocks) < (round + 1) * blocks &&
                            round * blocks < tiles_of(shape);
             ++round) {
          const int place = place_of(round, block, blocks);
          if (place < tiles_of(shape)) places.insert(place);
        }
      }
      std::vector<int> all(static_cast<std::size_t>(tiles_of(shape)));
      std::iota(all.begin(), all.end(), 0);
      EXPECT_TRUE(std::equal(places.begin(), places.end(), all.begin(), all.end()));
    }
  }
}

// A block stops at the first place past the end, so that it must have none after it.
TEST(AttentionContextTile, NoTileFollowsThePlacePastTheEnd) {
  for (const Shape& shape : some_shapes()) {
    for (const int blocks : {1, 2, 7, 132}) {
      for (int block = 0; block < blocks; ++block) {
        int round = 0;
        while (place_of(round, block, blocks) < tiles_of(shape))
          ++round;
        EXPECT_GE(place_of(round + 1, block, blocks), tiles_of(shape));
      }
    }
  }
}

TEST(AttentionContextTile, TilesCoverEachQueryOnceAndTheLongestComeFirst) {
  for (const Shape& shape : some_shapes()) {
    std::set<std::tuple<int, int, int>> seen;
    int before = shape.keys;
    for (int place = 0; place < tiles_of(shape); ++place) {
      const Tile tile = tile_at(shape, place);
      EXPECT_LT(tile.first_query, shape.queries);
      EXPECT_EQ(tile.first_query % shape.tile_queries, 0);
      EXPECT_LT(tile.head, shape.heads);
      EXPECT_LT(tile.batch, shape.batch);
      seen.insert({tile.batch, tile.head, tile.first_query});
      EXPECT_LE(keys_of(shape, tile.first_query).end, before);
      before = keys_of(shape, tile.first_query).end;
    }
    EXPECT_EQ(static_cast<int>(seen.size()), tiles_of(shape));
  }
}

TEST(AttentionContextTile, KeyTilesHaveAllKeysThatAreSeen) {
  for (const Shape& shape : some_shapes()) {
    for (int first = 0; first < shape.queries; first += shape.tile_queries) {
      const KeyTiles tiles = key_tiles_of(shape, first);
      ASSERT_GT(tiles.count(), 0);
      int begin = shape.keys;
      int end = 0;
      for (int query = first; query < std::min(first + shape.tile_queries, shape.queries);
           ++query) {
        begin = std::min(begin, keys_of(shape, query).begin);
        end = std::max(end, keys_of(shape, query).end);
      }
      EXPECT_EQ(tiles.first, begin / kTileKeys);
      EXPECT_EQ(tiles.last, (end + kTileKeys - 1) / kTileKeys);
    }
  }
}

TEST(AttentionContextTile, MasksWhereAQueryDoesNotSeeAKey) {
  for (const Shape& shape : some_shapes()) {
    for (int first = 0; first < shape.queries; first += 64) {
      const int last = std::min(first + 64, shape.queries) - 1;
      const KeyTiles tiles = key_tiles_of(shape, first / shape.tile_queries * shape.tile_queries);
      for (int tile = tiles.first; tile < tiles.last; ++tile) {
        bool all_seen = true;
        for (int query = first; query <= last; ++query) {
          const Keys seen = keys_of(shape, query);
          all_seen =
              all_seen && seen.begin <= tile * kTileKeys && seen.end >= (tile + 1) * kTileKeys;
        }
        EXPECT_TRUE(all_seen || needs_mask(shape, first, last, tile));
      }
    }
  }
}

TEST(AttentionContextTile, LongPromptsOfNarrowHeadsHaveLargerTiles) {
  const auto queries_of = [](int batch, int heads, int tokens, int head_dim) {
    const Shape shape{.batch = batch, .queries = tokens, .keys = tokens, .heads = heads};
    return tile_queries_of(shape, head_dim, 132);
  };
  EXPECT_EQ(queries_of(1, 32, 16384, 64), 192);
  EXPECT_EQ(queries_of(8, 32, 4096, 64), 192);
  EXPECT_EQ(queries_of(8, 32, 1024, 64), 128);
  EXPECT_EQ(queries_of(1, 8, 4096, 64), 128);  // fewer tiles would leave multiprocessors idle
  EXPECT_EQ(queries_of(1, 32, 16384, 128), 128);
}

TEST(AttentionContextTile, KeysOfAProductAreEachThereOnce) {
  std::set<int> keys;
  for (int place = 0; place < 32; ++place)
    keys.insert(key_at(place));
  EXPECT_EQ(keys.size(), 32U);
  EXPECT_EQ(*keys.begin(), 0);
  EXPECT_EQ(*keys.rbegin(), 31);
}

// Lane t of four has, of each 8 columns of sums, the columns 2 t and 2 t + 1, and of the left
// factor the places 4 t to 4 t + 3 of each 16.
TEST(AttentionContextTile, ALaneKeepsItsKeysFromProductToProduct) {
  for (int lane = 0; lane < 4; ++lane) {
    for (int word = 0; word < 2; ++word) {
      for (int byte = 0; byte < 4; ++byte) {
        const int column = word * 16 + byte / 2 * 8 + lane * 2 + byte % 2;
        EXPECT_EQ(key_at(word * 16 + lane * 4 + byte), column);
      }
    }
  }
}

}  // namespace
}  // namespace assay::collect::context
