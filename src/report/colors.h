// Colours of figures. All scales and sets here stay distinguishable with red-green colour blindness
// and in greyscale print.
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

// Returns black or white, whichever is readable on `background`.
Color readable_on(Color background);

// Returns a colour for things without an order (M. Okabe and K. Ito, 2008). The set repeats after
// eight.
Color category_color(std::size_t index);

// A scale from few to many in even steps of lightness: the "viridis" map of S. van der Walt and N.
// Smith.
std::span<const Color> viridis();
// A scale from white to dark red, based on "Reds" of C. Brewer.
std::span<const Color> white_to_red();
// A scale from blue over white to red: "RdBu" of C. Brewer, reversed.
std::span<const Color> blue_to_red();

enum class Spacing : std::uint8_t { kLinear, kLogarithmic };

// Maps numbers to colours. Numbers outside low..high get the colour of the nearer end.
struct ColorScale {
  std::span<const Color> colors;
  double low = 0;
  double high = 1;  // greater than low; a logarithmic scale needs low > 0
  Spacing spacing = Spacing::kLinear;

  [[nodiscard]] double position(double value) const;  // 0..1
  [[nodiscard]] Color at_position(double position) const;

  [[nodiscard]] Color at(double value) const { return at_position(position(value)); }
};

}  // namespace assay::report
