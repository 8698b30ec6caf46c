#include "report/gnuplot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/run_program.h"
#include "report/xlsx_text.h"

namespace assay::report {
namespace {

constexpr const char* kProgram = "gnuplot";
constexpr double kPngScale = 2.5;  // 2500 pixels for the width of a page: 300 dpi on 8.3 inches
// The cairo terminals measure fonts in points of 1/72 inch, at 96 pixels per inch.
constexpr double kPngPoint = 72.0 / 96.0;
constexpr double kCharacterWidth = 0.64;  // a digit of DejaVu Sans, wider than most characters
constexpr double kBaseSize = 11;

std::string terminal(const Drawing& drawing, FigureFormat format) {
  if (format == FigureFormat::kSvg) {
    return fmt::format(
        "svg size {:.0f},{:.0f} dynamic font 'sans-serif,{}' enhanced "
        "background '#ffffff'",
        drawing.width, drawing.height, kBaseSize);
  }
  return fmt::format(
      "pngcairo size {:.0f},{:.0f} font 'sans-serif,{}' fontscale {} linewidth {} pointscale {} "
      "enhanced background '#ffffff'",
      drawing.width * kPngScale, drawing.height * kPngScale, kBaseSize, kPngScale * kPngPoint,
      kPngScale, kPngScale);
}

// Quotes any bytes as a gnuplot string.
std::string quoted_bytes(std::string_view bytes) {
  std::string result = "'";
  for (const char c : bytes) {
    if (c == '\'') {
      result += "''";
    } else if (c == '\n') {
      result += "'.\"\\n\".'";
    } else {
      result += c;
    }
  }
  return result + "'";
}

// A relative path could begin with a '~' or a '|', which gnuplot obeys.
std::string quoted_path(const std::filesystem::path& path) {
  std::error_code code;
  return quoted_bytes(std::filesystem::absolute(path, code).string());
}

core::Error missing() {
  return core::Error{
      "figures need the program gnuplot, which is not in PATH: install it "
      "(apt-get install gnuplot-nox)"};
}

std::string first_complaint(const core::ToolEnd& end) {
  const std::string& output = end.output;
  const auto begin = output.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos) return output.substr(begin, 400);
  constexpr int kSignalBase = 128;
  if (end.exit_code <= kSignalBase) return fmt::format("it ended with {}", end.exit_code);
  return fmt::format("a signal ended it: {}", ::strsignal(end.exit_code - kSignalBase));
}

// gnuplot ignores failed writes, as on a full disk: only the end of a picture tells that it is
// whole.
core::Status check_picture_is_whole(const std::filesystem::path& file,
                                    FigureFormat format,
                                    const std::filesystem::path& path) {
  constexpr std::string_view kPngEnd{"\0\0\0\0IEND\xAE\x42\x60\x82", 12};
  std::string picture = ASSAY_TRY(core::read_file(file));
  picture.erase(picture.find_last_not_of(" \r\n") + 1);
  if (picture.ends_with(format == FigureFormat::kPng ? kPngEnd : "</svg>")) return {};
  return core::Error{
      fmt::format("cannot write '{}': gnuplot left a picture that is cut off; is the "
                  "disk full?",
                  path.string())};
}

}  // namespace

std::string_view extension_of(FigureFormat format) {
  return format == FigureFormat::kPng ? ".png" : ".svg";
}

core::Status gnuplot_is_there() {
  const auto end = core::run_tool({kProgram, "--version"}, "");
  if (!end.ok() || end.value().exit_code != 0) return missing();
  return {};
}

core::Status draw(const Drawing& drawing, FigureFormat format, const std::filesystem::path& path) {
  return core::write_file_with(
      path,
      [&](const std::filesystem::path& temporary) -> core::Status {
        const std::string script =
            fmt::format("set encoding utf8\nset terminal {}\nset output {}\n{}\nunset output\n",
                        terminal(drawing, format), quoted_path(temporary), drawing.commands);
        // -d ignores the user's own gnuplot settings. Without a locale of UTF-8, as in a container,
        // it cannot make its degree sign.
        const auto end = core::run_tool({"env", "LC_ALL=C.UTF-8", kProgram, "-d"}, script);
        if (!end.ok()) {
          return end.error().context(fmt::format("cannot draw '{}'", path.string()));
        }
        if (core::interrupted()) return core::check_interrupt();
        // Any output is a complaint; many complaints do not change the exit status.
        if (end.value().exit_code != 0 || !end.value().output.empty()) {
          return core::Error{fmt::format("gnuplot could not draw '{}': {}", path.string(),
                                         first_complaint(end.value()))};
        }
        return check_picture_is_whole(temporary, format, path);
      },
      core::Durability::kUnsynced);
}

std::string gnuplot_string(std::string_view text) {
  // gnuplot escapes every other character that SVG minds.
  constexpr std::string_view kEndOfSection = "]]>";
  std::string shown = xml_text(text);
  for (std::size_t at = 0; (at = shown.find(kEndOfSection, at)) != std::string::npos;)
    shown.replace(at, kEndOfSection.size(), "]] >");
  return quoted_bytes(shown);
}

double text_width(std::string_view text) {
  double longest = 0;
  double line = 0;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;  // in UTF-8
    if (c == '\n') {
      line = 0;
    } else if (!continues) {
      line += kCharacterWidth;
    }
    longest = std::max(longest, line);
  }
  return longest;
}

}  // namespace assay::report
