#include "collect/cuda/attention_decode_tile.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace assay::collect::decode {
namespace {

using Matrix = std::vector<std::vector<int>>;

// Whole numbers, so that sums are exact.
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

// A score of a lane as the kernel sums it: a product for each four bytes of a lane's keys.
int score(const Matrix& query, const Matrix& keys, int head_dim, int lane, int half, int i) {
  int sum = 0;
  for (int step = 0; step < head_dim / 16; ++step) {
    const auto column = [&](int of_lane, int reg, int part) {
      return loaded_key_column(of_lane, step / 4) + step % 4 * 4 + reg * 2 + part;
    };
    sum += product(
        lane, i,
        [&](int of, int reg, int part) {
          return at(query, reg % 2 * 8 + of / 4, column(of, reg / 2, part));
        },
        [&](int of, int reg, int part) {
          return at(keys, loaded_key(of, half), column(of, reg, part));
        });
  }
  return sum;
}

TEST(AttentionDecodeTile, ScoresAreThoseOfTheKeysTheyAreSaidToBeOf) {
  for (const int head_dim : {64, 128, 192, 256}) {
    const Matrix query = random_matrix(kTileRows, head_dim, 1);
    const Matrix keys = random_matrix(kTileKeys, head_dim, 2);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (const auto& [half, i] : {std::pair{0, 0}, {0, 3}, {1, 1}, {1, 2}}) {
        const auto row = static_cast<std::size_t>(i / 2 * 8 + lane / 4);
        const auto key = static_cast<std::size_t>(score_key(lane, half, i));
        EXPECT_EQ(score(query, keys, head_dim, lane, half, i), dot(query[row], keys[key]))
            << head_dim << " lane " << lane << " half " << half << " number " << i;
      }
    }
  }
}

TEST(AttentionDecodeTile, OutputsAreThoseOfTheColumnsTheyAreSaidToBeOf) {
  for (const int head_dim : {64, 128, 192, 256}) {
    const Matrix weights = random_matrix(kTileRows, kTileKeys, 3);
    const Matrix values = random_matrix(kTileKeys, head_dim, 4);
    const int width = value_bytes(head_dim);
    // As a lane has them: those of its scores.
    const auto weight = [&](int of, int reg, int part) {
      return at(weights, reg % 2 * 8 + of / 4, score_key(of, reg / 2, part));
    };
    for (int tile = 0; tile < head_dim / 8; ++tile) {
      const auto value = [&](int of, int reg, int part) {
        return at(values, loaded_value(of, reg * 2 + part),
                  loaded_value_column(of, tile / width, head_dim) + tile % width);
      };
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 4; ++i) {
          int expected = 0;
          for (int key = 0; key < kTileKeys; ++key) {
            expected += at(weights, i / 2 * 8 + lane / 4, key) *
                        at(values, key, output_column(lane, tile, i, head_dim));
          }
          EXPECT_EQ(product(lane, i, weight, value), expected)
              << head_dim << " lane " << lane << " tile " << tile << " number " << i;
        }
      }
    }
  }
}

TEST(AttentionDecodeTile, LanesLoadEachByteOfATileOnceOnAlignedAddresses) {
  for (const int head_dim : {64, 128, 192, 256}) {
    std::vector<int> keys(static_cast<std::size_t>(kTileKeys * head_dim));
    std::vector<int> values = keys;
    const auto load = [&](std::vector<int>& of, int row, int column, int bytes) {
      EXPECT_EQ(column % bytes, 0);
      for (int i = 0; i < bytes; ++i)
        ++of[static_cast<std::size_t>(row * head_dim + column + i)];
    };
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int chunk = 0; chunk < head_dim / kKeyChunk; ++chunk) {
        for (const int half : {0, 1})
          load(keys, loaded_key(lane, half), loaded_key_column(lane, chunk), 16);
      }
      const int width = value_bytes(head_dim);
      for (int chunk = 0; chunk < head_dim / (8 * width); ++chunk) {
        for (int i = 0; i < 4; ++i)
          load(values, loaded_value(lane, i), loaded_value_column(lane, chunk, head_dim), width);
      }
    }
    EXPECT_EQ(keys, std::vector<int>(keys.size(), 1)) << head_dim;
    EXPECT_EQ(values, std::vector<int>(values.size(), 1)) << head_dim;
  }
}

float bfloat16(std::uint32_t bits) {
  const std::uint32_t wide = bits << 16U;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// s eeee mmm, exponents count from 7.
float e4m3(std::uint32_t byte) {
  const auto exponent = static_cast<int>(byte >> 3U & 15U);
  const auto mantissa = static_cast<float>(byte & 7U);
  const float size =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (byte & 0x80U) != 0 ? -size : size;
}

TEST(AttentionDecodeTile, NumbersOfTheCacheBecomeBfloat16) {
  const float factor = bfloat16(kTwoTo120 & 0xFFFFU);
  EXPECT_EQ(factor, std::ldexp(1.0F, 120));
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if ((byte & 0x7FU) == 0x7FU) continue;  // not a number
    const std::uint32_t other = 255 - byte;
    for (const std::uint32_t garbage : {0U, 0x00FF00FFU, 0x00A5005AU}) {
      const std::uint32_t pair = tiny_bfloat16(garbage | byte << 8U | other << 24U);
      EXPECT_EQ(bfloat16(pair & 0xFFFFU) * factor, e4m3(byte)) << byte;
      if ((other & 0x7FU) == 0x7FU) continue;
      EXPECT_EQ(bfloat16(pair >> 16U) * factor, e4m3(other)) << other;
    }
  }
}

TEST(AttentionDecodeTile, PartsHaveAllTilesOnceAndNoneIsEmpty) {
  for (const std::int64_t begin : {0, 1, 16, 999, 1007}) {
    for (const std::int64_t length : {1, 2, 16, 17, 1000}) {
      const TileRange all = tiles_of_part(begin, begin + length, 0, 1);
      EXPECT_LE(all.first * kTileKeys, begin);
      EXPECT_GT((all.first + 1) * kTileKeys, begin);
      EXPECT_GE(all.last * kTileKeys, begin + length);
      EXPECT_LT((all.last - 1) * kTileKeys, begin + length);
      for (std::int64_t parts = 1; parts <= all.last - all.first; ++parts) {
        std::int64_t next = all.first;
        for (std::int64_t part = 0; part < parts; ++part) {
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

TEST(AttentionDecodeTile, FewSequencesAreSplitUntilTheGpuIsBusy) {
  constexpr std::int64_t kSlots = 3 * 132;
  EXPECT_EQ(splits_for(8, 1, kSlots), 1);                // nothing to split
  EXPECT_EQ(splits_for(1, 4, kSlots), 1);                // joining would take longer
  EXPECT_EQ(splits_for(kSlots / 2 + 1, 64, kSlots), 1);  // busy without
  EXPECT_EQ(splits_for(1, 2048, kSlots), kMostSplits);
  for (const std::int64_t groups : {1, 3, 8, 32, 64, 100, 198}) {
    const std::int64_t splits = splits_for(groups, 512, kSlots);
    EXPECT_GT(groups * splits, kSlots / 2) << groups;
    EXPECT_LE(groups * splits, kSlots) << groups;
  }
  for (const std::int64_t steps : {5, 20, 33})
    EXPECT_LE(splits_for(1, steps, kSlots), steps);
}

}  // namespace
}  // namespace assay::collect::decode
