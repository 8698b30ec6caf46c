#include "report/colors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::report {
namespace {

constexpr std::array kCategories = {color_of(0x0072b2), color_of(0x56b4e9), color_of(0x009e73),
                                    color_of(0xcc79a7), color_of(0xe69f00), color_of(0x666666),
                                    color_of(0xd55e00), color_of(0xf0e442)};

constexpr std::array kViridis = {color_of(0x440154), color_of(0x48186a), color_of(0x472d7b),
                                 color_of(0x424086), color_of(0x3b528b), color_of(0x33638d),
                                 color_of(0x2c728e), color_of(0x26828e), color_of(0x21918c),
                                 color_of(0x1fa088), color_of(0x28ae80), color_of(0x3fbc73),
                                 color_of(0x5ec962), color_of(0x84d44b), color_of(0xaddc30),
                                 color_of(0xd8e219), color_of(0xfde725)};

constexpr std::array kReds = {color_of(0xffffff), color_of(0xfee0d2), color_of(0xfcbba1),
                              color_of(0xfc9272), color_of(0xfb6a4a), color_of(0xef3b2c),
                              color_of(0xcb181d), color_of(0xa50f15), color_of(0x67000d)};

constexpr std::array kBlueToRed = {color_of(0x2166ac), color_of(0x4393c3), color_of(0x92c5de),
                                   color_of(0xd1e5f0), color_of(0xffffff), color_of(0xfddbc7),
                                   color_of(0xf4a582), color_of(0xd6604d), color_of(0xb2182b)};

double linear_light(std::uint8_t channel) {
  const double share = channel / 255.0;
  return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
}

std::uint8_t between(std::uint8_t low, std::uint8_t high, double part) {
  return static_cast<std::uint8_t>(std::lround(low + (high - low) * part));
}

}  // namespace

std::uint32_t Color::number() const {
  return static_cast<std::uint32_t>(red) << 16U | static_cast<std::uint32_t>(green) << 8U | blue;
}

std::string Color::text() const {
  return fmt::format("#{:06x}", number());
}

// Returns black or white, whichever has the larger contrast ratio by WCAG 2.
Color readable_on(Color background) {
  const double luminance = 0.2126 * linear_light(background.red) +
                           0.7152 * linear_light(background.green) +
                           0.0722 * linear_light(background.blue);
  return (luminance + 0.05) * (luminance + 0.05) > 1.05 * 0.05 ? kBlack : kWhite;
}

Color category_color(std::size_t index) {
  return kCategories.at(index % kCategories.size());
}

std::span<const Color> viridis() {
  return kViridis;
}

std::span<const Color> white_to_red() {
  return kReds;
}

std::span<const Color> blue_to_red() {
  return kBlueToRed;
}

double ColorScale::position(double value) const {
  const double part = spacing == Spacing::kLinear ? (value - low) / (high - low)
                                                  : std::log(value / low) / std::log(high / low);
  return std::clamp(part, 0.0, 1.0);
}

Color ColorScale::at_position(double position) const {
  const double place = position * static_cast<double>(colors.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), colors.size() - 2);
  const double part = place - static_cast<double>(below);
  const Color& from = colors[below];
  const Color& to = colors[below + 1];
  return {between(from.red, to.red, part), between(from.green, to.green, part),
          between(from.blue, to.blue, part)};
}

}  // namespace assay::report
