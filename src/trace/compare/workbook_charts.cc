#include "trace/compare/workbook_charts.h"

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/compare/rows.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {
namespace {

// The parts in the order of their colours in all charts.
constexpr std::array<std::pair<const char*, const char*>, 4> kComposition = {
    {{"computation_time", "computation"},
     {"exposed_comm_time", "exposed communication"},
     {"exposed_memcpy_time", "exposed copies"},
     {"idle_time", "idle"}}};

void add_rank_chart(model::Table& table) {
  model::Chart chart{.title = "What the time of each rank consists of",
                     .axis = "ms over all profiled steps",
                     .columns = {}};
  for (const model::Column& column : table.columns)
    if (column.unit == "ms") chart.columns.push_back(column.name);
  for (const auto& [type, name] : kComposition) {
    for (std::size_t row = 0; row < table.row_count(); ++row)
      if (model::text(table.at(row, 0)) == type) chart.rows.push_back(row);
  }
  // With more rows than parts, several runs are stacked, whose bars would be one.
  if (chart.rows.size() > kComposition.size()) return;
  if (!chart.columns.empty() && !chart.rows.empty()) table.style.chart = std::move(chart);
}

// The columns of bandwidth: one, or one for each side.
std::vector<std::string> bandwidth_columns(const model::Table& table) {
  constexpr std::string_view kBandwidth = "bus bw (GB/s)_mean";
  std::vector<std::string> columns;
  for (const model::Column& column : table.columns) {
    const bool is_change = column.name.starts_with("diff_") ||
                           column.name.starts_with("percent_change_") ||
                           column.name.starts_with("ratio_");
    if (column.name.ends_with(kBandwidth) && !is_change) columns.push_back(column.name);
  }
  return columns;
}

void add_bandwidth_chart(model::Table& table) {
  const std::vector<std::string> series = bandwidth_columns(table);
  if (series.empty()) return;
  const bool has_size = table.column("Full msg size (MB)").has_value();
  model::Chart chart{.title = "Bus bandwidth by the size of messages",
                     .axis = "bus bandwidth (GB/s)",
                     .bars = model::Chart::Bars::kScatter,
                     .columns = {has_size ? "Full msg size (MB)" : "In msg nelems"},
                     .x_axis = has_size ? "size of the message (MiB)" : "elements of the message"};
  if (!table.column(chart.columns.front())) return;
  chart.columns.insert(chart.columns.end(), series.begin(), series.end());
  table.style.chart = std::move(chart);
}

}  // namespace

model::Table composition_table(const Sides& sides) {
  model::Table table{
      .name = "GPU_Composition",
      .title = "What a step consists of on each rank",
      .columns = {{.name = "rank"}},
      .notes = {"Milliseconds per steady step, means over runs. The parts add up to the step."}};
  model::Chart chart{.title = table.title,
                     .axis = "ms per steady step, mean over runs",
                     .bars = model::Chart::Bars::kStacked,
                     .columns = {}};
  for (const auto& [type, name] : kComposition) {
    table.columns.push_back(
        {.name = std::string(name) + " (ms)", .unit = "ms", .better = model::Better::kLower});
    chart.columns.push_back(table.columns.back().name);
  }
  for (const Configuration* side : {&sides.baseline, &sides.test}) {
    for (const auto& [rank, types] : by_rank(steady_figures(*side), Repetition::kRun)) {
      std::vector<model::Cell> row = {side->label + ", rank " + std::to_string(rank)};
      for (const auto& [type, name] : kComposition)
        row.push_back(cell_of(mean_ms(types, type)));
      table.add_row(std::move(row));
    }
  }
  table.style.opens_with_text = true;
  table.style.chart = std::move(chart);
  return table;
}

void add_charts(model::Book& book) {
  for (model::Table& table : book.tables) {
    if (table.style.chart || table.row_count() == 0) continue;
    if (table.name == "Per_Rank_Time_ms") add_rank_chart(table);
    if (table.name == "nccl_summary_implicit_sync" || table.name == "nccl_implicit_sync_cmp" ||
        table.name == "NCCL_ImplSync_Cmp")
      add_bandwidth_chart(table);
  }
}

}  // namespace assay::trace
