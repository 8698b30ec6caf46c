#include "report/canvas.h"

#include <fmt/core.h>

#include <string_view>

namespace assay::report {
namespace {

std::string_view name_of(Align align) {
  if (align == Align::kLeft) return "left";
  return align == Align::kCenter ? "center" : "right";
}

// Returns the centre and half sizes, as gnuplot's boxxyerror expects them.
std::string center_and_halves(const Box& box) {
  return fmt::format("{:.3f} {:.3f} {:.3f} {:.3f}", box.x + box.width / 2, box.y + box.height / 2,
                     box.width / 2, box.height / 2);
}

// Returns gnuplot's "enhanced" text, which bold needs: characters that are commands in it are
// escaped, and each line is bold by itself because braces must close before a line ends.
std::string in_bold(const std::string& text) {
  constexpr std::string_view kBegin = "{/:Bold ";
  std::string result(kBegin);
  for (const char c : text) {
    if (c == '\n') {
      result += "}\n";
      result += kBegin;
      continue;
    }
    if (std::string_view("{}^_@&~\\").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result + '}';
}

}  // namespace

std::string text_command(const Text& text, double page_width, double page_height) {
  const bool bold = text.weight == Weight::kBold;
  return fmt::format(
      "set label {} at screen {:.5f},{:.5f} {} rotate by {} font 'sans-serif,{:.2f}' "
      "tc rgb '{}' {} front\n",
      gnuplot_string(bold ? in_bold(text.text) : text.text), text.x / page_width,
      1 - text.y / page_height, name_of(text.align), text.degrees, text.size, text.color.text(),
      bold ? "enhanced" : "noenhanced");
}

void Canvas::add(const Box& box, Color color) {
  filled_ += fmt::format("{} {}\n", center_and_halves(box), color.number());
}

void Canvas::add_hatched(const Box& box) {
  hatched_ += center_and_halves(box) + "\n";
}

void Canvas::add_outline(const Box& box) {
  others_ += fmt::format(
      "set object rectangle from {:.3f},{:.3f} to {:.3f},{:.3f} fs empty border lc rgb '#555555' "
      "lw 0.7 front\n",
      box.x, box.y, box.x + box.width, box.y + box.height);
}

void Canvas::add(const Text& text) {
  if (text.text.empty()) return;
  others_ += text_command(text, width_, height_);
}

Drawing Canvas::drawing() const {
  std::string commands = fmt::format(
      "unset key\nunset border\nunset tics\nset margins 0,0,0,0\nset lmargin at screen 0\n"
      "set rmargin at screen 1\nset bmargin at screen 0\nset tmargin at screen 1\n"
      "set xrange [0:{}]\nset yrange [{}:0]\n",
      width_, height_);
  commands += others_;
  std::string plots;
  if (!filled_.empty()) {
    commands += "$filled << END\n" + filled_ + "END\n";
    plots += ", $filled using 1:2:3:4:5 with boxxyerror lc rgb variable fs solid 1 noborder";
  }
  if (!hatched_.empty()) {
    commands += "$hatched << END\n" + hatched_ + "END\n";
    plots +=
        ", $hatched using 1:2:3:4 with boxxyerror lc rgb '#8a8a8a' lw 0.5 fs pattern 4 noborder";
  }
  commands += "plot NaN notitle" + plots + "\n";
  return {width_, height_, std::move(commands)};
}

}  // namespace assay::report
