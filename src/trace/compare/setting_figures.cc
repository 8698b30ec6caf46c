#include "trace/compare/setting_figures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/statistics.h"
#include "trace/compare/collective_rows.h"
#include "trace/compare/combine.h"
#include "trace/compare/ranks.h"
#include "trace/compare/repetitions.h"
#include "trace/compare/rows.h"
#include "trace/compare/step_states.h"

namespace assay::trace {
namespace {

constexpr std::array<std::string_view, 3> kKept = {"nccl_summary_implicit_sync",
                                                   "nccl_summary_all2allv", "straggler_summary"};

// The summary of exchanges lacks the channels, which their instances tell.
void add_channels(model::Book& kept, const model::Book& all) {
  constexpr const char* kChannels = "channels";
  const std::vector<std::string> keys = {"Process Group Name", "Collective name", "dtype",
                                         kRepeatColumn};
  const model::Table* instances = all.find("nccl_all2allv");
  for (model::Table& table : kept.tables) {
    if (table.name != "nccl_summary_all2allv" || table.column(kChannels)) continue;
    RowGroups own = group_rows(instances, keys, MissingKeys::kKeep);
    model::Table with{.name = table.name, .title = table.title, .columns = table.columns};
    with.columns.push_back({.name = kChannels});
    const RowGroups rows = group_rows(&table, keys, MissingKeys::kKeep);
    for (const auto& [key, group] : rows) {
      for (const std::size_t row : group) {
        std::vector<model::Cell> cells;
        for (std::size_t column = 0; column < table.columns.size(); ++column)
          cells.push_back(table.at(row, column));
        cells.push_back(distinct_values(instances, own[key], kChannels));
        with.add_row(std::move(cells));
      }
    }
    table = std::move(with);
  }
}

// The columns "rank_N_ts" and "rank_N_wait_time" of one rank.
struct RankColumns {
  int rank = 0;
  std::size_t start = 0;
  std::size_t wait = 0;
};

std::vector<RankColumns> rank_columns(const model::Table& table) {
  constexpr std::string_view kBegin = "rank_";
  constexpr std::string_view kEnd = "_wait_time";
  std::vector<RankColumns> result;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const std::string_view name = table.columns[column].name;
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    const std::string_view digits =
        name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
    int rank = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    const auto start = table.column("rank_" + std::string(digits) + "_ts");
    if (read.ec == std::errc() && start) result.push_back({rank, *start, column});
  }
  return result;
}

struct TimedArrival {
  double when_us = 0;
  Arrival arrival;
};

// Returns std::nullopt for a row of fewer than two ranks.
std::optional<TimedArrival> arrival_of(const model::Table& table,
                                       std::size_t row,
                                       const std::vector<RankColumns>& columns) {
  TimedArrival result;
  double shortest_us = std::numeric_limits<double>::infinity();
  double sum_us = 0;
  for (const RankColumns& column : columns) {
    const double wait_us = model::number(table.at(row, column.wait));
    if (!std::isfinite(wait_us)) continue;
    result.arrival.ranks.push_back(column.rank);
    sum_us += wait_us;
    if (wait_us == shortest_us) result.arrival.last_rank.reset();
    if (wait_us >= shortest_us) continue;
    shortest_us = wait_us;
    result.arrival.last_rank = column.rank;
    result.when_us = model::number(table.at(row, column.start));
  }
  const std::size_t count = result.arrival.ranks.size();
  if (count < 2) return std::nullopt;
  result.arrival.others_wait_us = (sum_us - shortest_us) / static_cast<double>(count - 1);
  return result;
}

std::vector<RunArrivals> arrivals_of(const Configuration& configuration) {
  const model::Table* table = configuration.collectives.find("nccl_implicit_sync");
  if (table == nullptr) return {};
  const std::vector<RankColumns> columns = rank_columns(*table);
  std::map<int, std::vector<TimedArrival>> runs;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    const double run = number_at(*table, row, kRepeatColumn);
    if (auto arrival = arrival_of(*table, row, columns))
      runs[std::isnan(run) ? 0 : static_cast<int>(run)].push_back(std::move(*arrival));
  }
  std::vector<RunArrivals> result;
  for (auto& [run, timed] : runs) {
    std::stable_sort(timed.begin(), timed.end(), [](const TimedArrival& a, const TimedArrival& b) {
      return a.when_us < b.when_us;
    });
    result.push_back({.run = run});
    for (TimedArrival& one : timed)
      result.back().arrivals.push_back(std::move(one.arrival));
  }
  return result;
}

std::map<int, double> host_waits(const std::vector<RankStep>& steps, const StepSet& steady) {
  std::map<int, std::vector<double>> ranks;
  for (const RankStep& step : steps)
    if (steady.count({step.run, step.step}) > 0 && !std::isnan(step.host_ms))
      ranks[step.rank].push_back(step.host_ms);
  std::map<int, double> result;
  for (const auto& [rank, waits] : ranks)
    result[rank] = core::mean(waits);
  return result;
}

}  // namespace

SettingFigures figures_of(const Configuration& configuration, Compat compat) {
  SettingFigures figures{.label = configuration.label,
                         .ranks = ranks_of(configuration),
                         .runs = configuration.runs,
                         .repeated = configuration.repeated,
                         .fingerprints = fingerprints(configuration.ranks),
                         .work = step_work(configuration.ranks),
                         .steady = steady_figures(configuration),
                         .whole = whole_trace_figures(configuration.ranks),
                         .timelines = summary_of_runs(configuration, compat)};
  for (const model::Table& table : configuration.collectives.tables)
    if (std::find(kKept.begin(), kKept.end(), table.name) != kKept.end())
      figures.collectives.tables.push_back(table);
  if (compat != Compat::kNone) return figures;
  add_channels(figures.collectives, configuration.collectives);
  figures.arrivals = arrivals_of(configuration);
  const std::vector<RankStep> steps = rank_steps(configuration.ranks);
  const std::vector<StepState> states = step_states(steps, configuration.modes);
  figures.host_ms = host_waits(steps, steady_steps(states));
  figures.steps = states.size();
  return figures;
}

TimelinePair timeline_pair(const SettingFigures& baseline, const SettingFigures& test) {
  const auto counted = [&](Repetition within) {
    return repetition(baseline.runs.size(), test.runs.size(), within);
  };
  if (!baseline.steady.empty() && !test.steady.empty())
    return {.basis = {.window = Basis::Window::kStep, .repetition = counted(Repetition::kStep)},
            .baseline = baseline.steady,
            .test = test.steady};
  return {.basis = {.window = Basis::Window::kWholeTrace, .repetition = counted(Repetition::kNone)},
          .baseline = baseline.whole,
          .test = test.whole};
}

}  // namespace assay::trace
