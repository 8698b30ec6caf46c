#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/files.h"
#include "core/run_program.h"
#include "report/canvas.h"
#include "report/curves.h"
#include "report/heatmap.h"
#include "report/ranking.h"
#include "report/test_support.h"

namespace assay::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Heatmap heatmap(std::size_t panels, std::size_t columns, const std::string& text) {
  Heatmap map{.title = "Title",
              .subtitle = "Subtitle",
              .x_title = "x",
              .y_title = "y",
              .columns = std::vector<std::string>(columns, "16384"),
              .rows = {"8192", "2880"},
              .panels = {},
              .bar = {.title = "Bar", .colors = {kBlack, kWhite}, .ticks = {{0.5, "5"}}},
              .legend = {}};
  const HeatmapCell cell{.color = color_of(0x102030), .text = text};
  for (std::size_t i = 0; i < panels; ++i)
    map.panels.push_back({"panel", std::vector<HeatmapCell>(columns * 2, cell)});
  return map;
}

TEST(Colors, GoFromEndToEndInLogarithmicSteps) {
  const ColorScale scale{
      .colors = viridis(), .low = 1, .high = 100, .spacing = Spacing::kLogarithmic};
  EXPECT_DOUBLE_EQ(scale.position(10), 0.5);
  EXPECT_EQ(scale.at(0.1), viridis().front());
  EXPECT_EQ(scale.at(1e6), viridis().back());
}

TEST(Colors, KnowWhatCanBeReadOnThem) {
  EXPECT_EQ(readable_on(kWhite), kBlack);
  EXPECT_EQ(readable_on(viridis().front()), kWhite);
  EXPECT_EQ(readable_on(viridis().back()), kBlack);
}

TEST(Gnuplot, NeverTakesTextForCommands) {
  EXPECT_EQ(gnuplot_string("\x1b[2J]]>]]>\xFF\xEF\xBF\xBE"),
            "'\xEF\xBF\xBD[2J]] >]] >\xEF\xBF\xBD\xEF\xBF\xBD'");
  EXPECT_EQ(gnuplot_string("it's `rm x`\nb"), "'it''s `rm x`'.\"\\n\".'b'");
}

TEST(Ticks, AreRound) {
  EXPECT_THAT(logarithmic_ticks(3, 60), ElementsAre(5, 10, 20, 50));
  EXPECT_THAT(logarithmic_ticks(2.5, 1100), ElementsAre(3, 10, 30, 100, 300, 1000));
  EXPECT_THAT(logarithmic_ticks(6, 8.7), ElementsAre(6, 8.7));
}

TEST(HeatmapDrawing, IsAtMostAPageWideWhereTextsCanBeRead) {
  EXPECT_LE(drawing_of(heatmap(4, 15, "99.9")).width, kPageWidth);
  EXPECT_LE(drawing_of(heatmap(3, 15, "")).width, kPageWidth);
  EXPECT_GT(drawing_of(heatmap(1, 60, "99.9")).width, kPageWidth);
}

TEST(HeatmapDrawing, PutsPanelsBelowEachOtherWhereTextsWouldGetTooSmall) {
  const double row = drawing_of(heatmap(3, 15, "")).height;
  EXPECT_GT(drawing_of(heatmap(3, 15, "99.9")).height, row * 1.3);
  EXPECT_GT(drawing_of(heatmap(4, 15, "")).height, row * 1.3);
}

TEST(HeatmapDrawing, HasABoxForEachCellAndHatchesThoseWithoutColor) {
  Heatmap map = heatmap(1, 2, "7");
  map.panels[0].cells[1] = {};
  const std::string commands = drawing_of(map).commands;
  const std::string color = " " + std::to_string(0x102030) + "\n";
  std::size_t boxes = 0;
  for (auto at = commands.find(color); at != std::string::npos; at = commands.find(color, at + 1))
    ++boxes;
  EXPECT_EQ(boxes, 3U);
  EXPECT_THAT(commands, HasSubstr("fs pattern"));
  EXPECT_THAT(drawing_of(heatmap(1, 2, "7")).commands, Not(HasSubstr("fs pattern")));
}

TEST(CurveDrawing, FeedsPointsWithTheirBand) {
  const CurveFigure figure{
      .title = "T",
      .subtitle = "S",
      .x = {.title = "x", .low = 1, .high = 10, .ticks = {{1, "one"}}},
      .y = {.title = "y", .low = 1, .high = 10, .ticks = {}},
      .curves = {{.name = "measured",
                  .color = kBlack,
                  .points = {{1, 2, 1.5, 2.5}, {2, 4, std::nan(""), std::nan("")}}},
                 {.name = "limit",
                  .color = kBlack,
                  .look = Curve::Look::kLimit,
                  .points = {{1, 1, 1, 1}}}}};
  const std::string commands = drawing_of(figure).commands;
  EXPECT_THAT(commands, HasSubstr("1 2 1.5 2.5\n2 4 4 4\n"));
  EXPECT_THAT(commands, HasSubstr("$curve0 using 1:3:4 with filledcurves"));
  EXPECT_THAT(commands, Not(HasSubstr("$curve1 using 1:3:4")));
  EXPECT_THAT(commands, HasSubstr("('one' 1)"));
}

RankingFigure ranking() {
  const double nan = std::nan("");
  return {.title = "No setting is faster",
          .subtitle = "Dot: mean",
          .axis = "percent",
          .tolerance = 1,
          .headings = {"ms", "verdict"},
          .items = {{.name = "default", .value = 0, .low = nan, .high = nan, .texts = {"1", "-"}},
                    {.name = "16",
                     .value = -21,
                     .low = -45,
                     .high = 3,
                     .verdict = model::Verdict::kUnclear,
                     .texts = {"2", "Unclear"}},
                    {.name = "4",
                     .value = -93,
                     .low = -94,
                     .high = -92,
                     .verdict = model::Verdict::kWorse,
                     .texts = {"3", "Worse"}}}};
}

TEST(RankingDrawing, HasADotWithItsIntervalForEachItemInTheColorOfItsVerdict) {
  const std::string commands = drawing_of(ranking()).commands;
  EXPECT_THAT(commands, HasSubstr("-93 2 -94 -92\n"));
  EXPECT_THAT(commands, HasSubstr("-21 1 -45 3\n"));
  EXPECT_THAT(commands, HasSubstr("0 0 0 0\n"));
  EXPECT_THAT(commands, HasSubstr("xerrorbars lc rgb '#d55e00' lw 2 pt 7"));
  EXPECT_THAT(commands, HasSubstr("xerrorbars lc rgb '#6b6b6b' lw 2 pt 6"));  // unclear: open
}

TEST(RankingDrawing, ShowsTheToleranceAsABandAndTheReferenceAsALine) {
  const std::string commands = drawing_of(ranking()).commands;
  EXPECT_THAT(commands, HasSubstr("rectangle from -1,graph 0 to 1,graph 1"));
  EXPECT_THAT(commands, HasSubstr("arrow from 0,graph 0 to 0,graph 1"));
}

class Drawn : public testing::Test {
 protected:
  void SetUp() override {
    if (!gnuplot_is_there().ok()) GTEST_SKIP() << "no gnuplot here";
  }

  TemporaryFolder folder_;
};

TEST_F(Drawn, PngAtPrintResolution) {
  const Drawing drawing = drawing_of(heatmap(1, 15, "1.5"));
  const auto path = folder_.path() / "a.png";
  ASSERT_TRUE(draw(drawing, FigureFormat::kPng, path).ok());
  const std::string png = core::read_file(path).value();
  ASSERT_GT(png.size(), 10'000U);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(png[at]); };
  EXPECT_NEAR(byte(18) * 256 + byte(19), drawing.width * 2.5, 1);
}

TEST_F(Drawn, SvgWithItsTexts) {
  Heatmap map = heatmap(1, 2, "7.5");
  map.title = "A_title {with} 'marks' & `more`";
  const auto path = folder_.path() / "a.svg";
  ASSERT_TRUE(draw(drawing_of(map), FigureFormat::kSvg, path).ok());
  const std::string svg = core::read_file(path).value();
  EXPECT_THAT(svg, HasSubstr("A_title {with} 'marks' &amp; `more`"));
  EXPECT_THAT(svg, HasSubstr("font-weight=\"bold\""));
  EXPECT_THAT(svg, HasSubstr("7.5"));
}

TEST_F(Drawn, TellsWhatGnuplotRefuses) {
  const auto path = folder_.path() / "a.png";
  const auto status = draw({.commands = "no such command"}, FigureFormat::kPng, path);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("invalid command"));
  EXPECT_FALSE(core::is_regular_file(path));
}

}  // namespace
}  // namespace assay::report
