#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"
#include "trace/sheets/steps_table.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Table;

std::vector<model::Column> share_columns() {
  return {{"type"},
          {"time ms", "ms", Better::kLower, "union over all streams"},
          {"percent", "%", Better::kNeither, "of total_time"}};
}

// Adds one row for each kind of time, after the cells of `first`.
void add_rows(const RankAnalysis& rank,
              const Timeline& times,
              const std::vector<model::Cell>& first,
              Table& table) {
  const auto rows = times.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<model::Cell> row = first;
    row.emplace_back(std::string(kTimelineRows[i]));
    row.emplace_back(rank.time.milliseconds(rows[i]));
    row.emplace_back(percent(static_cast<double>(rows[i]), static_cast<double>(times.total)));
    table.add_row(std::move(row));
  }
}

Table timeline_table(const RankAnalysis& rank, const BusyIntervals& busy) {
  Table table{"gpu_timeline", "How the GPU spent the profiled steps", share_columns()};
  add_rows(rank, timeline(busy), {}, table);
  return table;
}

Table timeline_of_steps(const RankAnalysis& rank, const BusyIntervals& busy) {
  std::vector<model::Column> columns = share_columns();
  columns.insert(columns.begin(), {"step", "", Better::kNeither, "N of ProfilerStep#N"});
  Table table{"gpu_timeline_steps",
              "gpu_timeline of each profiled step, from its first GPU work to that of the next",
              std::move(columns)};
  for (const Step& step : rank.steps)
    add_rows(rank, timeline(busy, step.window), {step.number}, table);
  return table;
}

std::vector<Table> build_gpu_timeline(const RankAnalysis& rank) {
  const BusyIntervals busy = busy_intervals(rank);
  if (busy.all.empty()) return {};
  std::vector<Table> tables;
  tables.push_back(timeline_table(rank, busy));
  if (!rank.steps.empty()) {
    tables.push_back(timeline_of_steps(rank, busy));
    tables.push_back(steps_table(rank, busy));
  }
  return tables;
}

const SheetSpec kGpuTimeline{.name = "gpu_timeline", .position = 100, .build = build_gpu_timeline};
ASSAY_REGISTER(SheetSpec, kGpuTimeline);

}  // namespace
}  // namespace assay::trace
