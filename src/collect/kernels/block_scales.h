// The layout in which cuBLASLt expects the float32 scales of fp8 operands in blocks of 128.
#pragma once

#include <cstdint>

namespace assay::collect {

inline constexpr std::int64_t kScaleBlock = 128;

constexpr std::int64_t scale_blocks(std::int64_t length) {
  return (length + kScaleBlock - 1) / kScaleBlock;
}

constexpr std::int64_t round_up_to_4(std::int64_t count) {
  return (count + 3) / 4 * 4;
}

// An input [rows, k] has one scale for each 128 elements of a row. All rows' scales of the first
// 128 columns come first, filled up to a multiple of 4, then those of the next 128.
struct InputScales {
  std::int64_t rows = 1;
  std::int64_t k = 1;

  [[nodiscard]] constexpr std::int64_t pitch() const { return round_up_to_4(rows); }

  [[nodiscard]] constexpr std::int64_t count() const { return scale_blocks(k) * pitch(); }

  [[nodiscard]] constexpr std::int64_t at(std::int64_t row, std::int64_t element) const {
    return element / kScaleBlock * pitch() + row;
  }
};

// The scales of a weight [n, k], one for each 128 x 128 block. They are stored one row of blocks
// after the other, and each row is padded to a multiple of 4.
struct WeightScales {
  std::int64_t n = 1;
  std::int64_t k = 1;

  [[nodiscard]] constexpr std::int64_t pitch() const { return round_up_to_4(scale_blocks(k)); }

  [[nodiscard]] constexpr std::int64_t count() const { return scale_blocks(n) * pitch(); }

  [[nodiscard]] constexpr std::int64_t at(std::int64_t row, std::int64_t element) const {
    return row / kScaleBlock * pitch() + element / kScaleBlock;
  }
};

// The scales of the expert whose rows are `begin` to before `end`, padding included. The inputs of
// several experts lie one after the other, each padded to a multiple of 4 rows, and so do their
// scales.
struct ExpertScales {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t k = 1;

  [[nodiscard]] constexpr std::int64_t first() const { return begin * scale_blocks(k); }

  [[nodiscard]] constexpr std::int64_t at(std::int64_t row, std::int64_t element) const {
    return first() + InputScales{end - begin, k}.at(row - begin, element);
  }
};

// The scales of tokens [tokens, k] from which experts' rows are gathered: a token's lie together,
// filled up to a multiple of 4.
struct TokenScales {
  std::int64_t k = 1;

  [[nodiscard]] constexpr std::int64_t pitch() const { return round_up_to_4(scale_blocks(k)); }

  [[nodiscard]] constexpr std::int64_t at(std::int64_t token, std::int64_t element) const {
    return token * pitch() + element / kScaleBlock;
  }
};

}  // namespace assay::collect
