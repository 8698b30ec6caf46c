// Draws figures with gnuplot, a separate program (package gnuplot-nox). A Drawing holds its
// commands and data as text; page.h and curves.h make drawings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::report {

enum class FigureFormat : std::uint8_t { kPng, kSvg };

// Returns ".png" or ".svg".
std::string_view extension_of(FigureFormat format);

// A drawing of this width is readable on a page or a screen without being enlarged.
inline constexpr double kPageWidth = 1000;

// Sizes are in points, where a page is kPageWidth points wide.
struct Drawing {
  double width = kPageWidth;
  double height = 600;
  std::string commands;
};

// Writes a PNG at 300 dots per inch for a page 8.3 inches wide, or an SVG of the drawing's size.
// Fails when gnuplot is not installed or refuses the commands, and when the file cannot be written.
core::Status draw(const Drawing& drawing, FigureFormat format, const std::filesystem::path& path);

// Checks whether draw() can work at all; the error says what to install.
core::Status gnuplot_is_there();

// Quotes text as a gnuplot string. Nothing in the text can act as a command, and what an SVG file
// cannot hold is replaced, by the rules of xml_text().
std::string gnuplot_string(std::string_view text);

// Returns the approximate width of the text's longest line at a font size of 1, rather too large
// than too small.
double text_width(std::string_view text);

}  // namespace assay::report
