#include "plan/search/search_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "plan/search/search_answer.h"
#include "plan/search/search_report.h"
#include "report/heatmap.h"

namespace assay::plan {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostWorkers = 4;  // with a curve each

constexpr std::array<report::Color, kMostWorkers> kWorkerColors = {
    report::color_of(0xe69f00), report::color_of(0x009e73), report::color_of(0xcc79a7),
    report::color_of(0x777777)};

enum class Bars : std::uint8_t { kNone, kRate };

report::CurvePoint point_of(const Candidate& one, Bars bars) {
  const Interval ends = one.rate_bar.of(one.cluster_tokens_per_s_per_gpu);
  const bool known = bars == Bars::kRate && one.rate_bar.is_known();
  const std::string speed = bar_text({.low = 1 / one.bars.tpot.high, .high = 1 / one.bars.tpot.low},
                                     one.tokens_per_s_per_user);
  return {.x = one.tokens_per_s_per_user,
          .y = one.cluster_tokens_per_s_per_gpu,
          .low = known ? ends.low : kNoValue,
          .high = known ? ends.high : kNoValue,
          .note = fmt::format("{}{}; TTFT {}, TPOT {}", deployment_text(one),
                              speed.empty() ? "" : "; tokens/s per user " + speed,
                              with_bar(one.ttft_ms, "ms", {}),
                              with_bar(one.tpot_ms, "ms", one.bars.tpot))};
}

// The kinds of copies that are picked or on the frontier, in this order: a worker, or pools by the
// worker that decodes.
std::vector<Candidate> drawn_kinds(const std::vector<Candidate>& best, const Picks& picks) {
  std::vector<Candidate> kinds;
  const auto add = [&](const Candidate& one) {
    const bool is_new = std::none_of(kinds.begin(), kinds.end(),
                                     [&](const Candidate& other) { return one.is_like(other); });
    if (is_new && kinds.size() < kMostWorkers) kinds.push_back(one);
  };
  if (!picks.best.empty()) add(picks.best.front());
  for (const Candidate& one : best)
    add(one);
  for (const Candidate& one : picks.best)
    add(one);
  return kinds;
}

// Copies of several engines have equal names without it.
std::string engine_of(const SearchResult& result, const Candidate& one) {
  return has_several_engines(result) ? fmt::format("{}: ", name_of(one.engine)) : "";
}

// What no other load of this kind beats.
report::Curve curve_of_kind(const SearchResult& result, const Candidate& kind, std::size_t place) {
  std::vector<Candidate> own;
  std::copy_if(result.candidates.begin(), result.candidates.end(), std::back_inserter(own),
               [&](const Candidate& one) { return one.is_like(kind); });
  const char* mode = kind.is_split() ? "disagg, decoding on " : "";
  report::Curve curve{.name = engine_of(result, kind) + mode + kind.worker.text(),
                      .color = kWorkerColors.at(place),
                      .points = {}};
  for (const Candidate& one : frontier(own))
    curve.points.push_back(point_of(one, Bars::kNone));
  std::reverse(curve.points.begin(), curve.points.end());
  return curve;
}

report::Axis axis_of(std::string title, double low, double high) {
  report::Axis axis{.title = std::move(title), .low = low, .high = high, .ticks = {}};
  for (const double tick : report::logarithmic_ticks(low, high))
    axis.ticks.push_back({tick, fmt::format("{:g}", tick)});
  return axis;
}

void add_axes(report::CurveFigure& figure) {
  double left = INFINITY;
  double right = 0;
  double low = INFINITY;
  double high = 0;
  for (const report::Curve& curve : figure.curves) {
    for (const report::CurvePoint& point : curve.points) {
      left = std::min(left, point.x);
      right = std::max(right, point.x);
      low = std::fmin(std::fmin(low, point.y), point.low);
      high = std::fmax(std::fmax(high, point.y), point.high);
    }
  }
  figure.x = axis_of("tokens/s per user", left / 1.1, right * 1.1);
  figure.y = axis_of("tokens/s per GPU", low / 1.2, high * 1.2);
}

// Limits from the smallest that something keeps to the largest that tells apart, in steps that
// double, with the one that is asked for, if there is one.
std::vector<double> limits_between(double low, double high, double asked) {
  std::set<double> limits;
  if (std::isfinite(asked)) limits.insert(asked);
  constexpr double kSteps[] = {1, 1.5, 2, 3, 5, 7};
  std::vector<double> round;
  for (double power = 1e-2; power < 1e8; power *= 10) {
    for (const double step : kSteps)
      round.push_back(step * power);
  }
  constexpr std::size_t kMost = 11;
  std::vector<double> inside;
  for (std::size_t i = 0; i < round.size(); ++i) {
    const bool is_first = i + 1 < round.size() && round[i] < low && round[i + 1] >= low;
    if (is_first || (round[i] >= low && (i == 0 || round[i - 1] < high)))
      inside.push_back(round[i]);
  }
  const std::size_t stride = (inside.size() + kMost - 1) / kMost;
  for (std::size_t i = 0; i < inside.size(); i += std::max<std::size_t>(1, stride))
    limits.insert(inside[i]);
  if (!inside.empty()) limits.insert(inside.back());
  return {limits.begin(), limits.end()};
}

struct Latencies {
  double ttft_ms = 0;
  double tpot_ms = 0;
};

Latencies kept_latencies(const Candidate& one, Kept kept) {
  if (kept == Kept::kBySearch) return {one.judged_ttft_ms(), one.judged_tpot_ms()};
  if (kept == Kept::kByPrediction) return {one.ttft_ms, one.tpot_ms};
  // The error bar of TTFT is of benchmarks, not of the long run.
  return {one.ttft_ms, one.bars.tpot.of(one.tpot_ms).high};
}

const Candidate* best_within(const SearchResult& result, const Latencies& limits, Kept kept) {
  const Candidate* best = nullptr;
  for (const Candidate& one : result.candidates) {
    const Latencies has = kept_latencies(one, kept);
    if (has.ttft_ms > limits.ttft_ms || has.tpot_ms > limits.tpot_ms) continue;
    if (best == nullptr || one.cluster_tokens_per_s_per_gpu > best->cluster_tokens_per_s_per_gpu)
      best = &one;
  }
  return best;
}

std::vector<std::string> texts_of(const std::vector<double>& limits) {
  std::vector<std::string> texts;
  for (const double limit : limits)
    texts.push_back(fmt::format("{:g}", limit));
  return texts;
}

}  // namespace

report::CurveFigure frontier_figure(const SearchResult& result,
                                    const Picks& picks,
                                    const std::string& subject) {
  const std::vector<Candidate> best = frontier(result.candidates);
  report::CurveFigure figure;
  figure.title = "Throughput and speed of deployments";
  figure.key = report::CurveFigure::Key::kBottomLeft;
  figure.subtitle = subject + "; band: 80 % interval of the frontier";
  report::Curve all{.name = "frontier", .color = report::color_of(0x56b4e9), .points = {}};
  for (const Candidate& one : best)
    all.points.push_back(point_of(one, Bars::kRate));
  std::reverse(all.points.begin(), all.points.end());
  figure.curves.push_back(std::move(all));
  const std::vector<Candidate> kinds = drawn_kinds(best, picks);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    figure.curves.push_back(curve_of_kind(result, kinds[i], i));
  if (!picks.best.empty()) {
    figure.curves.push_back({.name = picks.meet ? "to run" : "closest",
                             .color = report::color_of(0xd55e00),
                             .look = report::Curve::Look::kReference,
                             .points = {point_of(picks.best.front(), Bars::kRate)}});
  }
  add_axes(figure);
  return figure;
}

report::MapChart limits_map(const SearchResult& result, const SearchRequest& request, Kept kept) {
  Latencies low = {INFINITY, INFINITY};
  Latencies high = {0, 0};
  for (const Candidate& one : frontier(result.candidates)) {
    const Latencies has = kept_latencies(one, kept);
    low = {std::min(low.ttft_ms, has.ttft_ms), std::min(low.tpot_ms, has.tpot_ms)};
    high = {std::max(high.ttft_ms, has.ttft_ms), std::max(high.tpot_ms, has.tpot_ms)};
  }
  const std::vector<double> tpots =
      limits_between(low.tpot_ms, high.tpot_ms, request.tpot_limit_ms);
  std::vector<double> ttfts = limits_between(low.ttft_ms, high.ttft_ms, request.ttft_limit_ms);
  std::reverse(ttfts.begin(), ttfts.end());
  report::MapChart map{.scale = report::MapChart::Scale::kMagnitude,
                       .x_title = "TPOT limit (ms)",
                       .y_title = "TTFT limit (ms)",
                       .unit = "tokens/s per GPU",
                       .columns = texts_of(tpots),
                       .rows = texts_of(ttfts),
                       .panels = {}};
  report::MapPanel panel;
  for (const double ttft : ttfts) {
    for (const double tpot : tpots) {
      const Candidate* best = best_within(result, {ttft, tpot}, kept);
      panel.values.push_back(best == nullptr ? kNoValue : best->cluster_tokens_per_s_per_gpu);
      panel.texts.push_back(
          best == nullptr ? "" : fmt::format("{:.0f}", best->cluster_tokens_per_s_per_gpu));
      panel.notes.push_back(best == nullptr ? "nothing keeps both"
                                            : point_of(*best, Bars::kNone).note);
    }
  }
  map.panels.push_back(std::move(panel));
  return map;
}

report::CompositionChart bounds_chart(const SearchResult& result, const Picks& picks) {
  report::CompositionChart chart{.axis = "ms of a mean step",
                                 .unit = "ms",
                                 .parts = {{"attention", report::category_color(1)},
                                           {"products", report::category_color(4)},
                                           {"experts", report::category_color(2)},
                                           {"communication", report::category_color(0)},
                                           {"other", report::color_of(0xbbbbbb)}},
                                 .bars = {}};
  const auto add = [&](const Candidate& one, const char* what) {
    const StepParts& parts = one.parts;
    const std::string name =
        fmt::format("{}{} · {}{}", engine_of(result, one), one.text(), one.concurrency, what);
    const bool is_there =
        std::any_of(chart.bars.begin(), chart.bars.end(),
                    [&](const report::CompositionBar& bar) { return bar.name == name; });
    if (is_there || parts.all_ms() <= 0) return;
    chart.bars.push_back({.name = name,
                          .values = {parts.attention_ms, parts.products_ms, parts.experts_ms,
                                     parts.communication_ms, parts.other_ms}});
  };
  for (const Candidate& one : picks.best)
    add(one, "");
  const std::vector<Candidate> best = frontier(result.candidates);
  add(best.front(), " (fastest)");
  add(best.back(), " (most tokens)");
  return chart;
}

}  // namespace assay::plan
