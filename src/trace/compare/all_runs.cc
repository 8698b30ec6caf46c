#include "trace/compare/all_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/pairs.h"
#include "trace/compare/rows.h"
#include "trace/compare/stragglers.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::cell_of;
using Settings = std::span<const SettingFigures>;

bool counts_steps(Settings settings, Compat compat) {
  return compat == Compat::kNone &&
         std::none_of(settings.begin(), settings.end(),
                      [](const SettingFigures& setting) { return setting.steady.empty(); });
}

const std::vector<TimelineFigure>& figures_in(const SettingFigures& setting, bool steps) {
  return steps ? setting.steady : setting.whole;
}

// Every run has the same weight.
std::map<std::string, std::pair<double, double>> means_of(const SeriesByType& series) {
  std::map<std::string, std::pair<double, double>> means;
  for (const auto& [type, values] : series)
    means[type] = {core::mean(values.time_ms), core::mean(values.percent)};
  return means;
}

// The settings' own columns, then one for the change of each from the first.
class ChangeColumns {
 public:
  ChangeColumns(Settings settings, Compat compat) : settings_(settings), compat_(compat) {}

  void add_to(std::vector<model::Column>& columns, const std::string& quantity) const {
    const bool is_compat = compat_ != Compat::kNone;
    for (std::size_t i = 1; i < settings_.size(); ++i)
      columns.push_back({.name = (is_compat ? "percentage_change_" : "percent_change_") + quantity +
                                 settings_[i].label,
                         .unit = "%",
                         .better = is_compat ? model::Better::kLower : model::Better::kHigher,
                         .description = is_compat ? "positive: longer than in the first setting"
                                                  : "positive: better than the first setting"});
  }

  // `values` are of all settings.
  void add_to(std::vector<Cell>& row,
              const std::vector<double>& values,
              model::Better better = model::Better::kLower) const {
    const bool is_compat = compat_ != Compat::kNone;
    const double sign = is_compat ? -1 : 1;
    for (std::size_t i = 1; i < values.size(); ++i)
      row.push_back(cell_of(sign * percent_better(values.front(), values[i],
                                                  is_compat ? model::Better::kLower : better)));
  }

 private:
  Settings settings_;
  Compat compat_;
};

std::vector<std::string> types_of(Settings settings, bool steps) {
  SeriesByType all;
  for (const SettingFigures& setting : settings)
    for (const TimelineFigure& figure : figures_in(setting, steps))
      all[figure.type];
  return reading_order(all, {});
}

const char* window_words(bool steps) {
  return steps ? "per steady step" : "over the whole traces";
}

model::Table summary_of_all(Settings settings, bool steps, Compat compat) {
  model::Table table{.name = "Summary",
                     .title = std::string("Mean over ranks of each part of the GPU timeline, ") +
                              window_words(steps),
                     .columns = {{.name = "type"}}};
  const ChangeColumns changes(settings, compat);
  std::vector<std::map<std::string, std::pair<double, double>>> means;
  std::vector<std::int64_t> ranks;
  for (const SettingFigures& setting : settings) {
    table.columns.push_back({.name = "time ms_" + setting.label, .unit = "ms"});
    table.columns.push_back({.name = "percent_" + setting.label, .unit = "%"});
    table.columns.push_back({.name = "num_ranks_" + setting.label});
    means.push_back(means_of(mean_over_ranks(figures_in(setting, steps), Repetition::kRun)));
    std::set<int> own;
    for (const TimelineFigure& figure : figures_in(setting, steps))
      own.insert(figure.rank);
    ranks.push_back(static_cast<std::int64_t>(own.size()));
  }
  changes.add_to(table.columns, "");
  for (const std::string& type : types_of(settings, steps)) {
    std::vector<Cell> row = {type};
    std::vector<double> times;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto found = means[i].find(type);
      times.push_back(found == means[i].end() ? kNaN : found->second.first);
      row.push_back(cell_of(times.back()));
      row.push_back(cell_of(found == means[i].end() ? kNaN : found->second.second));
      row.emplace_back(ranks[i]);
    }
    changes.add_to(row, times);
    table.add_row(std::move(row));
  }
  return table;
}

model::Table ranks_of_all(Settings settings, bool steps) {
  model::Table table{
      .name = "Per_Rank_Time_ms",
      .title = std::string("Each part of the GPU timeline on each rank, ") + window_words(steps),
      .columns = {{.name = "type"}, {.name = "rank"}}};
  std::vector<std::map<int, SeriesByType>> by_setting;
  std::set<int> ranks;
  for (const SettingFigures& setting : settings) {
    table.columns.push_back({.name = "time ms_" + setting.label, .unit = "ms"});
    by_setting.push_back(by_rank(figures_in(setting, steps), Repetition::kRun));
    for (const auto& entry : by_setting.back())
      ranks.insert(entry.first);
  }
  for (const std::string& type : types_of(settings, steps)) {
    for (const int rank : ranks) {
      std::vector<Cell> row = {type, std::int64_t{rank}};
      for (auto& setting : by_setting)
        row.push_back(cell_of(core::mean(setting[rank][type].time_ms)));
      table.add_row(std::move(row));
    }
  }
  return table;
}

// Columns of nccl_summary_implicit_sync. A mean of instances is weighted by their number, a sum is
// the mean over the runs.
struct CollectiveFigure {
  const char* name;
  bool is_sum;
  model::Better better;
};

constexpr std::array<CollectiveFigure, 5> kCollectiveFigures = {
    {{"comm_latency_mean", false, model::Better::kLower},
     {"algo bw (GB/s)_mean", false, model::Better::kHigher},
     {"bus bw (GB/s)_mean", false, model::Better::kHigher},
     {"Total comm latency (ms)", true, model::Better::kLower},
     {"count", true, model::Better::kNeither}}};

double collective_value(const SettingFigures& setting,
                        const std::vector<std::size_t>& rows,
                        const CollectiveFigure& figure) {
  const model::Table& table = *setting.collectives.find("nccl_summary_implicit_sync");
  double sum = 0;
  double weights = 0;
  for (const std::size_t row : rows) {
    const double value = number_at(table, row, figure.name);
    const double weight = figure.is_sum ? 1 : number_at(table, row, "count");
    if (std::isnan(value) || std::isnan(weight)) continue;
    sum += value * weight;
    weights += weight;
  }
  if (weights == 0) return kNaN;
  return sum / (figure.is_sum ? static_cast<double>(setting.runs.size()) : weights);
}

model::Table collectives_of_all(Settings settings, Compat compat) {
  const std::vector<std::string> keys = {"Collective name", "dtype", "In msg nelems", "Group size"};
  model::Table table{.name = "NCCL_Summary",
                     .title = "Collectives that all ranks leave together, by kind and size",
                     .columns = {}};
  for (const std::string& key : keys)
    table.columns.push_back({.name = key});
  std::map<RowKey, std::vector<std::vector<std::size_t>>> rows;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const model::Table* own = settings[i].collectives.find("nccl_summary_implicit_sync");
    for (auto& [key, found] : group_rows(own, keys, MissingKeys::kKeep))
      rows.try_emplace(key, settings.size()).first->second[i] = found;
  }
  const ChangeColumns changes(settings, compat);
  for (const CollectiveFigure& figure : kCollectiveFigures) {
    for (const SettingFigures& setting : settings)
      table.columns.push_back(
          {.name = std::string(figure.name) + "_" + setting.label, .better = figure.better});
    if (figure.better != model::Better::kNeither)
      changes.add_to(table.columns, std::string(figure.name) + "_");
  }
  for (const auto& [key, found] : rows) {
    std::vector<Cell> row(key.begin(), key.end());
    for (const CollectiveFigure& figure : kCollectiveFigures) {
      std::vector<double> values;
      for (std::size_t i = 0; i < settings.size(); ++i)
        values.push_back(found[i].empty() ? kNaN : collective_value(settings[i], found[i], figure));
      for (const double value : values)
        row.push_back(cell_of(value));
      if (figure.better != model::Better::kNeither) changes.add_to(row, values, figure.better);
    }
    table.add_row(std::move(row));
  }
  return table;
}

void add_scales(model::Table& table) {
  for (const model::Column& column : table.columns)
    if (column.name.starts_with("percent_change")) table.style.color_scales.push_back(column.name);
  table.style.excel_table = table.row_count() > 0;
}

}  // namespace

model::Book all_runs_report(Settings settings,
                            const CompareOptions& options,
                            std::span<const NcclCurve> curves) {
  model::Book book{.title = "All settings", .tables = {}};
  if (settings.empty()) return book;
  const bool steps = counts_steps(settings, options.compat);
  if (options.compat == Compat::kNone) {
    book.tables.push_back(pairs_table(compare_pairs(settings, options.criterion)));
    for (model::Table& table :
         std::array{bandwidth_table(settings, curves), channels_table(settings, curves),
                    stragglers_table(settings)})
      if (table.row_count() > 0) book.tables.push_back(std::move(table));
  }
  for (model::Table& table :
       std::array{summary_of_all(settings, steps, options.compat), ranks_of_all(settings, steps),
                  collectives_of_all(settings, options.compat)}) {
    if (table.row_count() == 0) continue;
    add_scales(table);
    book.tables.push_back(std::move(table));
  }
  return book;
}

bool is_of_all_settings(const model::Table& table) {
  constexpr std::array<std::string_view, 4> kSheets = {kPairsSheet, kBandwidthSheet, kChannelsSheet,
                                                       kStragglersSheet};
  return std::find(kSheets.begin(), kSheets.end(), table.name) != kSheets.end();
}

}  // namespace assay::trace
