#include "report/curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/canvas.h"

namespace assay::report {
namespace {

constexpr double kHeight = 640;
// gnuplot's numbers; filled points come first.
constexpr std::array kPointTypes = {7, 5, 9, 13, 11, 4, 6, 8};
constexpr std::array kHollowTypes = {4, 8, 12, 10, 6};
constexpr std::array kDashes = {2, 3, 4, 5};  // gnuplot's numbers

std::string axis_commands(const Axis& axis, char letter) {
  std::string ticks;
  for (const AxisTick& tick : axis.ticks)
    ticks +=
        fmt::format("{}{} {}", ticks.empty() ? "" : ", ", gnuplot_string(tick.text), tick.value);
  return fmt::format(
      "set logscale {0}\nset {0}range [{1}:{2}]\nset {0}tics ({3}) nomirror noenhanced font "
      "'sans-serif,10'\n"
      "set {0}label {4} noenhanced font 'sans-serif,11'\n",
      letter, axis.low, axis.high, ticks, gnuplot_string(axis.title));
}

std::string data_block(const Curve& curve, std::size_t index) {
  std::string text = fmt::format("$curve{} << END\n", index);
  for (const CurvePoint& point : curve.points) {
    const bool bare = std::isnan(point.low) || std::isnan(point.high);
    text += fmt::format("{} {} {} {}\n", point.x, point.y, bare ? point.y : point.low,
                        bare ? point.y : point.high);
  }
  return text + "END\n";
}

std::string band(const Curve& curve, std::size_t index) {
  return fmt::format(
      ", $curve{} using 1:3:4 with filledcurves lc rgb '{}' fs transparent solid 0.22 noborder "
      "notitle",
      index, curve.color.text());
}

std::string measured_line(const Curve& curve, std::size_t index, std::size_t place) {
  return fmt::format(
      ", $curve{} using 1:2 with linespoints lc rgb '{}' lw 1.8 pt {} ps 0.6 title {}", index,
      curve.color.text(), kPointTypes.at(place % kPointTypes.size()), gnuplot_string(curve.name));
}

std::string limit_line(const Curve& curve, std::size_t index, std::size_t place) {
  return fmt::format(", $curve{} using 1:2 with lines lc rgb '{}' lw 1.3 dt {} title {}", index,
                     curve.color.text(), kDashes.at(place % kDashes.size()),
                     gnuplot_string(curve.name));
}

std::string marks(const std::vector<Curve>& curves, std::size_t index) {
  const Curve& self = curves[index];
  const auto before = std::count_if(
      curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(index), [&](const Curve& other) {
        return other.look == Curve::Look::kMarks && other.color == self.color;
      });
  return fmt::format(", $curve{} using 1:2 with points lc rgb '{}' lw 1.8 pt {} ps 1.1 title {}",
                     index, self.color.text(),
                     kHollowTypes.at(static_cast<std::size_t>(before) % kHollowTypes.size()),
                     gnuplot_string(self.name));
}

// Draws limits first, then bands, so that measured lines are never covered.
std::string plot_command(const std::vector<Curve>& curves) {
  std::string limits;
  std::string bands;
  std::string lines;
  std::size_t limit_count = 0;
  std::size_t line_count = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].look == Curve::Look::kLimit) {
      limits += limit_line(curves[i], i, limit_count++);
      continue;
    }
    if (curves[i].look == Curve::Look::kMarks) {
      lines += marks(curves, i);
      continue;
    }
    if (curves[i].points.size() > 1) bands += band(curves[i], i);
    lines += measured_line(curves[i], i, line_count++);
  }
  return "plot NaN notitle" + bands + lines + limits + "\n";
}

}  // namespace

Drawing drawing_of(const CurveFigure& figure) {
  Drawing drawing{.width = kPageWidth, .height = kHeight, .commands = {}};
  std::string& commands = drawing.commands;
  const auto add = [&](const Text& text) {
    commands += text_command(text, drawing.width, drawing.height);
  };
  add(Text{.x = drawing.width / 2,
           .y = 20,
           .text = figure.title,
           .size = 15,
           .align = Align::kCenter,
           .weight = Weight::kBold});
  add(Text{.x = drawing.width / 2,
           .y = 41,
           .text = figure.subtitle,
           .align = Align::kCenter,
           .color = color_of(0x444444)});
  commands += fmt::format(
      "set lmargin at screen 0.085\nset rmargin at screen 0.98\nset tmargin at screen {}\n"
      "set bmargin at screen {}\n",
      1 - 62 / drawing.height, 62 / drawing.height);
  commands += fmt::format(
      "set clip two\nset border 3 lc rgb '#555555'\nset grid lc rgb '#dddddd' lt 1 lw 0.6\n"
      "set key noenhanced {} left Left reverse samplen 3 spacing 1.25 opaque font "
      "'sans-serif,10.5'\n",
      figure.key == CurveFigure::Key::kTopLeft ? "top" : "bottom");
  commands += axis_commands(figure.x, 'x') + axis_commands(figure.y, 'y');
  for (std::size_t i = 0; i < figure.curves.size(); ++i)
    commands += data_block(figure.curves[i], i);
  commands += plot_command(figure.curves);
  return drawing;
}

}  // namespace assay::report
