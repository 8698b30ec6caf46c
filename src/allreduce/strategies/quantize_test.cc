#include "allreduce/strategies/quantize.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace assay::allreduce {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float from_bits(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Decodes e4m3 by its definition: 1 sign bit, 4 exponent bits of bias 7, 3 mantissa bits, no
// infinity.
double e4m3_value(unsigned code) {
  const unsigned exponent = code >> 3U & 15U;
  const unsigned mantissa = code & 7U;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  const double size = exponent == 0 ? std::ldexp(mantissa, -9)
                                    : std::ldexp(8 + mantissa, static_cast<int>(exponent) - 10);
  return code >= 128 ? -size : size;
}

// Searches all magnitudes, exactly in doubles, and takes the even code of two equally near ones.
unsigned nearest_e4m3(float value) {
  constexpr unsigned kLargest = 0x7E;
  const double size = std::fabs(static_cast<double>(value));
  unsigned best = 0;
  for (unsigned code = 1; code <= kLargest; ++code) {
    const double better = std::fabs(e4m3_value(best) - size) - std::fabs(e4m3_value(code) - size);
    if (better > 0 || (better == 0 && code % 2 == 0)) best = code;
  }
  if (std::isinf(value)) best = kLargest;
  return best | (std::signbit(value) ? 0x80U : 0U);
}

void expect_nearest_e4m3(float value) {
  for (const float signed_value : {value, -value}) {
    ASSERT_EQ(to_e4m3(signed_value), nearest_e4m3(signed_value)) << std::hexfloat << signed_value;
  }
}

TEST(Quantize, ReadsAllE4m3Codes) {
  for (unsigned code = 0; code < 256; ++code) {
    const float value = from_e4m3(static_cast<std::uint8_t>(code));
    const double expected = e4m3_value(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << code;
      continue;
    }
    EXPECT_EQ(value, expected) << code;
    EXPECT_EQ(std::signbit(value), code >= 128) << code;
    EXPECT_EQ(to_e4m3(value), code);
  }
}

TEST(Quantize, RoundsToNearestE4m3AtAllBorders) {
  for (unsigned code = 0; code < 0x7E; ++code) {
    const auto middle = static_cast<float>((e4m3_value(code) + e4m3_value(code + 1)) / 2);
    expect_nearest_e4m3(middle);
    expect_nearest_e4m3(std::nextafterf(middle, 0));
    expect_nearest_e4m3(std::nextafterf(middle, kInfinity));
  }
}

// Tries every exponent, each with mantissas that differ in the high bits and in the low ones.
TEST(Quantize, RoundsFloatsOfAllSizesToNearestE4m3) {
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (std::uint32_t high = 0; high < 64; ++high) {
      for (const std::uint32_t low : {0U, 1U, 0x1FFFFU})
        expect_nearest_e4m3(from_bits(exponent << 23U | high << 17U | low));
    }
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-500, 500);
  for (int i = 0; i < 20000; ++i)
    expect_nearest_e4m3(values(random));
}

TEST(Quantize, SaturatesE4m3AndKeepsNan) {
  constexpr unsigned kLargest = 0x7E;
  ASSERT_EQ(e4m3_value(kLargest), 448);
  for (const float value : {448.0F, 449.0F, 464.0F, 480.0F, 1e30F, kInfinity}) {
    EXPECT_EQ(to_e4m3(value), kLargest) << value;
    EXPECT_EQ(to_e4m3(-value), kLargest | 0x80U) << value;
  }
  EXPECT_EQ(to_e4m3(kNan) & 0x7FU, 0x7FU);
  EXPECT_EQ(to_e4m3(0.0F), 0);
  EXPECT_EQ(to_e4m3(-0.0F), 0x80);
}

constexpr std::array<float, 8> kE2m1Values = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

void expect_e2m1(float value, unsigned magnitude) {
  EXPECT_EQ(to_e2m1(value), magnitude) << std::hexfloat << value;
  EXPECT_EQ(to_e2m1(-value), magnitude | 8U) << std::hexfloat << -value;
}

TEST(Quantize, KeepsE2m1Values) {
  for (unsigned code = 0; code < kE2m1Values.size(); ++code)
    expect_e2m1(kE2m1Values.at(code), code);
}

TEST(Quantize, RoundsE2m1TiesToEvenAndTheirNeighboursToNearest) {
  for (unsigned code = 0; code + 1 < kE2m1Values.size(); ++code) {
    const float middle = (kE2m1Values.at(code) + kE2m1Values.at(code + 1)) / 2;
    expect_e2m1(middle, code % 2 == 0 ? code : code + 1);
    expect_e2m1(std::nextafterf(middle, 0), code);
    expect_e2m1(std::nextafterf(middle, kInfinity), code + 1);
  }
}

TEST(Quantize, E2m1OfSpecialValues) {
  expect_e2m1(0.0F, 0);  // also tries -0, which keeps its sign
  expect_e2m1(std::numeric_limits<float>::denorm_min(), 0);
  expect_e2m1(std::nextafterf(6.0F, kInfinity), 7);
  expect_e2m1(1e30F, 7);
  expect_e2m1(kInfinity, 7);
  EXPECT_EQ(to_e2m1(kNan), 7U);
  EXPECT_EQ(to_e2m1(-kNan), 7U);
}

struct Shape {
  std::int64_t rows;
  std::int64_t hidden_size;
};

constexpr std::array kShapes = {Shape{1, 16},     Shape{1, 8192},  Shape{31, 48},
                                Shape{128, 64},   Shape{129, 80},  Shape{256, 2880},
                                Shape{1000, 128}, Shape{300, 7168}};

// The definition of the layout: (row/128, group/4) blocks of [32][4][4] bytes.
std::int64_t layout_offset(std::int64_t row, std::int64_t group, std::int64_t hidden_size) {
  const std::int64_t blocks = hidden_size / 64 + (hidden_size % 64 != 0 ? 1 : 0);
  return (row / 128) * blocks * 512 + (group / 4) * 512 + (row % 32) * 16 + ((row % 128) / 32) * 4 +
         group % 4;
}

TEST(Quantize, Nvfp4ScalesLieInBlocks) {
  for (const auto& [rows, hidden_size] : kShapes) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t group = 0; group < hidden_size / kNvfp4Group; ++group)
        ASSERT_EQ(nvfp4_scale_offset(ScaleLayout::kDefault, row, group, hidden_size),
                  layout_offset(row, group, hidden_size));
    }
  }
  // Worked out by hand: row 37 of the second 128 rows, group 6, two blocks for each 128 rows.
  EXPECT_EQ(nvfp4_scale_offset(ScaleLayout::kDefault, 128 + 37, 6, 128),
            2 * 512 + 512 + 5 * 16 + 4 + 2);
}

TEST(Quantize, Nvfp4ScalesLieInSmallBlocksOrRows) {
  // Worked out by hand: row 3 of the second 8 rows, group 6, two blocks for each 8 rows.
  EXPECT_EQ(nvfp4_scale_offset(ScaleLayout::kBlocks8x4, 8 + 3, 6, 128), 2 * 32 + 32 + 3 * 4 + 2);
  EXPECT_EQ(nvfp4_scale_offset(ScaleLayout::kBlocks8x4, 9, 4, 80), 2 * 32 + 32 + 4);
  EXPECT_EQ(nvfp4_scale_offset(ScaleLayout::kLinear, 3, 4, 80), 3 * 5 + 4);
  EXPECT_EQ(nvfp4_scale_bytes(ScaleLayout::kLinear, 3, 80), 15);
}

// Once rows and groups are padded, every byte is the scale of exactly one group.
TEST(Quantize, EveryNvfp4ScaleByteIsOneScales) {
  const struct {
    ScaleLayout layout;
    std::int64_t rows;
    std::int64_t groups;
  } layouts[] = {{ScaleLayout::kDefault, 128, 4},
                 {ScaleLayout::kBlocks8x4, 8, 4},
                 {ScaleLayout::kLinear, 1, 1}};

  for (const auto& [layout, block_rows, block_groups] : layouts) {
    for (const auto& [rows, hidden_size] : kShapes) {
      const std::int64_t padded_rows = (rows + block_rows - 1) / block_rows * block_rows;
      const std::int64_t groups = hidden_size / kNvfp4Group;
      const std::int64_t padded_groups = (groups + block_groups - 1) / block_groups * block_groups;
      const std::int64_t bytes = nvfp4_scale_bytes(layout, rows, hidden_size);
      ASSERT_EQ(bytes, padded_rows * padded_groups);
      std::vector<bool> taken(static_cast<std::size_t>(bytes));
      for (std::int64_t row = 0; row < padded_rows; ++row) {
        for (std::int64_t group = 0; group < padded_groups; ++group) {
          const std::int64_t offset = nvfp4_scale_offset(layout, row, group, hidden_size);
          ASSERT_TRUE(offset >= 0 && offset < bytes);
          ASSERT_FALSE(taken[static_cast<std::size_t>(offset)]) << row << ' ' << group;
          taken[static_cast<std::size_t>(offset)] = true;
        }
      }
    }
  }
}

TEST(Quantize, Fp8ScaleMapsTheLargestToTheLargest) {
  for (const float largest : {1e-30F, 0.07F, 1.0F, 448.0F, 3e38F}) {
    const float scale = fp8_scale(largest);
    EXPECT_EQ(scale, largest / 448.0F);
    EXPECT_EQ(from_e4m3(to_e4m3(largest * fp8_factor(scale))), 448) << largest;
  }
  EXPECT_EQ(fp8_factor(fp8_scale(0)), 0);
  EXPECT_EQ(fp8_factor(0x1p-127F), 0);
  EXPECT_EQ(fp8_factor(0x1p-126F), 0x1p126F);
}

TEST(Quantize, Nvfp4ScaleIsOfTheGroupsLargest) {
  EXPECT_EQ(from_e4m3(nvfp4_scale(6, 1)), 1);
  EXPECT_EQ(from_e4m3(nvfp4_scale(12, 4)), 8);
  EXPECT_EQ(from_e4m3(nvfp4_scale(1e6F, 1)), 448);
  EXPECT_EQ(nvfp4_scale(0, 448), 0);
  EXPECT_EQ(from_e4m3(nvfp4_scale(6 * 1.0625F, 1)), 1);  // the tie of 1 and 1.125
  EXPECT_TRUE(std::isnan(from_e4m3(nvfp4_scale(kNan, 1))));
}

TEST(Quantize, Nvfp4FactorUndoesTheScale) {
  EXPECT_EQ(nvfp4_factor(nvfp4_scale(12, 4), 4), 0.5F);
  EXPECT_EQ(nvfp4_factor(0, 448), 0);
  EXPECT_EQ(nvfp4_factor(0x80, 448), 0);
  // The largest element of a group becomes 6, up to the rounding of the scale, a sixteenth.
  for (const float largest : {0.07F, 0.5F, 3.3F, 40.0F}) {
    const float global_scale = 448.0F * 6 / 40;
    const float factor = nvfp4_factor(nvfp4_scale(largest, global_scale), global_scale);
    EXPECT_NEAR(largest * factor, 6, 6.0 / 16) << largest;
    EXPECT_EQ(to_e2m1(largest * factor), 7U) << largest;
  }
}

}  // namespace
}  // namespace assay::allreduce
