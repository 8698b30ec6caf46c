// The cards of a page that show all settings together.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/counted.h"
#include "trace/compare/stragglers.h"
#include "trace/page/cards.h"
#include "trace/page/colors.h"

namespace assay::trace {
namespace {

// A pair's place in the map is looked at from either setting.
struct SeenPair {
  double percent = kNaN;  // by which the row is faster than the column
  std::string text = {};
  std::string note = {};
};

SeenPair seen(const SettingPairs& pairs, const SettingPair& pair, bool from_first) {
  const Change& change = pair.change;
  const double own = from_first ? change.test : change.baseline;
  const double other = from_first ? change.baseline : change.test;
  const std::string corrected =
      std::isnan(change.p_corrected) ? "" : fmt::format(", p {:.2g}", change.p_corrected);
  SeenPair result{.percent = percent_better(other, own, model::Better::kLower),
                  .note = fmt::format("{} {:.4g} ms, {} {:.4g} ms",
                                      pairs.labels[from_first ? pair.first : pair.second], own,
                                      pairs.labels[from_first ? pair.second : pair.first], other)};
  if (pair.slow != model::SlowSteps::kNone) {
    result.text = "!";
    const Change& all = pair.all_steps;
    result.note +=
        fmt::format("\nbut {:.4g} against {:.4g} ms over all profiled steps",
                    from_first ? all.test : all.baseline, from_first ? all.baseline : all.test);
    result.percent = 0;
    return result;
  }
  switch (change.verdict) {
    case Verdict::kBetter:
    case Verdict::kWorse:
      result.note += "\ndiffers for certain" + corrected;
      return result;
    case Verdict::kDifferent:
      result.note += "\ndiffers in these runs" + corrected;
      return result;
    case Verdict::kSame:
      result.text = "=";
      result.note +=
          fmt::format("\nsame within {:g} %{}", pairs.criterion.tolerance_percent, corrected);
      break;
    default:
      result.text = "?";
      result.note += "\nunclear" + corrected;
      break;
  }
  // What is no difference has no colour of one.
  result.percent = 0;
  return result;
}

std::string size_text(double bytes) {
  constexpr double kMebibyte = 1048576;
  return bytes < kMebibyte ? fmt::format("{:.3g} KiB", bytes / 1024)
                           : fmt::format("{:.4g} MiB", bytes / kMebibyte);
}

std::string point_words(const BandwidthPoint& point) {
  const std::string channels =
      point.channels.empty() ? "" : fmt::format(", {} channels", point.channels);
  return fmt::format("{} {}, {}{}", point.collective, point.dtype,
                     core::counted(point.ranks, "rank"), channels);
}

// NCCL's own curves, as far as the settings' messages reach.
void add_nccl(report::CurveFigure& figure,
              std::span<const BandwidthPoint> points,
              std::span<const NcclCurve> curves,
              std::size_t color) {
  constexpr double kAround = 8;
  std::map<const NcclCurve*, std::pair<double, double>> used;
  for (const BandwidthPoint& point : points) {
    const NcclCurve* curve = curve_for(curves, point);
    if (curve == nullptr) continue;
    auto& [low, high] = used.try_emplace(curve, point.bytes, point.bytes).first->second;
    low = std::min(low, point.bytes);
    high = std::max(high, point.bytes);
  }
  for (const NcclCurve& curve : curves) {
    const auto found = used.find(&curve);
    if (found == used.end()) continue;
    const auto [low, high] = found->second;
    report::Curve line{
        .name = fmt::format("NCCL alone: {}, {} GPUs", table_name_of(curve.function), curve.ranks),
        .color = report::category_color(color++),
        .points = {}};
    for (const NcclCurve::Point& point : curve.points)
      if (point.bytes >= low / kAround && point.bytes <= high * kAround)
        line.points.push_back({.x = point.bytes, .y = point.bus_gbps, .low = kNaN, .high = kNaN});
    if (!line.points.empty()) figure.curves.push_back(std::move(line));
  }
}

void add_links(report::CurveFigure& figure,
               const LinkLimit& link,
               std::span<const BandwidthPoint> points) {
  if (!(link.gbps > 0)) return;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const BandwidthPoint& point : points) {
    low = std::min(low, point.bytes);
    high = std::max(high, point.bytes);
  }
  constexpr double kBeyond = 1000;  // so that zooming out still shows the line
  figure.curves.push_back({.name = fmt::format("links of {}: {:g} GB/s", link.gpu, link.gbps),
                           .color = kIdleColor,
                           .look = report::Curve::Look::kLimit,
                           .points = {{low / kBeyond, link.gbps, kNaN, kNaN},
                                      {high * kBeyond, link.gbps, kNaN, kNaN}}});
}

std::string all_bandwidth_title(std::span<const BandwidthPoint> points,
                                std::span<const SettingFigures> settings) {
  const auto best = std::max_element(
      points.begin(), points.end(),
      [](const BandwidthPoint& a, const BandwidthPoint& b) { return a.bus_gbps < b.bus_gbps; });
  if (best == points.end()) return {};
  return fmt::format("Of {}, {} reaches most bus bandwidth: {:.3g} GB/s, in {}",
                     core::counted(settings.size(), "setting"), settings[best->setting].label,
                     best->bus_gbps, best->collective);
}

}  // namespace

std::optional<report::MapChart> pairs_map(const SettingPairs& pairs) {
  const std::size_t count = pairs.order.size();
  if (count < 3) return std::nullopt;
  report::MapChart chart{.scale = report::MapChart::Scale::kGain,
                         .x_title = "than the setting with this number",
                         .y_title = "",
                         .unit = "%",
                         .columns = {},
                         .rows = {},
                         .panels = {{.title = "",
                                     .values = std::vector<double>(count * count, kNaN),
                                     .texts = std::vector<std::string>(count * count),
                                     .notes = std::vector<std::string>(count * count)}}};
  std::vector<std::size_t> place(pairs.labels.size());
  for (std::size_t i = 0; i < count; ++i) {
    place[pairs.order[i]] = i;
    chart.rows.push_back(fmt::format("{}: {}", i + 1, pairs.labels[pairs.order[i]]));
    chart.columns.push_back(std::to_string(i + 1));
  }
  report::MapPanel& panel = chart.panels.front();
  for (const SettingPair& pair : pairs.pairs) {
    for (const bool from_first : {true, false}) {
      const std::size_t row = place[from_first ? pair.first : pair.second];
      const std::size_t column = place[from_first ? pair.second : pair.first];
      SeenPair one = seen(pairs, pair, from_first);
      panel.values[row * count + column] = one.percent;
      panel.texts[row * count + column] = std::move(one.text);
      panel.notes[row * count + column] = std::move(one.note);
    }
  }
  return chart;
}

std::optional<report::CurveFigure> bandwidth_of_all(std::span<const SettingFigures> settings,
                                                    std::span<const NcclCurve> curves) {
  const std::vector<BandwidthPoint> points = bandwidth_points(settings);
  if (points.empty()) return std::nullopt;
  report::CurveFigure figure{
      .title = {},
      .subtitle = {},
      .x = {.title = "message size", .ticks = {}, .values = report::Axis::Values::kBytes},
      .y = {.title = "bus bandwidth (GB/s)", .ticks = {}},
      .curves = {}};
  // Curves of one setting have one name and one colour; their points tell the collective.
  for (std::size_t i = 0; i < settings.size(); ++i) {
    std::map<std::string, std::vector<report::CurvePoint>> collectives;
    for (const BandwidthPoint& point : points)
      if (point.setting == i)
        collectives[point.collective].push_back({.x = point.bytes,
                                                 .y = point.bus_gbps,
                                                 .low = point.low_gbps,
                                                 .high = point.high_gbps,
                                                 .note = point_words(point)});
    for (auto& [name, own] : collectives)
      figure.curves.push_back(
          {.name = settings[i].label,
           .color = report::category_color(i),
           .look = i == 0 ? report::Curve::Look::kReference : report::Curve::Look::kMeasured,
           .points = std::move(own)});
  }
  add_nccl(figure, points, curves, settings.size());
  add_links(figure, link_limit(settings), points);
  return figure;
}

std::optional<report::CurveFigure> bandwidth_by_channels(std::span<const SettingFigures> settings) {
  const std::vector<BandwidthPoint> points = bandwidth_points(settings);
  report::CurveFigure figure{.title = {},
                             .subtitle = {},
                             .x = {.title = "channels", .ticks = {}},
                             .y = {.title = "bus bandwidth (GB/s)", .ticks = {}},
                             .curves = {}};
  std::map<std::string, std::vector<report::CurvePoint>> messages;
  for (const BandwidthPoint& point : points) {
    double channels = 0;
    const char* end = point.channels.data() + point.channels.size();
    const auto read = std::from_chars(point.channels.data(), end, channels);
    if (read.ec != std::errc() || read.ptr != end || !(channels > 0)) continue;
    messages[point.collective + ", " + size_text(point.bytes)].push_back(
        {.x = channels,
         .y = point.bus_gbps,
         .low = point.low_gbps,
         .high = point.high_gbps,
         .note = settings[point.setting].label});
  }
  // Settings with as many channels may differ in their threads, so that no line joins the dots.
  std::size_t color = 0;
  for (const auto& [name, own] : messages) {
    for (const report::CurvePoint& point : own)
      figure.curves.push_back(
          {.name = name, .color = report::category_color(color), .points = {point}});
    ++color;
  }
  if (figure.curves.empty()) return std::nullopt;
  return figure;
}

std::optional<report::MapChart> straggler_map(std::span<const SettingFigures> settings) {
  const std::vector<RankArrivals> arrivals = rank_arrivals(settings);
  if (arrivals.empty()) return std::nullopt;
  std::set<int> ranks;
  for (const RankArrivals& rank : arrivals)
    ranks.insert(rank.rank);
  report::MapChart chart{.x_title = "rank",
                         .y_title = "",
                         .unit = "%",
                         .columns = {},
                         .rows = {},
                         .panels = {{.title = ""}}};
  for (const int rank : ranks)
    chart.columns.push_back(std::to_string(rank));
  report::MapPanel& panel = chart.panels.front();
  panel.values.assign(settings.size() * ranks.size(), kNaN);
  panel.notes.resize(panel.values.size());
  for (const SettingFigures& setting : settings)
    chart.rows.push_back(setting.label);
  for (const RankArrivals& rank : arrivals) {
    const auto column =
        static_cast<std::size_t>(std::distance(ranks.begin(), ranks.find(rank.rank)));
    const std::size_t place = rank.setting * ranks.size() + column;
    panel.values[place] = rank.last_percent();
    panel.notes[place] = fmt::format("last in {} of {}\nmost often in {} of {} halves of runs\n{}",
                                     rank.last, core::counted(rank.collectives, "collective"),
                                     rank.halves_led, rank.halves, why_last(rank));
  }
  const bool nobody = std::all_of(arrivals.begin(), arrivals.end(),
                                  [](const RankArrivals& rank) { return rank.last == 0; });
  if (nobody) return std::nullopt;
  return chart;
}

std::vector<report::PageCard> all_runs_cards(std::span<const SettingFigures> settings,
                                             std::span<const NcclCurve> curves,
                                             const Criterion& criterion) {
  std::vector<report::PageCard> cards;
  const SettingPairs pairs = compare_pairs(settings, criterion);
  if (auto map = pairs_map(pairs)) {
    cards.push_back(
        {.id = "pairs",
         .title = pairs_in_words(pairs),
         .content = std::move(*map),
         .notes = {"By how many percent each row is faster than each column in its steady steps; "
                   "=: the same within the tolerance; ?: unclear; !: the mean of all profiled "
                   "steps contradicts them. Corrected for the number of all "
                   "pairs (Holm), so a ranking may be certain where this is not."}});
    if (const char* words = order_in_words(pairs.noise); *words != 0)
      cards.back().notes.emplace_back(words);
  }
  if (settings.size() < 2) return cards;
  if (auto figure = bandwidth_of_all(settings, curves)) {
    std::string title = all_bandwidth_title(bandwidth_points(settings), settings);
    const model::Table table = bandwidth_table(settings, curves);
    cards.push_back({.id = "bandwidth-all",
                     .title = std::move(title),
                     .content = std::move(*figure),
                     .notes = {"Dots are means, bars the range of all instances. Messages below 4 "
                               "KiB, whose time is latency, are left out."}});
    cards.back().notes.insert(cards.back().notes.end(), table.notes.begin(), table.notes.end());
  }
  if (auto figure = bandwidth_by_channels(settings)) {
    cards.push_back({.id = "bandwidth-channels",
                     .title = "Bus bandwidth by the channels that NCCL took",
                     .content = std::move(*figure),
                     .notes = {"Each dot is a setting, which it names where it is pointed at and "
                               "in the table of values: its "
                               "mean, and the range of all instances."}});
  }
  if (auto map = straggler_map(settings)) {
    cards.push_back({.id = "stragglers",
                     .title = "How often each rank comes last to collectives (%)",
                     .content = std::move(*map),
                     .notes = stragglers_table(settings).notes});
  }
  return cards;
}

}  // namespace assay::trace
