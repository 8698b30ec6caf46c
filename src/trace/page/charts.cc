// The charts of a comparison, out of the tables of its report and of its steps. A column is found
// by its name, and a chart without its columns is left out: tables may change without breaking a
// page.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "model/gpu_specs.h"
#include "trace/attribution/resolution.h"
#include "trace/compare/rows.h"
#include "trace/page/cards.h"
#include "trace/page/colors.h"

namespace assay::trace {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMebibyte = 1048576;
constexpr double kSmallestBytes = 4096;

struct Part {
  const char* type;
  const char* name;
  report::Color color;
};

constexpr std::array kParts = {
    Part{"computation_time", "computation", kComputationColor},
    Part{"exposed_comm_time", "exposed communication", kCommunicationColor},
    Part{"exposed_memcpy_time", "exposed copies", kCopyColor},
    Part{"idle_time", "idle", kIdleColor}};

// The means of each rank over the steady steps of each run, and over runs: what the answer tells.
std::map<int, SeriesByType> steady_means(const SideEvidence& side) {
  return by_rank(side.steady, Repetition::kRun);
}

std::string text_at(const model::Table& table, std::size_t row, std::string_view column) {
  const auto position = table.column(column);
  return position ? model::text(table.at(row, *position)) : std::string();
}

// Returns "NCCL_ImplSync_Cmp" of "NCCL_ImplSync_Cmp: allreduce, BFloat16" where there is such a
// table, otherwise the table of the attribution itself.
std::string evidence_card(const ComparisonEvidence& evidence,
                          const std::string& prefix,
                          const std::string& words) {
  const std::string name = words.substr(0, words.find(':'));
  const bool is_table = evidence.report.find(name) != nullptr;
  return table_card_id(prefix, is_table ? name : "Attribution");
}

using StepKey = std::pair<int, std::int64_t>;  // run and step

std::string step_name(const StepKey& key, bool repeated) {
  return repeated ? fmt::format("{}·{}", key.first, key.second) : std::to_string(key.second);
}

report::MapPanel step_panel(const SideEvidence& side,
                            const std::set<int>& ranks,
                            const std::vector<StepKey>& steps) {
  std::map<std::tuple<int, int, std::int64_t>, double> lengths;
  for (const RankStep& step : side.steps)
    lengths[{step.rank, step.run, step.step}] = step.period_ms;
  report::MapPanel panel{.title = ""};
  for (const int rank : ranks) {
    for (const auto& [run, step] : steps) {
      const auto found = lengths.find({rank, run, step});
      panel.values.push_back(found == lengths.end() ? kNone : found->second);
    }
  }
  return panel;
}

// Collects the points of each setting and collective from a table of collectives.
class BandwidthCurves {
 public:
  BandwidthCurves(std::string baseline, report::CurveFigure& figure)
      : baseline_(std::move(baseline)), figure_(figure) {}

  // The size of an exchange is that of all ranks together.
  void add(const model::Table& table, std::string_view size_column, bool is_exchange) {
    for (const char* column : {"Collective name", "bus bw (GB/s)_mean", "source"})
      if (!table.column(column)) return;
    if (!table.column(size_column)) return;
    std::map<std::tuple<std::string, std::string, double>, Sums> points;
    for (std::size_t row = 0; row < table.row_count(); ++row)
      collect(table, row, size_column, is_exchange, points);
    for (const auto& [key, sums] : points) {
      const auto& [source, collective, size] = key;
      curve(source, collective)
          .points.push_back({.x = size,
                             .y = core::mean(sums.means),
                             .low = sums.low,
                             .high = sums.high,
                             .note = sums.note});
    }
  }

 private:
  struct Sums {
    std::vector<double> means;
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    std::string note;
  };

  static void collect(const model::Table& table,
                      std::size_t row,
                      std::string_view size_column,
                      bool is_exchange,
                      std::map<std::tuple<std::string, std::string, double>, Sums>& points) {
    const double mean = number_at(table, row, "bus bw (GB/s)_mean");
    const double ranks = is_exchange ? number_at(table, row, "Group size") : 1;
    const double size = number_at(table, row, size_column) * kMebibyte / ranks;
    // The time of a small message is latency; its bandwidth would only stretch the axes.
    if (!(mean > 0) || !(size >= kSmallestBytes)) return;
    Sums& sums =
        points[{text_at(table, row, "source"), text_at(table, row, "Collective name"), size}];
    sums.means.push_back(mean);
    const double low = number_at(table, row, "bus bw (GB/s)_min");
    const double high = number_at(table, row, "bus bw (GB/s)_max");
    sums.low = std::min(sums.low, std::isnan(low) ? mean : low);
    sums.high = std::max(sums.high, std::isnan(high) ? mean : high);
    const std::string channels = text_at(table, row, "channels");
    if (!channels.empty()) sums.note = channels + " channels";
  }

  // A collective has one colour on both sides.
  report::Curve& curve(const std::string& source, const std::string& collective) {
    const std::string name = source + ": " + collective;
    for (report::Curve& one : figure_.curves)
      if (one.name == name) return one;
    const auto color = colors_.emplace(collective, colors_.size()).first->second;
    const bool is_reference = source == baseline_;
    figure_.curves.push_back(
        {.name = name,
         .color = report::category_color(color),
         .look = is_reference ? report::Curve::Look::kReference : report::Curve::Look::kMeasured,
         .points = {}});
    return figure_.curves.back();
  }

  std::string baseline_;
  std::map<std::string, std::size_t> colors_;
  report::CurveFigure& figure_;
};

// Draws what the links carry in one direction behind the curves.
void add_link_limit(report::CurveFigure& figure, const ComparisonEvidence& evidence) {
  std::string device = evidence.baseline.glimpse.gpu_name;
  if (device.empty()) device = evidence.test.glimpse.gpu_name;
  const model::GpuSpecs* gpu = model::find_gpu_board(device);
  if (gpu == nullptr || !(gpu->board.link_gbps > 0) || figure.curves.empty()) return;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const report::Curve& curve : figure.curves) {
    for (const report::CurvePoint& point : curve.points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
    }
  }
  constexpr double kBeyond = 1000;  // so that zooming out still shows the line
  const double limit = gpu->board.link_gbps;
  figure.curves.push_back(
      {.name = fmt::format("links of {}: {:g} GB/s", gpu->name, limit),
       .color = kIdleColor,
       .look = report::Curve::Look::kLimit,
       .points = {{low / kBeyond, limit, kNone, kNone}, {high * kBeyond, limit, kNone, kNone}}});
}

// Parts that round to nothing beside the largest have no bar that can be seen.
void leave_out_nothing(report::WaterfallChart& chart) {
  double largest = std::fabs(chart.to.value - chart.from.value);
  for (const report::WaterfallPart& part : chart.parts)
    largest = std::max(largest, std::fabs(part.value));
  std::erase_if(chart.parts, [largest](const report::WaterfallPart& part) {
    return attribution::rounds_to_nothing(part.value, largest);
  });
}

}  // namespace

std::optional<report::WaterfallChart> attribution_chart(const ComparisonEvidence& evidence,
                                                        const std::string& prefix) {
  const model::Table* table = evidence.report.find("Attribution");
  if (table == nullptr || table->columns.size() < 5 || !table->column("Part") ||
      !table->column("Row") || !table->column("Change (ms)"))
    return std::nullopt;
  report::WaterfallChart chart{.axis = "ms per step",
                               .unit = "ms",
                               .from = {.name = evidence.baseline.label, .value = kNone},
                               .to = {.name = evidence.test.label, .value = kNone},
                               .parts = {}};
  const std::string from_column = evidence.baseline.label + " (ms)";
  const std::string to_column = evidence.test.label + " (ms)";
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    const std::string kind = text_at(*table, row, "Row");
    if (kind == "total") {
      chart.from.value = number_at(*table, row, from_column);
      chart.to.value = number_at(*table, row, to_column);
    }
    const double change = number_at(*table, row, "Change (ms)");
    if (kind != "part" || std::isnan(change) || change == 0) continue;
    chart.parts.push_back(
        {.name = text_at(*table, row, "Part"),
         .value = change,
         .note = text_at(*table, row, "In words"),
         .card = evidence_card(evidence, prefix, text_at(*table, row, "Evidence"))});
  }
  if (std::isnan(chart.from.value) || std::isnan(chart.to.value)) return std::nullopt;
  leave_out_nothing(chart);
  return chart;
}

std::optional<report::CompositionChart> composition_chart(const ComparisonEvidence& evidence) {
  report::CompositionChart chart{
      .axis = "ms per steady step, mean over runs", .unit = "ms", .parts = {}, .bars = {}};
  for (const Part& part : kParts)
    chart.parts.push_back({part.name, part.color});
  for (const SideEvidence* side : {&evidence.baseline, &evidence.test}) {
    for (const auto& [rank, types] : steady_means(*side)) {
      report::CompositionBar bar{.name = fmt::format("{}, rank {}", side->label, rank),
                                 .values = {}};
      for (const Part& part : kParts)
        bar.values.push_back(mean_ms(types, part.type));
      chart.bars.push_back(std::move(bar));
    }
  }
  if (chart.bars.empty()) return std::nullopt;
  return chart;
}

std::optional<report::CompositionChart> settings_chart(
    std::span<const ComparisonEvidence> comparisons) {
  if (comparisons.empty()) return std::nullopt;
  report::CompositionChart chart{.axis = "ms per steady step, mean over ranks and runs",
                                 .unit = "ms",
                                 .parts = {},
                                 .bars = {}};
  for (const Part& part : kParts)
    chart.parts.push_back({part.name, part.color});
  std::vector<const SideEvidence*> sides = {&comparisons.front().baseline};
  for (const ComparisonEvidence& comparison : comparisons)
    sides.push_back(&comparison.test);
  for (const SideEvidence* side : sides) {
    report::CompositionBar bar{.name = side->label, .values = {}};
    const auto ranks = steady_means(*side);
    for (const Part& part : kParts) {
      std::vector<double> values;
      for (const auto& [rank, types] : ranks)
        values.push_back(mean_ms(types, part.type));
      bar.values.push_back(values.empty() ? kNone : core::mean(values));
    }
    chart.bars.push_back(std::move(bar));
  }
  return chart;
}

std::optional<report::MapChart> step_map(const SideEvidence& side) {
  std::set<int> ranks;
  std::set<StepKey> keys;
  bool repeated = false;
  for (const RankStep& step : side.steps) {
    ranks.insert(step.rank);
    keys.emplace(step.run, step.step);
    repeated = repeated || step.run != 0;
  }
  if (keys.empty()) return std::nullopt;
  const std::vector<StepKey> steps(keys.begin(), keys.end());
  report::MapChart chart{.x_title = repeated ? "run·step" : "step",
                         .y_title = "rank",
                         .unit = "ms",
                         .columns = {},
                         .rows = {},
                         .panels = {step_panel(side, ranks, steps)}};
  for (const StepKey& step : steps)
    chart.columns.push_back(step_name(step, repeated));
  for (const int rank : ranks)
    chart.rows.push_back(std::to_string(rank));
  return chart;
}

std::optional<report::CurveFigure> bandwidth_curves(const ComparisonEvidence& evidence) {
  report::CurveFigure figure{
      .title = {},
      .subtitle = {},
      .x = {.title = "message size", .ticks = {}, .values = report::Axis::Values::kBytes},
      .y = {.title = "bus bandwidth (GB/s)", .ticks = {}},
      .curves = {}};
  BandwidthCurves curves(evidence.baseline.label, figure);
  if (const model::Table* table = evidence.report.find("NCCL_ImplSync_Raw"))
    curves.add(*table, "Full msg size (MB)", false);
  if (const model::Table* table = evidence.report.find("NCCL_nccl_summary_all2allv_Raw"))
    curves.add(*table, "total data communicated (MB)_mean", true);
  if (figure.curves.empty()) return std::nullopt;
  std::stable_sort(figure.curves.begin(), figure.curves.end(),
                   [](const report::Curve& a, const report::Curve& b) {
                     return a.color.number() < b.color.number();
                   });
  add_link_limit(figure, evidence);
  return figure;
}

}  // namespace assay::trace
