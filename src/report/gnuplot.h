// Figures by gnuplot, a program of its own (package gnuplot-nox). What is drawn is a Drawing:
// commands and data as text, made by page.h and curves.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::report {

enum class FigureFormat : std::uint8_t { kPng, kSvg };

// ".png", ".svg"
std::string_view extension_of(FigureFormat format);

// A drawing as wide as this reads well on a page or a screen without being enlarged.
inline constexpr double kPageWidth = 1000;

// Sizes are in points of a page of kPageWidth.
struct Drawing {
  double width = kPageWidth;
  double height = 600;
  std::string commands;
};

// PNG at 300 dots an inch for a page of 8.3 inches; SVG of the drawing's size. Error: gnuplot is
// not installed, refuses the commands, or the file cannot be written.
core::Status draw(const Drawing& drawing, FigureFormat format, const std::filesystem::path& path);

// Whether draw() can work at all; the error says what to install.
core::Status gnuplot_is_there();

// Text as a gnuplot string; lines parted by '\n'. Nothing in it is ever a command.
std::string gnuplot_string(std::string_view text);

// About how wide a text is at a font size of 1, for the longest of its lines; on the safe side.
double text_width(std::string_view text);

}  // namespace assay::report
