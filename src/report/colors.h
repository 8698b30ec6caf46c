// Colours of figures. All scales and sets here can be told apart by people who do not see red and
// green as different, and in greyscale print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace assay::report {

struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  [[nodiscard]] std::uint32_t number() const;  // 0xRRGGBB
  [[nodiscard]] std::string text() const;      // "#rrggbb"

  bool operator==(const Color&) const = default;
};

constexpr Color color_of(std::uint32_t number) {
  return {static_cast<std::uint8_t>(number >> 16U & 0xffU),
          static_cast<std::uint8_t>(number >> 8U & 0xffU),
          static_cast<std::uint8_t>(number & 0xffU)};
}

inline constexpr Color kBlack = color_of(0x000000);
inline constexpr Color kWhite = color_of(0xffffff);

// Black or white: what can be read on `background`.
Color readable_on(Color background);

// The index-th of a set for things without an order (M. Okabe and K. Ito, 2008); starts again
// after eight.
Color category_color(std::size_t index);

// From few to many in even steps of lightness: the "viridis" map of S. van der Walt and N. Smith.
std::span<const Color> viridis();
// White to dark red: "Reds" of C. Brewer, from white.
std::span<const Color> white_to_red();
// Blue over white to red: "RdBu" of C. Brewer, reversed.
std::span<const Color> blue_to_red();

enum class Spacing : std::uint8_t { kLinear, kLogarithmic };

// Numbers to colours. Outside of low..high the ends go on.
struct ColorScale {
  std::span<const Color> colors;
  double low = 0;
  double high = 1;  // above low; a logarithmic scale begins above 0
  Spacing spacing = Spacing::kLinear;

  [[nodiscard]] double position(double value) const;  // 0..1
  [[nodiscard]] Color at_position(double position) const;

  [[nodiscard]] Color at(double value) const { return at_position(position(value)); }
};

}  // namespace assay::report
