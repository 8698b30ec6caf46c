#include "collect/cuda/attention_decode_tile.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::collect::decode {
namespace {

using Matrix = std::vector<std::vector<int>>;

// A row of a cache: the columns of a head, and the bytes of each.
struct Row {
  int columns = 0;
  int number_bytes = 1;

  [[nodiscard]] int bytes() const { return columns * number_bytes; }
};

constexpr std::array<Row, 8> kRows{
    {{64, 1}, {128, 1}, {192, 1}, {256, 1}, {64, 2}, {128, 2}, {192, 2}, {256, 2}}};

std::string text_of(const Row& row) {
  return std::to_string(row.columns) + " columns of " + std::to_string(row.number_bytes) + " bytes";
}

// The numbers are whole, so that sums are exact.
Matrix random_matrix(int rows, int columns, unsigned seed) {
  Matrix made(static_cast<std::size_t>(rows), std::vector<int>(static_cast<std::size_t>(columns)));
  for (auto& row : made) {
    for (int& value : row) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<int>(seed >> 24U) - 128;
    }
  }
  return made;
}

int at(const Matrix& matrix, int row, int column) {
  return matrix[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
}

// The product m16n8k16 as the PTX manual gives it to lanes: `a` and `b` hand over a lane's number
// of a register and its lower or upper half, the result is the sum of the lane's number `i`.
template <class A, class B>
int product(int lane, int i, const A& a, const B& b) {
  const int row = lane / 4;
  const int column = lane % 4 * 2 + i % 2;
  int sum = 0;
  for (int k = 0; k < 16; ++k) {
    const int a_lane = row * 4 + k % 8 / 2;
    const int b_lane = column * 4 + k % 8 / 2;
    sum += a(a_lane, i / 2 + k / 8 * 2, k % 2) * b(b_lane, k / 8, k % 2);
  }
  return sum;
}

int dot(const std::vector<int>& a, const std::vector<int>& b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

// The key of a tile whose columns a lane takes for the scores of keys 8 half to 8 half + 7.
int loaded_key(int lane, int half) {
  return half * 8 + lane / 4;
}

// The keys whose values a lane takes, for `i` from 0 to 3: the keys of its weights.
int loaded_value(int lane, int i) {
  return score_key(lane, i / 2, i % 2);
}

// The first of the bytes that a lane takes of these values.
int loaded_value_byte(int lane, int chunk, int row_bytes) {
  return (chunk * 8 + lane / 4) * value_bytes(row_bytes);
}

// A score of a lane as the kernel sums it, with a product for every four numbers of a lane's keys.
int score(const Matrix& query, const Matrix& keys, const Row& row, int lane, int half, int i) {
  int sum = 0;
  const int steps = 4 / row.number_bytes;
  for (int step = 0; step < row.columns / 16; ++step) {
    const auto column = [&](int of_lane, int reg, int part) {
      return loaded_key_byte(of_lane, step / steps) / row.number_bytes + step % steps * 4 +
             reg * 2 + part;
    };
    sum += product(
        lane, i,
        [&](int owner, int reg, int part) {
          return at(query, reg % 2 * 8 + owner / 4, column(owner, reg / 2, part));
        },
        [&](int owner, int reg, int part) {
          return at(keys, loaded_key(owner, half), column(owner, reg, part));
        });
  }
  return sum;
}

TEST(AttentionDecodeTile, ScoresAreThoseOfTheKeysTheyAreSaidToBeOf) {
  for (const Row& of : kRows) {
    const Matrix query = random_matrix(kTileRows, of.columns, 1);
    const Matrix keys = random_matrix(kTileKeys, of.columns, 2);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (const auto& [half, i] : {std::pair{0, 0}, {0, 3}, {1, 1}, {1, 2}}) {
        const auto row = static_cast<std::size_t>(i / 2 * 8 + lane / 4);
        const auto key = static_cast<std::size_t>(score_key(lane, half, i));
        EXPECT_EQ(score(query, keys, of, lane, half, i), dot(query[row], keys[key]))
            << text_of(of) << " lane " << lane << " half " << half << " number " << i;
      }
    }
  }
}

TEST(AttentionDecodeTile, OutputsAreThoseOfTheColumnsTheyAreSaidToBeOf) {
  for (const Row& of : kRows) {
    const int head_dim = of.columns;
    const Matrix weights = random_matrix(kTileRows, kTileKeys, 3);
    const Matrix values = random_matrix(kTileKeys, head_dim, 4);
    const int width = value_bytes(of.bytes()) / of.number_bytes;
    // A lane has the weights that belong to its scores.
    const auto weight = [&](int owner, int reg, int part) {
      return at(weights, reg % 2 * 8 + owner / 4, score_key(owner, reg / 2, part));
    };
    for (int tile = 0; tile < head_dim / 8; ++tile) {
      const auto value = [&](int owner, int reg, int part) {
        return at(
            values, loaded_value(owner, reg * 2 + part),
            loaded_value_byte(owner, tile / width, of.bytes()) / of.number_bytes + tile % width);
      };
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 4; ++i) {
          int expected = 0;
          for (int key = 0; key < kTileKeys; ++key) {
            expected += at(weights, i / 2 * 8 + lane / 4, key) *
                        at(values, key, output_column(lane, tile, i, head_dim, of.number_bytes));
          }
          EXPECT_EQ(product(lane, i, weight, value), expected)
              << text_of(of) << " lane " << lane << " tile " << tile << " number " << i;
        }
      }
    }
  }
}

TEST(AttentionDecodeTile, LanesLoadEachByteOfATileOnceOnAlignedAddresses) {
  for (const int row_bytes : {64, 128, 192, 256, 384, 512}) {
    std::vector<int> keys(static_cast<std::size_t>(kTileKeys * row_bytes));
    std::vector<int> values = keys;
    const auto load = [&](std::vector<int>& loads, int row, int byte, int bytes) {
      EXPECT_EQ(byte % bytes, 0);
      for (int i = 0; i < bytes; ++i)
        ++loads[static_cast<std::size_t>(row * row_bytes + byte + i)];
    };
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int chunk = 0; chunk < row_bytes / kKeyChunk; ++chunk) {
        for (const int half : {0, 1})
          load(keys, loaded_key(lane, half), loaded_key_byte(lane, chunk), 16);
      }
      const int width = value_bytes(row_bytes);
      for (int chunk = 0; chunk < row_bytes / (8 * width); ++chunk) {
        for (int i = 0; i < 4; ++i)
          load(values, loaded_value(lane, i), loaded_value_byte(lane, chunk, row_bytes), width);
      }
    }
    EXPECT_EQ(keys, std::vector<int>(keys.size(), 1)) << row_bytes;
    EXPECT_EQ(values, std::vector<int>(values.size(), 1)) << row_bytes;
  }
}

// The bytes of a tile's keys or values, or of both: (key, byte).
using Bytes = std::vector<std::pair<int, int>>;

void put(Bytes& to, int place, int key, int byte, int count) {
  ASSERT_EQ(place % count, 0);
  for (int i = 0; i < count; ++i)
    to.at(static_cast<std::size_t>(place + i)) = {key, byte + i};
}

void expect(const Bytes& in, int place, int key, int byte, int count) {
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(in.at(static_cast<std::size_t>(place + i)), (std::pair{key, byte + i}));
  }
}

TEST(AttentionDecodeTile, LanesFindWhatOthersCopied) {
  for (const int row_bytes : {64, 128, 192, 256, 384, 512}) {
    const int width = value_bytes(row_bytes);
    Bytes keys(static_cast<std::size_t>(kTileKeys * row_bytes), {-1, -1});
    Bytes values = keys;
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < kTileKeys * row_bytes / 16 / kLanes; ++i) {
        const Piece piece = copied_piece(lane, i, row_bytes);
        put(keys, key_place_of(piece, row_bytes), piece.key, piece.byte, 16);
        put(values, value_place_of(piece, row_bytes), piece.key, piece.byte, 16);
        if (width == 16) continue;
        // The two loads read bytes that must lie side by side.
        const Piece second{.key = piece.key, .byte = piece.byte + width};
        EXPECT_EQ(value_place_of(second, row_bytes), value_place_of(piece, row_bytes) + width);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int chunk = 0; chunk < row_bytes / kKeyChunk; ++chunk) {
        for (const int half : {0, 1}) {
          expect(keys, key_place(lane, half, chunk, row_bytes), loaded_key(lane, half),
                 loaded_key_byte(lane, chunk), 16);
        }
      }
      for (int chunk = 0; chunk < row_bytes / (8 * width); ++chunk) {
        for (int i = 0; i < 4; ++i) {
          expect(values, value_place(lane, i, chunk, row_bytes), loaded_value(lane, i),
                 loaded_value_byte(lane, chunk, row_bytes), width);
        }
      }
    }
  }
}

// Returns whether lanes that are served together, as many as fit into 128 bytes, use the same bank.
template <class Place>
bool meet(int bytes, const Place& place) {
  for (int first = 0; first < kLanes; first += 128 / bytes) {
    std::set<int> places;
    for (int lane = first; lane < first + 128 / bytes; ++lane)
      places.insert(place(lane) % 128 / bytes);
    if (places.size() < static_cast<std::size_t>(128 / bytes)) return true;
  }
  return false;
}

TEST(AttentionDecodeTile, LanesDoNotMeetInABank) {
  for (const int row_bytes : {64, 128, 192, 256, 384, 512}) {
    const int width = value_bytes(row_bytes);
    EXPECT_FALSE(meet(16, [&](int lane) { return key_place(lane, 1, 0, row_bytes); }));
    EXPECT_FALSE(meet(width, [&](int lane) { return value_place(lane, 2, 0, row_bytes); }));
    if (row_bytes % 128 != 0) continue;  // only multiples of 128 bytes
    for (int i = 0; i < kTileKeys * row_bytes / 16 / kLanes; ++i) {
      EXPECT_FALSE(meet(16, [&](int lane) {
        return key_place_of(copied_piece(lane, i, row_bytes), row_bytes);
      })) << row_bytes;
      EXPECT_FALSE(meet(16, [&](int lane) {
        return value_place_of(copied_piece(lane, i, row_bytes), row_bytes);
      })) << row_bytes;
    }
  }
}

TEST(AttentionDecodeTile, SumsGoToBanksOfTheirOwn) {
  for (const int head_dim : {64, 128, 192}) {
    for (int tile = 0; tile < head_dim / 8; ++tile) {
      std::set<int> banks;
      for (int lane = 0; lane < kLanes; ++lane) {
        const int column = output_column(lane, tile, 0, head_dim, 1);
        banks.insert((lane / 4 * sum_words(head_dim) + sum_place(column)) % 32);
      }
      EXPECT_EQ(banks.size(), 32U) << head_dim << " tile " << tile;
    }
  }
}

TEST(AttentionDecodeTile, PartsHaveAllTilesOnceAndNoneIsEmpty) {
  for (const int begin : {0, 1, 16, 999, 1007}) {
    for (const int length : {1, 2, 16, 17, 1000}) {
      const TileRange all = tiles_of_part(begin, begin + length, 0, 1);
      EXPECT_LE(all.first * kTileKeys, begin);
      EXPECT_GT((all.first + 1) * kTileKeys, begin);
      EXPECT_GE(all.last * kTileKeys, begin + length);
      EXPECT_LT((all.last - 1) * kTileKeys, begin + length);
      for (int parts = 1; parts <= all.last - all.first; ++parts) {
        int next = all.first;
        for (int part = 0; part < parts; ++part) {
          const TileRange tiles = tiles_of_part(begin, begin + length, part, parts);
          EXPECT_EQ(tiles.first, next);
          EXPECT_GT(tiles.last, tiles.first);
          next = tiles.last;
        }
        EXPECT_EQ(next, all.last);
      }
    }
  }
}

constexpr Machine kSmallRows{.processors = 132, .blocks = 3, .row_bytes = 128};
constexpr Machine kLargeRows{.processors = 132, .blocks = 2, .row_bytes = 256, .number_bytes = 2};
constexpr Machine kLargeRowsOfFp8{.processors = 132, .blocks = 2, .row_bytes = 256};

TEST(AttentionDecodeTile, FewSequencesAreSplitUntilTheMemoryIsBusy) {
  EXPECT_EQ(division_for(8, 8, 4, kSmallRows).splits, 1);  // each warp has a tile: nothing to split
  EXPECT_EQ(division_for(199, 8, 256, kSmallRows).splits, 1);  // all are busy without splitting
  for (const std::int64_t groups : {1, 3, 8, 32, 64, 100}) {
    const Division division = division_for(groups, 8, 2048, kSmallRows);
    EXPECT_EQ(division.sharers, kWarps) << groups;
    EXPECT_GT(groups * division.splits, 132) << groups;
    EXPECT_LE(groups * division.splits, 132 * 3) << groups;
  }
  for (const std::int64_t tiles : {1, 2, 5, 16, 33, 70000}) {
    const std::int64_t splits = division_for(1, 8, tiles, kSmallRows).splits;
    EXPECT_LE(splits, std::min<std::int64_t>(kMostSplits, ceil_div(tiles, kWarps))) << tiles;
  }
}

// Fewer warps read larger rows as fast as the memory can.
TEST(AttentionDecodeTile, LargerRowsNeedFewerBlocks) {
  EXPECT_EQ(division_for(108, 5, 221, kLargeRows).splits, 1);
  EXPECT_GT(division_for(108, 5, 221, kSmallRows).splits, 1);
  EXPECT_GT(division_for(108, 5, 221, kLargeRowsOfFp8).splits, 1);  // its numbers are converted
}

TEST(AttentionDecodeTile, ManyOutputsAreDearToJoin) {
  EXPECT_GT(division_for(512, 1, 64, kSmallRows).splits, 1);
  EXPECT_EQ(division_for(512, 16, 64, kSmallRows).splits, 1);
  EXPECT_EQ(division_for(2048, 16, 256, kSmallRows).splits, 1);
}

TEST(AttentionDecodeTile, JoiningIsWorthTwoTiles) {
  EXPECT_EQ(division_for(1, 8, 8, kSmallRows).splits, 1);
  EXPECT_EQ(division_for(1, 8, 20, kSmallRows).splits, 5);
}

TEST(AttentionDecodeTile, ASecondRoundForAFewBlocksIsAvoided) {
  constexpr std::int64_t kBlocks = 132 * 3;
  EXPECT_EQ(division_for(kBlocks, 8, 64, kSmallRows).splits, 1);
  EXPECT_GT(division_for(kBlocks + 1, 8, 2048, kSmallRows).splits, 1);
}

TEST(AttentionDecodeTile, WarpsHaveGroupsOfTheirOwnWhereTheseAreMany) {
  EXPECT_EQ(division_for(1, 8, 8192, kSmallRows).sharers, kWarps);
  EXPECT_EQ(division_for(1, 8, 2, kSmallRows).sharers, kWarps);
  EXPECT_EQ(division_for(272, 12, 49, kLargeRows).sharers, 1);
  EXPECT_EQ(division_for(402, 5, 2290, kLargeRows).sharers, 1);
  EXPECT_EQ(division_for(1208, 6, 295, kLargeRows).sharers,
            kWarps);  // a second round for 152 warps
}

TEST(AttentionDecodeTile, ASingleTileIsSharedWhereRowsAndGroupsAreFew) {
  EXPECT_EQ(division_for(1, 8, 1, kSmallRows).sharers, 1);  // three of four warps would do nothing
  EXPECT_EQ(division_for(1, 2, 1, kSmallRows).sharers, kWarps);
  EXPECT_EQ(division_for(8192, 2, 1, kSmallRows).sharers, 1);
}

}  // namespace
}  // namespace assay::collect::decode
