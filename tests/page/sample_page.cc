// Writes two pages that the browser test opens: every kind of chart with hostile texts in them, and
// a table of 100,000 rows.
//
// usage: sample_page FOLDER
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>

#include "report/page.h"

namespace {

namespace core = assay::core;
namespace model = assay::model;
namespace report = assay::report;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const std::string kHostile =
    "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'> \"&amp;";

model::Table large_table() {
  constexpr std::int64_t kRows = 100000;
  constexpr int kColumns = 15;
  model::Table table{.name = "large", .title = "A hundred thousand kernels", .columns = {}};
  table.columns.push_back({.name = "kernel"});
  table.columns.push_back({.name = "rank"});
  for (int i = 2; i < kColumns; ++i)
    table.columns.push_back(
        {.name = "figure " + std::to_string(i), .unit = "us", .description = "a time"});
  table.cells.reserve(static_cast<std::size_t>(kRows) * kColumns);
  for (std::int64_t row = 0; row < kRows; ++row) {
    table.cells.emplace_back("kernel_" + std::to_string(row * 7919 % 5000));
    table.cells.emplace_back(row % 8);
    for (int i = 2; i < kColumns; ++i) {
      const auto mixed = static_cast<double>((row * 2654435761 + i * 40503) % 1000003);
      table.cells.push_back(row % 97 == i ? model::Cell() : model::Cell(mixed / 1000));
    }
  }
  return table;
}

model::Table verdict_table() {
  model::Table table{
      .name = "verdicts",
      .title = "Which settings differ " + kHostile,
      .columns = {{.name = "setting"}, {.name = "change (%)", .unit = "%"}, {.name = "verdict"}}};
  table.style.verdict_column = "verdict";
  table.add_row({"plain", 1.25, "Better"});
  table.add_row({kHostile, -20.0, "Worse"});
  table.add_row({"third", model::Cell(), "Unclear"});
  return table;
}

report::RankingFigure ranking() {
  report::RankingFigure figure{
      .title = "Ranking",
      .subtitle = "",
      .axis = "time of a step against default (%): left is slower, right is faster",
      .tolerance = 1,
      .headings = {"step (ms)", "faster by (%)", "verdict"},
      .items = {}};
  figure.items = {{.name = "32cta_512threads",
                   .value = 0.18,
                   .low = -0.56,
                   .high = 0.92,
                   .verdict = model::Verdict::kSame,
                   .texts = {"34.9", "+0.18", "Same"}},
                  {.name = "default",
                   .value = 0,
                   .low = kNone,
                   .high = kNone,
                   .texts = {"34.9", "", "reference"}},
                  {.name = "8cta_512threads",
                   .value = -25.6,
                   .low = -26.5,
                   .high = -24.6,
                   .verdict = model::Verdict::kWorse,
                   .texts = {"43.9", "-25.6", "Worse"}},
                  {.name = kHostile.substr(0, 30),
                   .value = -93.5,
                   .low = -94.7,
                   .high = -92.4,
                   .verdict = model::Verdict::kWorse,
                   .texts = {"67.6", "-93.5", "Worse"}}};
  return figure;
}

report::CompositionChart composition() {
  report::CompositionChart chart{.axis = "ms per step",
                                 .unit = "ms",
                                 .parts = {{"computation", report::color_of(0x0072b2)},
                                           {"exposed communication", report::color_of(0xe69f00)},
                                           {"exposed copies", report::color_of(0x009e73)},
                                           {"idle", report::color_of(0xbbbbbb)}},
                                 .bars = {}};
  for (int rank = 0; rank < 8; ++rank)
    chart.bars.push_back({"rank " + std::to_string(rank), {25.0 + rank * 0.1, 8.0, 0.3, 0.5}});
  return chart;
}

report::WaterfallChart waterfall() {
  return {.axis = "ms per step",
          .unit = "ms",
          .from = {"default", 34.95},
          .to = {"4cta_512threads", 67.6423},
          .parts = {{"kernels beside communication", -0.4, "fewer channels take less from kernels",
                     "large"},
                    {"communication: bandwidth", 31.2, "", ""},
                    {"waiting for a straggler", 1.5, "", ""},
                    {"other", 0.39, "", ""},
                    {"parts below 0.1 ms each", 0.0023, "", ""}}};
}

report::CurveFigure curves(std::size_t count) {
  report::CurveFigure figure{.title = "",
                             .subtitle = "",
                             .x = {.title = "message size", .ticks = {}},
                             .y = {.title = "bus bandwidth (GB/s)", .ticks = {}},
                             .curves = {}};
  figure.x.values = report::Axis::Values::kBytes;
  for (std::size_t i = 0; i < count; ++i) {
    report::Curve curve{.name = "allreduce, setting " + std::to_string(i),
                        .color = report::category_color(i),
                        .points = {}};
    for (double size = 4096; size < 2e9; size *= 8) {
      const double rate = 380 / (1 + 2e6 / size) / (1 + static_cast<double>(i));
      curve.points.push_back({size, rate, rate * 0.9, rate * 1.1});
    }
    figure.curves.push_back(std::move(curve));
  }
  figure.curves.push_back({.name = "link limit, 478 GB/s",
                           .color = report::color_of(0x808080),
                           .look = report::Curve::Look::kLimit,
                           .points = {{4096, 478, kNone, kNone}, {2e9, 478, kNone, kNone}}});
  return figure;
}

report::MapChart steps_map() {
  report::MapChart chart{.x_title = "step",
                         .y_title = "rank",
                         .unit = "ms",
                         .columns = {},
                         .rows = {},
                         .panels = {{.title = "", .values = {}}}};
  for (int step = 0; step < 20; ++step)
    chart.columns.push_back(std::to_string(step + 5));
  for (int rank = 0; rank < 8; ++rank) {
    chart.rows.push_back(std::to_string(rank));
    for (int step = 0; step < 20; ++step)
      chart.panels[0].values.push_back(
          rank == 3 && step == 2 ? kNone : 34 + std::sin(step) + (step == 0 ? 20 : 0));
  }
  return chart;
}

report::MapChart difference_map() {
  report::MapChart chart{.scale = report::MapChart::Scale::kDifference,
                         .x_title = "num_tokens",
                         .y_title = "hidden_size",
                         .unit = "%",
                         .columns = {},
                         .rows = {"16384", "8192", "4096", "2880"},
                         .panels = {}};
  for (int tokens = 1; tokens <= 8192; tokens *= 2)
    chart.columns.push_back(std::to_string(tokens));
  for (const char* name : {"NCCL", "ONESHOT", "TWOSHOT"}) {
    report::MapPanel panel{.title = name, .values = {}};
    for (std::size_t at = 0; at < chart.rows.size() * chart.columns.size(); ++at)
      panel.values.push_back(at % 7 == 0 ? 0 : std::pow(1.35, static_cast<double>(at % 29)));
    chart.panels.push_back(std::move(panel));
  }
  return chart;
}

report::MapChart best_map() {
  report::MapChart chart{.scale = report::MapChart::Scale::kCategories,
                         .x_title = "num_tokens",
                         .y_title = "hidden_size",
                         .unit = "",
                         .columns = {"1", "2", "4"},
                         .rows = {"8192", "4096"},
                         .panels = {{.title = "",
                                     .values = {},
                                     .names = {"NCCL", "ONESHOT", "", "TWOSHOT", "NCCL", "NCCL"}}},
                         .categories = {{"NCCL", report::color_of(0x999999)},
                                        {"ONESHOT", report::color_of(0xe69f00)},
                                        {"TWOSHOT", report::color_of(0x56b4e9)}}};
  return chart;
}

report::TimelineChart timeline() {
  report::TimelineChart chart{
      .axis = "ms since the start of the step",
      .length_us = 35000,
      .rows = {{"computation", report::color_of(0x0072b2)},
               {"communication", report::color_of(0xe69f00)}},
      .names = {"gemm_kernel_with_a_long_name", "ncclDevKernel_AllReduce", kHostile},
      .lanes = {}};
  for (int rank = 0; rank < 8; ++rank) {
    report::TimelineLane lane{.name = "rank " + std::to_string(rank), .rows = {{}, {}}};
    for (int i = 0; i < 2000; ++i)
      lane.rows[0].push_back(
          {i * 17.0 + rank, i % 50 == 0 ? 15.0 : 9.0, i % 100 == 0 ? 2U : 0U, i % 40 == 0});
    for (int i = 0; i < 6; ++i)
      lane.rows[1].push_back({i * 5000.0 + 900 + rank * 20, 3500, 1, i == 5});
    chart.lanes.push_back(std::move(lane));
  }
  return chart;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  const model::Table large = large_table();
  const model::Table verdicts = verdict_table();
  report::Page page{
      .title = "Sample " + kHostile,
      .answer = {.sentence = "8cta_512threads is 25.6 % slower than default (95 %: 24.6 to 26.5 %; "
                             "3 runs each). " +
                             kHostile,
                 .verdict = "Worse",
                 .compared = "default: 3 runs, 8 ranks; 8cta_512threads: 3 runs, 8 ranks."}};
  page.answer.why = {{"Communication takes 31.2 ms more: its bandwidth fell.", "large"},
                     {"Kernels take 0.4 ms less.", ""}};
  page.answer.next = {{"Keep default.", ""}};
  page.answer.warnings = {
      {"GPU clocks were held down by a power cap in one run: up to 0.4 ms.", ""}};
  page.answer.other_warnings = {{"59948 kernels leaked from before the profile.", ""}};
  page.choices = {{"Setting", {"8cta", "4cta"}, 0}, {"Fusion", {"NONE"}, 0}};
  page.cards = {
      {.id = "ranking", .title = "No setting is faster than default", .content = ranking()},
      {.id = "attribution", .title = "31.2 of 32.7 ms come from bandwidth", .content = waterfall()},
      {.id = "composition",
       .title = "Computation is the same on all ranks",
       .content = composition(),
       .when = {{"Setting", "8cta"}}},
      {.id = "composition-4cta",
       .title = "The other setting's ranks",
       .content = composition(),
       .when = {{"Setting", "4cta"}}},
      {.id = "steps", .title = "The first step is a transient (ms)", .content = steps_map()},
      {.id = "bandwidth", .title = "Fewer channels move less", .content = curves(3)},
      {.id = "many", .title = "More curves than colours", .content = curves(20)},
      {.id = "difference", .title = "Slower than the best (%)", .content = difference_map()},
      {.id = "best", .title = "The fastest strategy", .content = best_map()},
      {.id = "timeline", .title = "One step of all ranks", .content = timeline()},
      {.id = "verdicts",
       .title = verdicts.title,
       .content = report::TableCard{verdicts, report::TableCard::Shown::kOpen},
       .notes = {"A note " + kHostile}},
      {.id = "large",
       .title = large.title,
       .content = report::TableCard{large, report::TableCard::Shown::kBehind}}};
  page.provenance = {{"inputs", "runs/" + kHostile}, {"version", "assay 0.0.0"}};
  const core::Status written = report::write_page(page, folder / "sample.html");
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written.ok() ? 0 : 1;
}
