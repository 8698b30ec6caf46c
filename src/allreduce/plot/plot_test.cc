#include "allreduce/plot/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "allreduce/decision.h"
#include "allreduce/plot/benchmark_test_util.h"
#include "allreduce/plot/drawings.h"
#include "allreduce/plot/figures.h"
#include "allreduce/plot/page.h"
#include "core/files.h"
#include "core/run_program.h"
#include "report/test_support.h"

namespace assay::allreduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Grid small_grid() {
  return grid_of(small_benchmark(), Fusion::kNone).value();
}

std::vector<std::string> texts_of(const report::HeatmapPanel& panel) {
  std::vector<std::string> texts;
  for (const report::HeatmapCell& cell : panel.cells)
    texts.push_back(cell.text);
  return texts;
}

std::vector<std::string> titles_of(const report::Heatmap& figure) {
  std::vector<std::string> titles;
  for (const report::HeatmapPanel& panel : figure.panels)
    titles.push_back(panel.title);
  return titles;
}

TEST(Grid, HasHiddenSizesDescendingAndTokensAscending) {
  const Grid grid = small_grid();
  EXPECT_THAT(grid.hidden_sizes, ElementsAre(2880, 128));
  EXPECT_THAT(grid.token_counts, ElementsAre(1, 100));
  EXPECT_THAT(grid.strategies, ElementsAre(Strategy::kOneshot, Strategy::kTwoshot, Strategy::kNccl,
                                           Strategy::kAuto));
}

TEST(Grid, NeverTakesAutoForTheBest) {
  const Grid grid = small_grid();
  EXPECT_EQ(grid.best(1, 0)->strategy, Strategy::kOneshot);
  EXPECT_DOUBLE_EQ(grid.difference_percent(Strategy::kAuto, 1, 0).value(), -25);
  EXPECT_DOUBLE_EQ(grid.difference_percent(Strategy::kNccl, 1, 0).value(), 150);
}

TEST(Grid, AveragesMeasurementsOfTheSame) {
  Benchmark benchmark = small_benchmark();
  benchmark.measurements.push_back(measured(Strategy::kOneshot, 128, 1, 6));
  benchmark.measurements.back().low_us = 5;
  const Grid grid = grid_of(benchmark, Fusion::kNone).value();
  EXPECT_DOUBLE_EQ(grid.timed(Strategy::kOneshot, 1, 0)->time_us, 5);
  EXPECT_DOUBLE_EQ(grid.timed(Strategy::kOneshot, 1, 0)->low_us, 5);
}

TEST(Grid, TellsAFusionWithoutTimesAndThoseThatThereAre) {
  EXPECT_EQ(grid_of(small_benchmark(), Fusion::kResidualRmsNorm).error().message,
            "no time of the fusion RESIDUAL_RMS_NORM; there are times of NONE");
}

TEST(Grid, RefusesSeveralTps) {
  Benchmark benchmark = small_benchmark();
  benchmark.measurements.front().cell.world_size = 8;
  EXPECT_EQ(grid_of(benchmark, Fusion::kNone).error().message,
            "a figure shows one TP, data type and way to launch, not TP 8, bfloat16, graph and "
            "TP 4, bfloat16, graph");
}

TEST(Grid, SaysNothingOfAnUnknownSm) {
  Benchmark benchmark = small_benchmark();
  benchmark.sm_version = 0;
  EXPECT_EQ(grid_of(benchmark, Fusion::kNone).value().subject(), "TP 4, bfloat16, CUDA graph");
}

TEST(Figures, TimesShareOneLogarithmicScale) {
  const report::Heatmap figure = time_figure(small_grid());
  EXPECT_THAT(titles_of(figure), ElementsAre("ONESHOT", "TWOSHOT - no data", "NCCL", "AUTO"));
  EXPECT_EQ(figure.bar.title, "Time (μs)");
  // The times range from 3 to 20, so 10 is at ln(10/3) / ln(20/3) of the scale in every panel.
  const double part = std::log(10.0 / 3) / std::log(20.0 / 3);
  const report::ColorScale scale{.colors = report::viridis()};
  EXPECT_EQ(figure.panels[2].cells[0].color, scale.at_position(part));
  EXPECT_EQ(figure.panels[0].cells[3].color, report::viridis().back());
  EXPECT_EQ(figure.panels[3].cells[2].color, report::viridis().front());
}

TEST(Figures, MarkWhatFailedAndWhatIsMissing) {
  const report::Heatmap figure = time_figure(small_grid());
  EXPECT_THAT(texts_of(figure.panels[1]), ElementsAre("", "", "×", ""));
  EXPECT_FALSE(figure.panels[1].cells[0].color.has_value());
  ASSERT_EQ(figure.legend.size(), 2U);
  EXPECT_EQ(figure.legend[0].text, "no data");
  EXPECT_EQ(figure.legend[1].text, "wrong result, error or hang");
}

TEST(Figures, AnnotateEveryDifference) {
  const report::Heatmap figure = difference_figure(small_grid());
  EXPECT_THAT(texts_of(figure.panels[0]), ElementsAre("0", "15.0", "0", "100"));
  EXPECT_THAT(texts_of(figure.panels[2]), ElementsAre("25.0", "0", "150", "0"));
  EXPECT_THAT(texts_of(figure.panels[3]), ElementsAre("", "5.0", "-25.0", ""));
  EXPECT_EQ(figure.panels[0].cells[0].color, report::kWhite);
  EXPECT_EQ(figure.panels[3].cells[2].color, report::kWhite);
  EXPECT_EQ(figure.bar.ticks.back().text, "≥ 100");
}

TEST(Figures, SayHowOftenEachStrategyIsTheBest) {
  const report::Heatmap figure = best_figure(small_grid());
  ASSERT_EQ(figure.bar.ticks.size(), 3U);
  EXPECT_EQ(figure.bar.ticks[2].text, "ONESHOT\n2 cells, 50.0 %");
  EXPECT_EQ(figure.bar.ticks[1].text, "TWOSHOT\n0 cells, 0.0 %");
  EXPECT_EQ(figure.bar.ticks[0].text, "NCCL\n2 cells, 50.0 %");
}

void set_interval(Measurement& one, double low_us, double high_us) {
  one.low_us = low_us;
  one.high_us = high_us;
}

TEST(Figures, MarkTies) {
  Benchmark benchmark = small_benchmark();
  set_interval(benchmark.measurements[0], 4.5, 11);   // NCCL
  set_interval(benchmark.measurements[1], 3.5, 4.6);  // ONESHOT, in the same cell
  set_interval(benchmark.measurements[2], 9.99, 10.01);
  benchmark.measurements[3].time_us = 10.15;
  set_interval(benchmark.measurements[3], 10.14, 10.16);
  const Grid grid = grid_of(benchmark, Fusion::kNone).value();
  const report::Heatmap figure = best_figure(grid);
  EXPECT_THAT(texts_of(figure.panels[0]), ElementsAre("•", "", "•", ""));
  EXPECT_EQ(figure.legend.at(0).text, "a tie: within 2 %, or their intervals overlap");
}

TEST(Figures, MarkTheTiesThatChoicesAreExplainedBy) {
  for (const double other_us : {10.1, 10.15, 10.25, 11.0}) {
    Benchmark benchmark{.sm_version = 90, .measurements = {}, .warnings = {}};
    benchmark.measurements = {measured(Strategy::kNccl, 128, 1, other_us),
                              measured(Strategy::kOneshot, 128, 1, 10)};
    set_interval(benchmark.measurements[0], other_us - 0.01, other_us + 0.01);
    set_interval(benchmark.measurements[1], 9.99, 10.01);
    const auto decided =
        decide(timings_of(benchmark, Launch::kGraph), {.strategies = all_strategies()});
    const Why why = find_choice(decided, benchmark.measurements[0].cell)->why;
    const Grid grid = grid_of(benchmark, Fusion::kNone).value();
    EXPECT_THAT(texts_of(best_figure(grid).panels[0]), ElementsAre(why == Why::kTie ? "•" : ""))
        << other_us;
  }
}

TEST(Figures, DrawWhatNcclAlwaysLoses) {
  const report::Heatmap figure = regret_figure(small_grid(), {always(Strategy::kNccl)});
  EXPECT_THAT(titles_of(figure), ElementsAre("NCCL always"));
  EXPECT_THAT(texts_of(figure.panels[0]), ElementsAre("25.0", "0", "150", "0"));
}

TEST(Figures, CompareATableWithTheStrategiesThatItKnows) {
  Benchmark benchmark = small_benchmark();
  benchmark.measurements.push_back(measured(Strategy::kTwoshotPush, 128, 1, 2));
  const Grid grid = grid_of(benchmark, Fusion::kNone).value();
  Chooser knowing = always(Strategy::kNccl);
  knowing.arms = {Strategy::kOneshot, Strategy::kNccl};
  const report::Heatmap figure = regret_figure(grid, {always(Strategy::kNccl), knowing});
  EXPECT_THAT(texts_of(figure.panels[0]), ElementsAre("25.0", "0", "400", "0"));
  EXPECT_THAT(texts_of(figure.panels[1]), ElementsAre("25.0", "0", "150", "0"));
  EXPECT_THAT(figure.subtitle,
              HasSubstr("; NCCL always beside the fastest of ONESHOT and NCCL alone"));
}

TEST(Figures, SetTwoTablesBesideEachOther) {
  const Grid grid = small_grid();
  const Chooser fastest = fastest_of("fastest", small_benchmark());
  const report::Heatmap figure = choice_difference_figure(grid, fastest, always(Strategy::kNccl));
  EXPECT_EQ(figure.panels[2].title, "second beside first: 2 of 4 cells differ");
  EXPECT_THAT(texts_of(figure.panels[2]), ElementsAre("+25", "", "150", ""));
  const auto found = differences(grid, fastest, always(Strategy::kNccl));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].first, Strategy::kOneshot);
  EXPECT_DOUBLE_EQ(found[1].cost_percent.value(), 150);
}

TEST(Figures, OnlyCellsThatBothTablesKnowCount) {
  const Grid grid = small_grid();
  const Chooser silent{"silent", [](const Cell& cell, Launch) {
                         return cell.num_tokens == 1 ? std::optional(Strategy::kNccl)
                                                     : std::nullopt;
                       }};
  const report::Heatmap figure = choice_difference_figure(grid, silent, always(Strategy::kOneshot));
  EXPECT_EQ(figure.panels[2].title, "second beside first: 2 of 2 cells differ");
}

TEST(Figures, DrawTheLimitsOfTheLinks) {
  const report::CurveFigure figure = latency_figure(small_grid());
  ASSERT_EQ(figure.curves.size(), 3U + 4U);  // TWOSHOT has no time
  EXPECT_EQ(figure.curves[3].name, "one-shot link limit, 450 GB/s");
  EXPECT_EQ(figure.curves[6].name, "two-shot link limit, 351 GB/s usable");
  // Each of 4 GPUs sends 1.5 times the message.
  EXPECT_NEAR(figure.curves[6].points[0].y, 1.5 * figure.x.low / 351e3, 1e-9);
  EXPECT_EQ(figure.curves[0].points.size(), 4U);
  EXPECT_EQ(figure.curves[0].points[0].x, 256);
}

TEST(Figures, KnowNoLimitsOfOtherGpus) {
  Benchmark benchmark = small_benchmark();
  benchmark.sm_version = 89;
  EXPECT_EQ(latency_figure(grid_of(benchmark, Fusion::kNone).value()).curves.size(), 3U);
}

TEST(Plot, AutoAloneIsBestNowhere) {
  Benchmark benchmark = small_benchmark();
  benchmark.measurements = {measured(Strategy::kAuto, 128, 1, 6)};
  model::Warnings warnings;
  warn_of_single_strategies({{"a", {grid_of(benchmark, Fusion::kNone).value()}}}, warnings);
  ASSERT_EQ(warnings.all().size(), 1U);
  EXPECT_EQ(warnings.all()[0].reason, "AUTO measured without strategies");
  benchmark.measurements = {measured(Strategy::kOneshot, 128, 1, 6)};
  warn_of_single_strategies({{"a", {grid_of(benchmark, Fusion::kNone).value()}}}, warnings);
  EXPECT_EQ(warnings.all().back().effect, "it is the best everywhere");
}

TEST(PercentText, HasAtMostFourDigits) {
  EXPECT_EQ(percent_text(0), "0");
  EXPECT_EQ(percent_text(0.04), "0.0");
  EXPECT_EQ(percent_text(99.94), "99.9");
  EXPECT_EQ(percent_text(99.96), "100");
  EXPECT_EQ(percent_text(9999.4), "9999");
  EXPECT_EQ(percent_text(12345), "12k");
}

class DrawnBenchmark : public testing::Test {
 protected:
  void SetUp() override {
    if (!core::run_tool({"gnuplot", "--version"}, "").ok()) GTEST_SKIP() << "no gnuplot here";
  }

  report::TemporaryFolder folder_;
};

TEST_F(DrawnBenchmark, ReturnsTheBestTableAndAddsPng) {
  const auto table =
      visualize_2d_best_strategy(small_benchmark(), Fusion::kNone, folder_.path() / "best");
  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table.value().size(), 4U);
  EXPECT_EQ(table.value()[1].hidden_size, 128);
  EXPECT_EQ(table.value()[1].num_tokens, 100);
  EXPECT_EQ(table.value()[1].best_strategy, Strategy::kNccl);
  EXPECT_EQ(table.value()[1].best_time_us, 10);
  EXPECT_EQ(core::read_file(folder_.path() / "best.png").value().substr(1, 3), "PNG");
}

TEST_F(DrawnBenchmark, WritesEveryFigureAsSvg) {
  const Benchmark benchmark = small_benchmark();
  const auto text = [&](const char* name) {
    return core::read_file(folder_.path() / name).value();
  };
  ASSERT_TRUE(visualize_2d_heatmap(benchmark, Fusion::kNone, folder_.path() / "a.svg").ok());
  EXPECT_THAT(text("a.svg"), HasSubstr("Time (μs)"));
  ASSERT_TRUE(
      visualize_strategy_difference_heatmaps(benchmark, Fusion::kNone, folder_.path() / "b.svg")
          .ok());
  EXPECT_THAT(text("b.svg"), HasSubstr("15.0"));
  ASSERT_TRUE(visualize_latency(benchmark, Fusion::kNone, folder_.path() / "c.svg").ok());
  EXPECT_THAT(text("c.svg"), HasSubstr("two-shot link limit"));
  ASSERT_TRUE(visualize_regret(benchmark, Fusion::kNone, {always(Strategy::kNccl)},
                               folder_.path() / "d.svg")
                  .ok());
  ASSERT_TRUE(visualize_choice_difference(benchmark, Fusion::kNone, always(Strategy::kNccl),
                                          always(Strategy::kOneshot), folder_.path() / "e.svg")
                  .ok());
  EXPECT_THAT(text("e.svg"), HasSubstr("ONESHOT always"));
}

TEST_F(DrawnBenchmark, RefusesOtherFormats) {
  EXPECT_THAT(visualize_2d_heatmap(small_benchmark(), Fusion::kNone, "x.bmp").error().message,
              HasSubstr("a figure is a .png or a .svg"));
}

TEST(Page, HasEveryFigureOfEveryGrid) {
  Benchmark benchmark = small_benchmark();
  benchmark.measurements.back().outcome = Outcome::kError;
  benchmark.measurements.back().reason = "</script> in a reason";
  const std::vector<Source> sources = {
      {.name = "benchmark.tp4.sm90", .grids = {grid_of(benchmark, Fusion::kNone).value()}}};
  const std::vector<model::Table> tables = {measurements_table(sources)};
  const report::Page page = page_of(sources, {}, tables);
  std::vector<std::string> ids;
  for (const report::PageCard& card : page.cards)
    ids.push_back(card.id);
  for (const char* kind : {"best", "times", "difference", "regret", "latency.all"})
    EXPECT_THAT(ids, testing::Contains(std::string("tp4.sm90.NONE.") + kind));
  EXPECT_EQ(page.choices.at(0).values, std::vector<std::string>{"tp4.sm90"});
  EXPECT_EQ(tables[0].row_count(), benchmark.measurements.size());
  EXPECT_EQ(std::get<std::string>(tables[0].at(tables[0].row_count() - 1, 10)),
            "error: </script> in a reason");
  EXPECT_THAT(page.answer.sentence, HasSubstr("Always using NCCL takes"));
}

TEST(Page, ExplainsTheCrossOfAFailure) {
  const std::vector<Source> sources = {{.name = "benchmark.tp4.sm90", .grids = {small_grid()}}};
  const report::Page page = page_of(sources, {}, {});
  const auto card = [&](const char* id) {
    return *std::find_if(page.cards.begin(), page.cards.end(),
                         [&](const report::PageCard& one) { return one.id == id; });
  };
  for (const char* id : {"tp4.sm90.NONE.times", "tp4.sm90.NONE.difference"}) {
    const report::PageCard shown = card(id);
    EXPECT_THAT(shown.notes, testing::Contains("×: wrong result, error or hang."));
    const auto& map = std::get<report::MapChart>(shown.content);
    EXPECT_THAT(map.panels.at(1).texts, ElementsAre("", "", "×", ""));
  }
}

}  // namespace
}  // namespace assay::allreduce
