#include "trace/compare/setting_figures.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "trace/compare/collective_rows.h"
#include "trace/compare/combine.h"
#include "trace/compare/repetitions.h"
#include "trace/compare/rows.h"

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

bool is_repeated(const SettingFigures& setting) {
  return setting.runs.size() >= 2;
}

}  // namespace

SettingFigures figures_of(const Configuration& configuration, Compat compat) {
  SettingFigures figures{.label = configuration.label,
                         .runs = configuration.runs,
                         .steady = steady_figures(configuration.ranks),
                         .whole = whole_trace_figures(configuration.ranks),
                         .timelines = summary_of_runs(configuration, compat)};
  for (const model::Table& table : configuration.collectives.tables)
    if (std::find(kKept.begin(), kKept.end(), table.name) != kKept.end())
      figures.collectives.tables.push_back(table);
  add_channels(figures.collectives, configuration.collectives);
  return figures;
}

TimelinePair timeline_pair(const SettingFigures& baseline, const SettingFigures& test) {
  const bool repeated = is_repeated(baseline) && is_repeated(test);
  const auto counted = [repeated](Repetition within) {
    return repeated ? Repetition::kRun : within;
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
