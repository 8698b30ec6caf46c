#include "trace/compare/timeline_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/statistics.h"
#include "trace/compare/rows.h"

namespace assay::trace {
namespace {

constexpr std::array<const char*, 10> kReadingOrder = {
    kTotalTime,        "computation_time", "exposed_comm_time", "exposed_memcpy_time",
    "idle_time",       "micro_idle_time",  "macro_idle_time",   "busy_time",
    "total_comm_time", "total_memcpy_time"};

constexpr double kMostSteps = 1e15;  // a larger number in a report is damage

void add_figures(const RankReport& rank,
                 std::string_view table_name,
                 std::vector<TimelineFigure>& figures) {
  const model::Table* table = rank.book.find(table_name);
  if (table == nullptr) return;
  const auto type = table->column("type");
  if (!type) return;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    const double step = number_at(*table, row, "step");
    const bool is_step = std::fabs(step) < kMostSteps;  // not so for NaN
    TimelineFigure figure{.rank = rank.rank,
                          .step = is_step ? static_cast<std::int64_t>(step) : 0,
                          .type = model::text(table->at(row, *type)),
                          .time_ms = number_at(*table, row, "time ms"),
                          .percent = number_at(*table, row, "percent")};
    if (std::isnan(figure.time_ms) && std::isnan(figure.percent)) continue;
    figures.push_back(std::move(figure));
  }
}

std::vector<TimelineFigure> read_figures(std::span<const RankReport> ranks,
                                         std::string_view table_name) {
  std::vector<TimelineFigure> figures;
  for (const RankReport& rank : ranks)
    add_figures(rank, table_name, figures);
  return figures;
}

std::size_t position(const std::string& type) {
  return static_cast<std::size_t>(std::find(kReadingOrder.begin(), kReadingOrder.end(), type) -
                                  kReadingOrder.begin());
}

}  // namespace

std::vector<TimelineFigure> whole_trace_figures(std::span<const RankReport> ranks) {
  return read_figures(ranks, "gpu_timeline");
}

std::vector<TimelineFigure> step_figures(std::span<const RankReport> ranks) {
  return read_figures(ranks, "gpu_timeline_steps");
}

SeriesByType mean_over_ranks(std::span<const TimelineFigure> figures) {
  std::map<std::pair<std::string, std::int64_t>, TimelineSeries> steps;
  for (const TimelineFigure& figure : figures) {
    TimelineSeries& ranks = steps[{figure.type, figure.step}];
    ranks.time_ms.push_back(figure.time_ms);
    ranks.percent.push_back(figure.percent);
  }
  SeriesByType result;
  for (const auto& [key, ranks] : steps) {
    result[key.first].time_ms.push_back(core::mean(ranks.time_ms));
    result[key.first].percent.push_back(core::mean(ranks.percent));
  }
  return result;
}

std::map<int, SeriesByType> by_rank(std::span<const TimelineFigure> figures) {
  std::map<int, SeriesByType> result;
  for (const TimelineFigure& figure : figures) {
    TimelineSeries& series = result[figure.rank][figure.type];
    series.time_ms.push_back(figure.time_ms);
    series.percent.push_back(figure.percent);
  }
  return result;
}

double whole_window_ms(std::span<const RankReport> ranks) {
  std::vector<double> totals;
  for (const TimelineFigure& figure : whole_trace_figures(ranks))
    if (figure.type == kTotalTime) totals.push_back(figure.time_ms);
  return core::mean(totals);
}

TimelinePair timeline_pair(const Sides& sides) {
  TimelinePair pair{.basis = Basis::kPerStep,
                    .baseline = step_figures(sides.baseline.ranks),
                    .test = step_figures(sides.test.ranks)};
  if (!pair.baseline.empty() && !pair.test.empty()) return pair;
  return {.basis = Basis::kWholeTrace,
          .baseline = whole_trace_figures(sides.baseline.ranks),
          .test = whole_trace_figures(sides.test.ranks)};
}

model::Better timeline_direction(const std::string& type) {
  return type == "busy_time" ? model::Better::kNeither : model::Better::kLower;
}

std::vector<std::string> reading_order(const SeriesByType& baseline, const SeriesByType& test) {
  std::set<std::string> types;
  for (const auto& [type, series] : baseline)
    types.insert(type);
  for (const auto& [type, series] : test)
    types.insert(type);
  std::vector<std::string> order(types.begin(), types.end());
  std::stable_sort(order.begin(), order.end(), [](const std::string& a, const std::string& b) {
    return position(a) < position(b);
  });
  return order;
}

}  // namespace assay::trace
