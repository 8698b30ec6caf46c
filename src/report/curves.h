// Draws lines over a logarithmic plane, with bands around them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/colors.h"
#include "report/gnuplot.h"

namespace assay::report {

struct CurvePoint {
  double x = 0;
  double y = 0;
  double low = 0;  // the band around y; NaN if there is none
  double high = 0;
  std::string note = {};  // more about the point, where a reader can point at it
};

struct Curve {
  // kMeasured: points, joined by a line, with their band. kReference: the same, measured on what
  // the others are compared with. kLimit: a dashed line drawn behind the others. kMarks: hollow
  // points that no line joins; those of one colour have shapes in a fixed order.
  enum class Look : std::uint8_t { kMeasured, kReference, kLimit, kMarks };

  std::string name;
  Color color;
  Look look = Look::kMeasured;
  std::vector<CurvePoint> points;  // ascending by x
};

struct AxisTick {
  double value = 0;
  std::string text;
};

struct Axis {
  std::string title;
  double low = 1;  // greater than 0
  double high = 10;
  std::vector<AxisTick> ticks;
  enum class Values : std::uint8_t { kNumbers, kBytes } values = Values::kNumbers;
};

struct CurveFigure {
  std::string title;
  std::string subtitle;
  Axis x;
  Axis y;
  std::vector<Curve> curves;
  // Where the curves leave room for their names; pages put these elsewhere.
  enum class Key : std::uint8_t { kTopLeft, kBottomLeft } key = Key::kTopLeft;
};

Drawing drawing_of(const CurveFigure& figure);

}  // namespace assay::report
