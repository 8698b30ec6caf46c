// The layout of 4-bit weights (e2m1, with a scale e8m0 for 32 elements of k) in which Assay's
// grouped product reads them: what a thread needs for a step along k lies together.
#pragma once

#include <cstdint>

namespace assay::collect {

inline constexpr std::int64_t kPackedRows = 128;        // of a tile
inline constexpr std::int64_t kPackedStep = 64;         // elements of k
inline constexpr std::int64_t kPackedTileBytes = 4096;  // kPackedRows x kPackedStep / 2
inline constexpr std::int64_t kPackedScaleBytes = 256;  // kPackedRows x kPackedStep / 32
// The middle of an exponent: a scale is 2^(e - 127). The product takes scales up to 2.
inline constexpr int kScaleExponentBias = 127;

// The weight of an expert. The rows of gate and up are filled up to tiles separately.
struct PackedWeight {
  std::int64_t rows = 1;   // of gate or up, or of a plain weight
  std::int64_t parts = 1;  // 2 with a gate
  std::int64_t k = 1;

  [[nodiscard]] constexpr std::int64_t steps() const { return (k + kPackedStep - 1) / kPackedStep; }

  [[nodiscard]] constexpr std::int64_t tiles_of_part() const {
    return (rows + kPackedRows - 1) / kPackedRows;
  }

  // The number of tiles times steps.
  [[nodiscard]] constexpr std::int64_t blocks() const { return parts * tiles_of_part() * steps(); }

  [[nodiscard]] constexpr std::int64_t bytes() const { return blocks() * kPackedTileBytes; }

  [[nodiscard]] constexpr std::int64_t scale_bytes() const { return blocks() * kPackedScaleBytes; }
};

// Where a number of e2m1 has its four bits in a word of 32: the sign, the upper bit of the
// exponent, and from `low` on the mantissa and the exponent's lower bit.
struct PackedBits {
  int sign = 0;
  int upper = 0;
  int low = 0;

  // Returns the number in the usual order of its bits.
  [[nodiscard]] constexpr int of(std::uint32_t word) const {
    return static_cast<int>((word >> sign & 1U) << 3U | (word >> upper & 1U) << 2U |
                            (word >> low & 3U));
  }
};

// Returns the bits in the low half of a word for one of four pairs of numbers; the pair's second
// number has the same bits of the high half. A shift to the left brings those of the first three
// pairs to where bfloat16 has its sign and the low bits of its exponent. The last pair has what is
// left.
constexpr PackedBits bits_of_pair(int pair) {
  if (pair == 3) return {.sign = 14, .upper = 13, .low = 10};
  return {.sign = 15 - 3 * pair, .upper = 8 - 3 * pair, .low = 6 - 3 * pair};
}

// The place of an element: its block, the first byte of its word, the bits in that, and its scale's
// byte.
struct PackedPlace {
  std::int64_t block = 0;
  std::int64_t byte = 0;
  PackedBits bits;
  std::int64_t scale_byte = 0;
};

// `row` is within the part. A warp multiplies 16 rows; its lane 4 r + q has rows r and r + 8, and
// of every 16 elements of k those at 2 q, 2 q + 1, 2 q + 8 and 2 q + 9, as the pairs of a word.
constexpr PackedPlace packed_place(const PackedWeight& weight,
                                   std::int64_t part,
                                   std::int64_t row,
                                   std::int64_t element) {
  const std::int64_t tile = part * weight.tiles_of_part() + row / kPackedRows;
  const std::int64_t warp = row % kPackedRows / 16;  // of two warpgroups
  const std::int64_t lane_row = row % 8;
  const std::int64_t lower = row % 16 / 8;
  const std::int64_t in_step = element % kPackedStep;
  const std::int64_t in_product = in_step % 16;
  const std::int64_t lane = lane_row * 4 + in_product % 8 / 2;
  const PackedBits pair = bits_of_pair(static_cast<int>(lower + in_product / 8 * 2));
  const int half = in_product % 2 == 0 ? 0 : 16;
  return {.block = tile * weight.steps() + element / kPackedStep,
          .byte = warp * 512 + lane * 16 + in_step / 16 * 4,
          .bits = {pair.sign + half, pair.upper + half, pair.low + half},
          .scale_byte = warp * 32 + lane_row * 4 + lower * 2 + in_step / 32};
}

}  // namespace assay::collect
