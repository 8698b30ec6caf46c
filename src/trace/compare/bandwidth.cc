#include "trace/compare/bandwidth.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"
#include "model/gpu_specs.h"
#include "trace/compare/rows.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::cell_of;
using Settings = std::span<const SettingFigures>;

constexpr double kBytesPerMebibyte = 1048576;
constexpr double kSmallestBytes = 4096;
// More series than this cannot be told apart in a workbook's chart.
constexpr std::size_t kMostSeries = 8;

using MessageKey = std::tuple<std::string, double, std::string, int>;  // collective, bytes, dtype

MessageKey message_of(const BandwidthPoint& point) {
  return {point.collective, point.bytes, point.dtype, point.ranks};
}

std::string text_in(const model::Table& table, std::size_t row, std::string_view column) {
  const auto position = table.column(column);
  return position ? model::text(table.at(row, *position)) : std::string();
}

// Gathers the rows of a setting, whose runs have rows of their own.
class Gathered {
 public:
  void add(std::size_t setting, const model::Table& table, bool is_exchange) {
    for (std::size_t row = 0; row < table.row_count(); ++row)
      add_row(setting, table, row, is_exchange);
  }

  [[nodiscard]] std::vector<BandwidthPoint> points() const {
    std::vector<BandwidthPoint> result;
    for (const auto& [key, sum] : sums_) {
      BandwidthPoint point = sum.point;
      point.bus_gbps = sum.weighted / sum.weights;
      point.instances = std::llround(sum.weights);
      const std::vector<std::string> channels(sum.channels.begin(), sum.channels.end());
      point.channels = core::join(channels, ", ");
      result.push_back(std::move(point));
    }
    return result;
  }

 private:
  struct Sum {
    BandwidthPoint point;
    double weighted = 0;
    double weights = 0;
    std::set<std::string> channels = {};
  };

  void add_row(std::size_t setting, const model::Table& table, std::size_t row, bool is_exchange) {
    const double mean = number_at(table, row, "bus bw (GB/s)_mean");
    const double ranks = number_at(table, row, "Group size");
    // An exchange tells what all ranks send together.
    const double bytes =
        kBytesPerMebibyte *
        (is_exchange ? number_at(table, row, "total data communicated (MB)_mean") / ranks
                     : number_at(table, row, "Full msg size (MB)"));
    if (!(mean > 0) || !(bytes >= kSmallestBytes) || !(ranks >= 1)) return;
    BandwidthPoint point{.setting = setting,
                         .collective = text_in(table, row, "Collective name"),
                         .dtype = text_in(table, row, "dtype"),
                         .ranks = static_cast<int>(ranks),
                         .bytes = std::round(bytes),
                         .channels = {},
                         .low_gbps = std::numeric_limits<double>::infinity()};
    Sum& sum = sums_.try_emplace({message_of(point), setting}, Sum{.point = point}).first->second;
    const double count = number_at(table, row, "count");
    const double weight = count > 0 ? count : 1;
    sum.weighted += weight * mean;
    sum.weights += weight;
    const double low = number_at(table, row, "bus bw (GB/s)_min");
    const double high = number_at(table, row, "bus bw (GB/s)_max");
    sum.point.low_gbps = std::min(sum.point.low_gbps, std::isnan(low) ? mean : low);
    sum.point.high_gbps = std::max(sum.point.high_gbps, std::isnan(high) ? mean : high);
    if (const std::string channels = text_in(table, row, "channels"); !channels.empty())
      sum.channels.insert(channels);
  }

  std::map<std::pair<MessageKey, std::size_t>, Sum> sums_;
};

std::string size_words(double bytes) {
  return bytes < kBytesPerMebibyte ? fmt::format("{:.3g} KiB", bytes / 1024)
                                   : fmt::format("{:.4g} MiB", bytes / kBytesPerMebibyte);
}

std::string message_words(const BandwidthPoint& point) {
  return fmt::format("{} {} {}", point.collective, point.dtype, size_words(point.bytes));
}

// A number where all messages have as many.
Cell channels_cell(const std::string& channels) {
  std::int64_t number = 0;
  const char* end = channels.data() + channels.size();
  const auto read = std::from_chars(channels.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? Cell(number) : Cell(channels);
}

double alone_gbps(std::span<const NcclCurve> curves, const BandwidthPoint& point) {
  const NcclCurve* curve = curve_for(curves, point);
  return curve == nullptr ? kNaN : bus_gbps_at(*curve, point.bytes);
}

// Draws bandwidths over the values of the column `x`, of as many series as can be told apart.
void add_chart(model::Table& table,
               const char* x,
               const char* x_axis,
               std::span<const std::string> series) {
  table.style.opens_with_text = true;
  table.style.chart = {.title = table.title,
                       .axis = "bus bandwidth (GB/s)",
                       .bars = model::Chart::Bars::kScatter,
                       .columns = {x},
                       .x_axis = x_axis};
  for (const std::string& name : series.first(std::min(series.size(), kMostSeries)))
    table.style.chart->columns.push_back(name + " (GB/s)");
}

// Says what stands behind the figures, and what is missing.
std::vector<std::string> notes_of(Settings settings,
                                  std::span<const NcclCurve> curves,
                                  std::span<const BandwidthPoint> points) {
  std::vector<std::string> notes = {
      "Sizes are those of a rank's largest buffer. A collective that shares the GPU with "
      "computation, or waits for a rank, reaches less than alone."};
  const LinkLimit link = link_limit(settings);
  if (link.gbps > 0)
    notes.push_back(fmt::format("Links of {}: {:g} GB/s in one direction ({}).", link.gpu,
                                link.gbps, link.source));
  else
    notes.emplace_back(
        "What the GPU's links carry is not known: no trace names a GPU of which it "
        "is.");
  std::set<std::string> sources;
  for (const BandwidthPoint& point : points)
    if (const NcclCurve* curve = curve_for(curves, point))
      sources.insert(fmt::format("{}, {} GPUs", curve->source, curve->ranks));
  const std::vector<std::string> named(sources.begin(), sources.end());
  notes.push_back(named.empty()
                      ? "No shipped system has NCCL's own curve on this GPU."
                      : "NCCL alone: " + core::join(named, "; ") +
                            ". Between its sizes along a line; above the largest, as at that one.");
  return notes;
}

}  // namespace

std::vector<BandwidthPoint> bandwidth_points(Settings settings) {
  Gathered gathered;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (const auto* table = settings[i].collectives.find("nccl_summary_implicit_sync"))
      gathered.add(i, *table, false);
    if (const auto* table = settings[i].collectives.find("nccl_summary_all2allv"))
      gathered.add(i, *table, true);
  }
  return gathered.points();
}

const NcclCurve* curve_for(std::span<const NcclCurve> curves, const BandwidthPoint& point) {
  const auto known = model::torch_collective(point.collective);
  const NcclCurve* nearest = nullptr;
  for (const NcclCurve& curve : curves) {
    if (!known || curve.function != known->function || curve.points.empty()) continue;
    if (nearest == nullptr ||
        std::abs(curve.ranks - point.ranks) < std::abs(nearest->ranks - point.ranks))
      nearest = &curve;
  }
  return nearest;
}

double bus_gbps_at(const NcclCurve& curve, double bytes) {
  const auto after =
      std::lower_bound(curve.points.begin(), curve.points.end(), bytes,
                       [](const NcclCurve::Point& point, double at) { return point.bytes < at; });
  if (after == curve.points.end())
    return curve.points.empty() ? kNaN : curve.points.back().bus_gbps;
  if (after->bytes == bytes) return after->bus_gbps;
  if (after == curve.points.begin()) return kNaN;
  const NcclCurve::Point& before = *std::prev(after);
  const double share = std::log(bytes / before.bytes) / std::log(after->bytes / before.bytes);
  return before.bus_gbps + share * (after->bus_gbps - before.bus_gbps);
}

LinkLimit link_limit(Settings settings) {
  for (const SettingFigures& setting : settings) {
    const model::GpuSpecs* gpu = model::find_gpu_board(setting.gpu_name);
    if (gpu != nullptr && gpu->board.link_gbps > 0)
      return {gpu->board.link_gbps, std::string(gpu->name), std::string(gpu->board.document)};
  }
  return {};
}

model::Table bandwidth_table(Settings settings, std::span<const NcclCurve> curves) {
  const std::vector<BandwidthPoint> points = bandwidth_points(settings);
  const LinkLimit link = link_limit(settings);
  model::Table table{.name = kBandwidthSheet,
                     .title = "Bus bandwidth of all settings by the size of messages",
                     .columns = {{.name = "collective"},
                                 {.name = "dtype"},
                                 {.name = "ranks"},
                                 {.name = "message (MiB)", .unit = "MiB"}}};
  const auto add_columns = [&](const char* what, const char* unit, model::Better better) {
    for (const SettingFigures& setting : settings)
      table.columns.push_back({.name = setting.label + what, .unit = unit, .better = better});
  };
  add_columns(" (GB/s)", "GB/s", model::Better::kHigher);
  table.columns.push_back({.name = "NCCL alone (GB/s)", .unit = "GB/s"});
  table.columns.push_back({.name = "links (GB/s)", .unit = "GB/s"});
  add_columns(" channels", "", model::Better::kNeither);
  add_columns(" of NCCL alone (%)", "%", model::Better::kHigher);
  std::map<MessageKey, std::vector<const BandwidthPoint*>> messages;
  for (const BandwidthPoint& point : points)
    messages.try_emplace(message_of(point), settings.size(), nullptr).first->second[point.setting] =
        &point;
  for (const auto& [key, own] : messages) {
    const BandwidthPoint& any = **std::find_if(
        own.begin(), own.end(), [](const BandwidthPoint* point) { return point != nullptr; });
    const double alone = alone_gbps(curves, any);
    std::vector<Cell> row = {any.collective, any.dtype, std::int64_t{any.ranks},
                             any.bytes / kBytesPerMebibyte};
    for (const BandwidthPoint* point : own)
      row.push_back(point == nullptr ? Cell() : Cell(point->bus_gbps));
    row.push_back(cell_of(alone));
    row.push_back(link.gbps > 0 ? Cell(link.gbps) : Cell());
    for (const BandwidthPoint* point : own)
      row.push_back(point == nullptr ? Cell() : Cell(point->channels));
    for (const BandwidthPoint* point : own)
      row.push_back(point == nullptr ? Cell() : cell_of(100 * point->bus_gbps / alone));
    table.add_row(std::move(row));
  }
  if (table.row_count() == 0) return table;
  table.notes = notes_of(settings, curves, points);
  std::vector<std::string> labels;
  for (const SettingFigures& setting : settings)
    labels.push_back(setting.label);
  add_chart(table, "message (MiB)", "size of a rank's largest buffer (MiB)", labels);
  if (!curves.empty()) table.style.chart->columns.emplace_back("NCCL alone (GB/s)");
  if (link.gbps > 0) table.style.chart->columns.emplace_back("links (GB/s)");
  return table;
}

model::Table channels_table(Settings settings, std::span<const NcclCurve> curves) {
  const std::vector<BandwidthPoint> points = bandwidth_points(settings);
  model::Table table{.name = kChannelsSheet,
                     .title = "Bus bandwidth of all settings by channels",
                     .columns = {{.name = "setting"},
                                 {.name = "collective"},
                                 {.name = "dtype"},
                                 {.name = "ranks"},
                                 {.name = "message (MiB)", .unit = "MiB"},
                                 {.name = "channels", .description = "blocks of its kernel"},
                                 {.name = "lowest (GB/s)", .unit = "GB/s"},
                                 {.name = "highest (GB/s)", .unit = "GB/s"},
                                 {.name = "instances", .description = "in all runs"},
                                 {.name = "of NCCL alone (%)", .unit = "%"}}};
  std::vector<std::string> series;
  for (const BandwidthPoint& point : points)
    if (const std::string name = message_words(point);
        std::find(series.begin(), series.end(), name) == series.end())
      series.push_back(name);
  for (const std::string& name : series)
    table.columns.push_back({.name = name + " (GB/s)",
                             .unit = "GB/s",
                             .better = model::Better::kHigher,
                             .description = "bus bandwidth, mean over instances and runs"});
  for (const BandwidthPoint& point : points) {
    if (point.channels.empty()) continue;
    std::vector<Cell> row = {settings[point.setting].label,
                             point.collective,
                             point.dtype,
                             std::int64_t{point.ranks},
                             point.bytes / kBytesPerMebibyte,
                             channels_cell(point.channels),
                             point.low_gbps,
                             point.high_gbps,
                             point.instances,
                             cell_of(100 * point.bus_gbps / alone_gbps(curves, point))};
    for (const std::string& name : series)
      row.push_back(name == message_words(point) ? Cell(point.bus_gbps) : Cell());
    table.add_row(std::move(row));
  }
  if (table.row_count() == 0) return table;
  table.notes = notes_of(settings, curves, points);
  add_chart(table, "channels", "channels", series);
  return table;
}

}  // namespace assay::trace
