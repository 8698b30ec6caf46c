#include "report/ranking.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/canvas.h"
#include "report/colors.h"

namespace assay::report {
namespace {

using model::Verdict;

constexpr double kRankingHead = 92;  // height of title, subtitle and headings
constexpr double kRankingFoot = 58;  // height of the axis
constexpr double kRankingRow = 34;
constexpr double kRankingMargin = 14;
constexpr double kRankingGap = 22;  // space between two columns of text
constexpr double kRankingText = 11.5;

constexpr Color kBetterColor = color_of(0x0072b2);
constexpr Color kWorseColor = color_of(0xd55e00);
constexpr Color kNeutralColor = color_of(0x6b6b6b);
constexpr Color kQuietColor = color_of(0x444444);

// The look of one kind of verdict; open circles are for verdicts that settle nothing.
struct Mark {
  Color color;
  int point_type;  // gnuplot's number: 7 is a filled circle, 6 an open one
};

Mark mark_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return {kBetterColor, 7};
    case Verdict::kWorse:
      return {kWorseColor, 7};
    case Verdict::kUnclear:
      return {kNeutralColor, 6};
    default:
      return {kNeutralColor, 7};
  }
}

double width_of(const std::string& text) {
  return text_width(text) * kRankingText;
}

// The plot fills the space between the names on the left and the texts on the right.
struct RankingColumns {
  double plot_left = 0;
  double plot_right = 0;
  std::vector<double> text_left;
};

RankingColumns lay_out_ranking(const RankingFigure& figure) {
  double names = 0;
  std::vector<double> widths;
  for (const std::string& heading : figure.headings)
    widths.push_back(width_of(heading));
  for (const RankedItem& item : figure.items) {
    names = std::max(names, width_of(item.name));
    for (std::size_t i = 0; i < item.texts.size(); ++i)
      widths[i] = std::max(widths[i], width_of(item.texts[i]));
  }
  RankingColumns columns;
  columns.plot_left = kRankingMargin + std::min(names, kPageWidth / 4) + 8;
  double right = kPageWidth - kRankingMargin;
  columns.text_left.resize(widths.size());
  for (std::size_t i = widths.size(); i-- > 0;) {
    right -= widths[i];
    columns.text_left[i] = right;
    right -= kRankingGap;
  }
  columns.plot_right = right;
  return columns;
}

struct Limits {
  double low = 0;
  double high = 0;
};

Limits limits_of(const RankingFigure& figure) {
  constexpr double kRoom = 0.04;  // share of the range that is left free on either side
  Limits limits{-figure.tolerance, figure.tolerance};
  for (const RankedItem& item : figure.items)
    for (const double value : {item.value, item.low, item.high}) {
      if (std::isnan(value)) continue;
      limits.low = std::min(limits.low, value);
      limits.high = std::max(limits.high, value);
    }
  if (limits.low == limits.high) return {-1, 1};
  const double room = kRoom * (limits.high - limits.low);
  return {limits.low - room, limits.high + room};
}

std::string ranking_axis(const RankingFigure& figure) {
  const Limits limits = limits_of(figure);
  const auto rows = static_cast<double>(figure.items.size());
  return fmt::format(
             "set xrange [{}:{}]\nset yrange [{}:-0.5]\nunset ytics\nunset key\n"
             "set xtics nomirror font 'sans-serif,11'\nset xlabel {} noenhanced font "
             "'sans-serif,11.5'\nset border 1 lc rgb '#555555'\n"
             "set grid x lc rgb '#e4e4e4' lt 1 lw 0.6\n",
             limits.low, limits.high, rows - 0.5, gnuplot_string(figure.axis)) +
         fmt::format(
             "set object rectangle from {},graph 0 to {},graph 1 fc rgb '#d9d9d9' fs solid 1 "
             "noborder behind\n"
             "set arrow from 0,graph 0 to 0,graph 1 nohead lc rgb '#333333' lw 1.1 back\n",
             -figure.tolerance, figure.tolerance);
}

// Returns one plot for each kind of mark. An item without an interval gets one of zero width.
std::string ranking_plots(const RankingFigure& figure) {
  constexpr std::array kKinds = {Verdict::kWorse, Verdict::kSame, Verdict::kUnclear,
                                 Verdict::kBetter};
  std::string blocks;
  std::string plots;
  for (const Verdict kind : kKinds) {
    const Mark mark = mark_of(kind);
    std::string rows;
    for (std::size_t i = 0; i < figure.items.size(); ++i) {
      const RankedItem& item = figure.items[i];
      const bool colored = item.verdict == Verdict::kWorse || item.verdict == Verdict::kBetter ||
                           item.verdict == Verdict::kUnclear;
      if (std::isnan(item.value) || (colored ? item.verdict : Verdict::kSame) != kind) continue;
      const bool bare = std::isnan(item.low) || std::isnan(item.high);
      rows += fmt::format("{} {} {} {}\n", item.value, i, bare ? item.value : item.low,
                          bare ? item.value : item.high);
    }
    if (rows.empty()) continue;
    const std::string name = fmt::format("$kind{}", static_cast<int>(kind));
    blocks += name + " << END\n" + rows + "END\n";
    plots += fmt::format(", {} using 1:2:3:4 with xerrorbars lc rgb '{}' lw 2 pt {} ps 0.9 notitle",
                         name, mark.color.text(), mark.point_type);
  }
  return blocks + "plot NaN notitle" + plots + "\n";
}

void add_ranking_texts(std::string& commands,
                       const RankingFigure& figure,
                       const RankingColumns& columns,
                       double height) {
  const auto add = [&](const Text& text) {
    if (!text.text.empty()) commands += text_command(text, kPageWidth, height);
  };
  add({.x = kRankingMargin, .y = 22, .text = figure.title, .size = 15, .weight = Weight::kBold});
  add({.x = kRankingMargin, .y = 46, .text = figure.subtitle, .color = kQuietColor});
  for (std::size_t i = 0; i < figure.headings.size(); ++i)
    add({.x = columns.text_left[i],
         .y = kRankingHead - 14,
         .text = figure.headings[i],
         .size = kRankingText,
         .color = kQuietColor});
  for (std::size_t row = 0; row < figure.items.size(); ++row) {
    const RankedItem& item = figure.items[row];
    const double y = kRankingHead + (static_cast<double>(row) + 0.5) * kRankingRow;
    add({.x = columns.plot_left - 8,
         .y = y,
         .text = item.name,
         .size = kRankingText,
         .align = Align::kRight});
    for (std::size_t i = 0; i < item.texts.size(); ++i) {
      const bool last = i + 1 == item.texts.size();
      add({.x = columns.text_left[i],
           .y = y,
           .text = item.texts[i],
           .size = kRankingText,
           .weight = last ? Weight::kBold : Weight::kNormal,
           .color = last ? mark_of(item.verdict).color : kBlack});
    }
  }
}

}  // namespace

Drawing drawing_of(const RankingFigure& figure) {
  const RankingColumns columns = lay_out_ranking(figure);
  const double height =
      kRankingHead + static_cast<double>(figure.items.size()) * kRankingRow + kRankingFoot;
  Drawing drawing{.width = kPageWidth, .height = height, .commands = {}};
  add_ranking_texts(drawing.commands, figure, columns, height);
  drawing.commands += fmt::format(
      "set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\n"
      "set bmargin at screen {}\n",
      columns.plot_left / kPageWidth, columns.plot_right / kPageWidth, 1 - kRankingHead / height,
      kRankingFoot / height);
  drawing.commands += ranking_axis(figure) + ranking_plots(figure);
  return drawing;
}

}  // namespace assay::report
