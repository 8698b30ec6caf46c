// A figure made of boxes, lines and texts at given places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/colors.h"
#include "report/gnuplot.h"

namespace assay::report {

// Lengths are in points, from the top left corner of the page.
struct Box {
  double x = 0;  // left edge
  double y = 0;  // top edge
  double width = 0;
  double height = 0;
};

enum class Align : std::uint8_t { kLeft, kCenter, kRight };
enum class Weight : std::uint8_t { kNormal, kBold };

struct Text {
  double x = 0;
  double y = 0;  // y of the text's middle
  std::string text;
  double size = 11;
  Align align = Align::kLeft;
  Weight weight = Weight::kNormal;
  double degrees = 0;  // rotation, anticlockwise
  Color color = kBlack;
};

class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  void add(const Box& box, Color color);
  void add_hatched(const Box& box);
  void add_outline(const Box& box);
  void add(const Text& text);

  [[nodiscard]] Drawing drawing() const;

 private:
  double width_;
  double height_;
  std::string filled_;   // data lines for gnuplot
  std::string hatched_;  // data lines for gnuplot
  std::string others_;   // gnuplot commands
};

// Returns the command that places a text on a page of this size; it belongs to the next plot.
std::string text_command(const Text& text, double page_width, double page_height);

}  // namespace assay::report
